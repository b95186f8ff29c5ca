#include "cambrian/engine/layers/embedding.hpp"

#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

std::optional<Sequential> Embedding::fitted(const Shape& in, const Shape& out) {
    Softmax winner{.variant = "gumbel", .features = in[-1], .hard = true};
    const Embedding table{.vocabulary = 2, .features = 2};  // the largest element, and any other
    std::optional<Dense> last = Dense::fitted(table.output_shape(in), out);
    if (!last) return std::nullopt;
    Sequential result;
    result.layers.emplace_back(std::move(winner));
    result.layers.emplace_back(table);
    result.layers.emplace_back(*last);
    return result;
}

void Embedding::resolve(const Shape& input) {
    require_no_fault(name, fault());
    require_range(name, "vocabulary", vocabulary);
    require_width(name, "features", features);
    if (positions > 0 && input.elements() != 1)
        throw ShapeError(
            "embedding with positions does not fit its input (a row is one id, the "
            "input is " +
            rows_of(input) + ") leave \"positions\" out or give it ids one by one");
}

std::vector<ParameterSpec> Embedding::parameters() const {
    std::vector<ParameterSpec> result{{.name = "table",
                                       .shape = {vocabulary, features},
                                       .initial = Initial::weight,
                                       .fan_in = features}};
    if (positions > 0)
        result.push_back({.name = "position_table",
                          .shape = {positions, features},
                          .initial = Initial::weight,
                          .fan_in = features});
    return result;
}

std::vector<StateSpec> Embedding::state() const {
    if (positions == 0) return {};
    return {{.name = "count", .shape = {1}, .kind = StateKind::position}};
}

Var Embedding::build(Var x, const LayerOperands& operands) const {
    const Var ids = x.info().type == ValueType::integer ? x : cast(x, ValueType::integer);
    return shaped(gather(operands.parameters[0], ids), output_shape(x.shape()));
}

StepResult Embedding::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    const Var vectors = build(x, operands);
    if (positions == 0) return {.output = vectors, .state = {}};
    const Var step = cast(reshape(state[0], {state[0].shape().elements()}), ValueType::integer);
    const Var places = gather(operands.parameters[1], step);
    return {.output = vectors + shaped(places, vectors.shape()), .state = {state[0] + 1.0}};
}

Var Embedding::sequence(Var x, const LayerOperands& operands) const {
    const Var vectors = build(x, operands);
    if (positions == 0) return vectors;
    const std::int64_t time = vectors.shape()[-2];
    if (time > positions)
        throw ShapeError("a sequence of " + std::to_string(time) +
                         " steps is too long (embedding "
                         "has " +
                         std::to_string(positions) +
                         " learned positions) use shorter sequences, or more \"positions\"");
    return vectors + slice(operands.parameters[1], 0, 0, time);
}

}  // namespace cambrian
