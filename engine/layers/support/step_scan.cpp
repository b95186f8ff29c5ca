#include "cambrian/engine/layers/support/step_scan.hpp"

#include <array>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

std::vector<Var> zero_state(Graph& graph, std::span<const StateSpec> state, std::int64_t batch) {
    std::vector<Var> result;
    result.reserve(state.size());
    for (const StateSpec& spec : state)
        result.push_back(
            broadcast(constant(graph, 0.0), with_leading(std::array{batch}, spec.shape)));
    return result;
}

StepScan::StepScan(Var x, std::span<const StateSpec> state, TrainingPass* training)
    : time_(x.shape()[1]), of_sequence_(training) {
    const std::int64_t batch = x.shape()[0];
    const std::int64_t elements = x.shape().elements() / (batch * time_);
    carries_ = zero_state(*x.graph, state, batch);
    for (std::size_t i = 0; i < state.size(); ++i)
        state_.push_back(body_.input(state[i].name, ValueType::real, carries_[i].shape()));
    x_ = body_.input("x", x.info().type, {batch, elements});
    sequences_.push_back(permute(shaped(x, {batch, time_, elements}), {1, 0, 2}));
    if (training == nullptr) return;
    number_ = body_.input("number", ValueType::integer, Shape{});
    sequences_.push_back(iota(*x.graph, time_));
}

Var StepScan::invariant(Var outer, std::string_view name) {
    invariants_.push_back(outer);
    return body_.input(name, outer.info().type, outer.shape());
}

std::vector<Var> StepScan::invariants(std::span<const Var> outer) {
    std::vector<Var> inner;
    for (const Var value : outer) inner.push_back(invariant(value));
    return inner;
}

TrainingPass* StepScan::training() {
    if (of_sequence_ == nullptr) return nullptr;
    const Var key = invariant(of_sequence_->next_key(), "key");
    const Var id = invariant(of_sequence_->id(), "id");
    // Every step has noise of its own, as layers that take sequences at once give it.
    of_step_.emplace(TrainingPass::derived_key(key, *number_), id);
    return &*of_step_;
}

Var StepScan::outputs(std::span<const Var> state, Var output, const char* refusal) {
    if (of_step_ && !of_step_->updates().empty()) throw ShapeError(refusal);
    for (const Var value : state) body_.output(value);
    body_.output(output);
    const ScanResult scanned =
        scan(std::move(body_), carries_, sequences_, invariants_, {.length = time_});
    return permute(scanned.stacked[0], {1, 0, 2});
}

}  // namespace cambrian
