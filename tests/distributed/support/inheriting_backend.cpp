#include "cambrian/tests/distributed/support/inheriting_backend.hpp"

#include <cstddef>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::distributed {

InheritingBackend::InheritingBackend(int threads)
    : ForwardingBackend(make_cpu_backend({.threads = threads, .math = Math::strict})) {}

std::unique_ptr<Buffer> InheritingBackend::allocate(ValueType type, std::int64_t count) {
    if (before_allocation) before_allocation(count);
    return ForwardingBackend::allocate(type, count);
}

void InheritingBackend::inherit(std::span<const WeightDraws> children,
                                std::span<const WeightTask> tasks) {
    tell();
    if (before_inheritance) before_inheritance();
    for (const WeightTask& task : tasks) write(children[task.child], task);
}

void InheritingBackend::download(const Buffer& from, std::int64_t first, std::span<float> values) {
    tell();
    ForwardingBackend::download(from, first, values);
}

void InheritingBackend::tell() {
    if (untold) std::rethrow_exception(std::exchange(untold, nullptr));
}

std::span<float> InheritingBackend::around(const Binding& bound, std::int64_t element) {
    if (bound.buffer == nullptr) return {};
    CAMBRIAN_EXPECT(bound.first >= element);
    return own()
        .reals_on_host(*bound.buffer)
        .subspan(static_cast<std::size_t>(bound.first - element));
}

void InheritingBackend::write(const WeightDraws& draws, const WeightTask& task) {
    const std::span<const float> first = around(task.first, task.piece.from);
    write_weights(draws, std::span(&task.piece, 1),
                  {first, around(task.second, task.piece.other), first},
                  around(task.to, task.piece.to));
}

std::unique_ptr<InheritingBackend> make_inheriting_backend(int threads) {
    return std::make_unique<InheritingBackend>(threads);
}

}  // namespace cambrian::distributed
