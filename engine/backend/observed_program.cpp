#include "cambrian/engine/backend/observed_program.hpp"

#include <algorithm>
#include <utility>

#include "cambrian/engine/backend/host_copy.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/gradient/captures.hpp"

namespace cambrian {

ObservedProgram::ObservedProgram(Backend& backend, Graph graph, std::vector<std::string> names)
    : backend_(backend), graph_(std::move(graph)), names_(std::move(names)) {
    const Graph observed = with_captures(graph_, names_);
    for (const ValueId id : observed.outputs().subspan(graph_.outputs().size()))
        held_.push_back({observed.value(id), nullptr});
}

ObservedProgram::ObservedProgram(Backend& backend, const Graph& graph)
    : ObservedProgram(backend, graph, capture_names(graph)) {}

void ObservedProgram::run(std::int64_t population, std::span<const Binding> inputs,
                          std::span<const Binding> outputs) {
    if (!plain_) plain_ = backend_.compile(graph_);
    plain_->run(population, inputs, outputs);
}

void ObservedProgram::hold(std::int64_t population) {
    if (population == population_) return;
    population_ = 0;
    for (Held& held : held_) {
        held.buffer.reset();
        held.buffer =
            backend_.allocate(held.info.type, bound_shape(held.info, population).elements());
    }
    population_ = population;
}

void ObservedProgram::observe(std::int64_t population, std::span<const Binding> inputs,
                              std::span<const Binding> outputs) {
    if (!observed_) observed_ = backend_.compile(with_captures(graph_, names_));
    hold(population);
    std::vector<Binding> all(outputs.begin(), outputs.end());
    for (const Held& held : held_) all.push_back({held.buffer.get(), 0});
    observed_->run(population, inputs, all);
}

const ObservedProgram::Held& ObservedProgram::held(std::string_view name) const {
    const auto found = std::ranges::find(names_, name);
    if (found == names_.end())
        throw ShapeError("'" + std::string(name) + "' is not observed (" +
                         std::to_string(names_.size()) +
                         " names are) pass it to the constructor of the program");
    CAMBRIAN_ASSERT(population_ > 0);
    return held_[static_cast<std::size_t>(found - names_.begin())];
}

Tensor ObservedProgram::read(std::string_view name) const {
    const Held& value = held(name);
    return download_tensor(backend_, *value.buffer, bound_shape(value.info, population_));
}

const Buffer& ObservedProgram::buffer(std::string_view name) const {
    return *held(name).buffer;
}

}  // namespace cambrian
