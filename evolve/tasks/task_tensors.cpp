#include "cambrian/evolve/tasks/task_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

/// Throws ConfigError for elements that are not those of a tensor's shape and type.
std::vector<Tensor> checked_tensors(const Task& task, std::string_view what,
                                    std::vector<Tensor> tensors) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Tensor& tensor = tensors[i];
        const auto refuse = [&](const std::string& why) {
            throw ConfigError(fmt::format(
                "task {} gives {} that cannot be used (tensor {}, {} {}, {}) mend its {}()",
                task.type(), what, i, name(tensor.type), tensor.shape.text(), why, what));
        };
        if (std::ssize(tensor.elements) != tensor.shape.elements())
            refuse(fmt::format("has {} elements", tensor.elements.size()));
        if (tensor.type == ValueType::real) continue;  // Any number is one.
        const auto fits = [&](double element) { return is_element(tensor.type, element); };
        const auto other = std::ranges::find_if_not(tensor.elements, fits);
        if (other != tensor.elements.end()) refuse(fmt::format("has an element {}", *other));
    }
    return tensors;
}

}  // namespace

std::vector<Tensor> data_of(const Task& task, Phase phase) {
    return checked_tensors(task, "data", task.data(phase));
}

std::vector<Tensor> draws_of(const Task& task, Phase phase, std::uint64_t seed,
                             std::uint64_t round) {
    return checked_tensors(task, "draws", task.draws(phase, seed, round));
}

void require_output(const Task& task, const Graph& graph, std::string_view what, Var value,
                    ValueType type, int rank) {
    const bool ours = value.graph == &graph;
    if (ours && value.info().type == type && value.rank() == rank) return;
    const std::string given =
        ours ? fmt::format("{} {}", name(value.info().type), value.shape().text())
        : value.graph == nullptr ? "nothing"
                                 : "a value of another graph";
    throw ConfigError(
        fmt::format("task {} gives {} as its {} (it is {} of rank {}, for one network) mend its "
                    "build()",
                    task.type(), given, what, name(type), rank));
}

void SharedTensors::upload(Backend& backend, const Task& task, std::string_view what,
                           std::span<const Tensor> tensors) {
    const bool fits =
        std::ranges::equal(tensors, infos_, [](const Tensor& tensor, const ValueInfo& info) {
            return tensor.type == info.type && tensor.shape == info.shape;
        });
    if (!allocated_)
        allocate(backend, tensors);
    else if (!fits)
        throw ConfigError(fmt::format(
            "task {} gives {} of other shapes or types than before (they are the same in every "
            "round of a phase) mend its {}()",
            task.type(), what, what));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        write_tensor(backend, *buffers_[i], tensors[i]);
}

std::vector<Var> SharedTensors::inputs(Graph& graph, std::string_view name) const {
    std::vector<Var> result;
    for (const ValueInfo& info : infos_)
        result.push_back(
            graph.input(fmt::format("{}.{}", name, result.size()), info.type, info.shape));
    return result;
}

void SharedTensors::bind(std::vector<Binding>& bindings) const {
    for (const auto& buffer : buffers_) bindings.push_back({buffer.get(), 0});
}

void SharedTensors::allocate(Backend& backend, std::span<const Tensor> tensors) {
    // Kept only when all fit: after a failure the next call starts afresh.
    std::vector<ValueInfo> infos;
    std::vector<std::unique_ptr<Buffer>> buffers;
    for (const Tensor& tensor : tensors) {
        infos.push_back({.type = tensor.type, .shape = tensor.shape});
        buffers.push_back(
            backend.allocate(tensor.type, std::max<std::int64_t>(1, tensor.shape.elements())));
    }
    infos_ = std::move(infos);
    buffers_ = std::move(buffers);
    allocated_ = true;
}

}  // namespace cambrian::evolve
