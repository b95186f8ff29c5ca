#include "cambrian/engine/layers/any_layer.hpp"

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

namespace {

/// Inputs of a body for what the scan does not change.
class Invariants {
  public:
    explicit Invariants(Graph& body) : body_(body) {}

    Var add(Var outer) {
        outer_.push_back(outer);
        return body_.input("invariant", outer.info().type, outer.shape());
    }
    std::vector<Var> add(std::span<const Var> outer) {
        std::vector<Var> inner;
        for (const Var value : outer) inner.push_back(add(value));
        return inner;
    }
    [[nodiscard]] std::span<const Var> outer() const { return outer_; }

  private:
    Graph& body_;
    std::vector<Var> outer_;
};

}  // namespace

Var scan_layer(const AnyLayer& layer, Var x, const LayerOperands& operands) {
    const std::int64_t batch = x.shape()[0];
    const std::int64_t time = x.shape()[1];
    const std::int64_t elements = x.shape().elements() / (batch * time);
    Graph body;
    std::vector<Var> carries;
    std::vector<Var> state;
    for (const StateSpec& spec : layer.state()) {
        const Shape shape = with_leading(std::array{batch}, spec.shape);
        carries.push_back(broadcast(constant(*x.graph, 0.0), shape));
        state.push_back(body.input(spec.name, ValueType::real, shape));
    }
    const Var vector = body.input("x", x.info().type, {batch, elements});
    std::vector<Var> sequences{permute(shaped(x, {batch, time, elements}), {1, 0, 2})};
    std::optional<Var> number;  // Of the step.
    if (operands.training != nullptr) {
        number = body.input("number", ValueType::integer, Shape{});
        sequences.push_back(iota(*x.graph, time));
    }
    Invariants invariants(body);
    const std::vector<Var> parameters = invariants.add(operands.parameters);
    const std::vector<Var> activations = invariants.add(operands.activations);
    LayerOperands inner{.parameters = parameters,
                        .activations = activations,
                        .row = operands.row,
                        .activation_set = operands.activation_set};
    std::optional<TrainingPass> training;
    if (operands.training != nullptr) {
        const Var key = invariants.add(operands.training->next_key());
        // Every step has noise of its own, as layers that take sequences at once give it.
        training.emplace(TrainingPass::derived_key(key, *number),
                         invariants.add(operands.training->id()));
        inner.training = &*training;
    }
    const StepResult result = layer.step(shape_rows(vector, 1, operands.row), state, inner);
    if (training && !training->updates().empty())
        throw ShapeError(
            "a batch_norm cannot be trained inside a layer with a state (its statistics are of all "
            "steps together) put it beside that layer");
    for (const Var value : result.state) body.output(value);
    const Shape output = layer.output_shape(operands.row);
    body.output(shape_rows(result.output, output.rank(), flat(output)));

    const ScanResult scanned =
        scan(std::move(body), carries, sequences, invariants.outer(), {.length = time});
    return shape_rows(permute(scanned.stacked[0], {1, 0, 2}), 1, output);
}

}  // namespace cambrian
