#include <cmath>
#include <numbers>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Compositions of primitives, activations and scan.
namespace cambrian {
namespace {

Var relu(Operand x) {
    return max(x.value, constant(*x.value.graph, 0.0), x.where);
}

Var silu(Operand x) {
    return x * Operand(sigmoid(x.value, x.where), x.where);
}

Var gelu(Operand x) {
    const auto at = [&](Var value) { return Operand(value, x.where); };
    const Var cube = at(x * x) * x;
    const Var inner = x + at(0.044715 * at(cube));
    const Var bend = tanh(std::sqrt(2.0 / std::numbers::pi) * at(inner), x.where);
    const Var half = 0.5 * x;
    const Var lifted = 1.0 + at(bend);
    return at(half) * at(lifted);
}

}  // namespace

Var activate(Var x, Activation activation, Where where) {
    switch (activation) {
        case Activation::identity:
            return x;
        case Activation::relu:
            return relu({x, where});
        case Activation::silu:
            return silu({x, where});
        case Activation::gelu:
            return gelu({x, where});
        case Activation::tanh:
            return tanh(x, where);
        case Activation::sigmoid:
            return sigmoid(x, where);
    }
    return x;
}

Var activate(Var x, Var code, Where where) {
    const Node& producer = x.graph->producer(code.id);
    if (producer.op == Op::constant && code.rank() == 0 && code.info().type == ValueType::integer) {
        const double value = std::get<ConstantAttribute>(producer.attributes).value->elements[0];
        const bool known = value >= 0.0 && value < static_cast<double>(activation_names.size());
        return activate(
            x, known ? static_cast<Activation>(static_cast<int>(value)) : Activation::identity,
            where);
    }
    const std::array operands{x, code};
    return x.graph->add(Op::activate, operands, {}, where);
}

std::vector<Var> lower_activate(Graph& graph, std::span<const Var> operands, const Attributes&) {
    Var result = operands[0];
    for (std::size_t code = 1; code < activation_names.size(); ++code) {
        const Var wanted = constant(graph, static_cast<double>(code), ValueType::integer);
        const Var value = activate(operands[0], static_cast<Activation>(code));
        result = select(equal(operands[1], wanted), value, result);
    }
    return {result};
}

Var softmax(Var x, int axis, Where where) {
    const Var shifted =
        Operand(x, where) - Operand(stop_gradient(reduce_max(x, axis, true, where), where));
    const Var weights = exp(shifted, where);
    return Operand(weights, where) *
           Operand(reciprocal(reduce_sum(weights, axis, true, where), where));
}

Var log_softmax(Var x, int axis, Where where) {
    const Var shifted =
        Operand(x, where) - Operand(stop_gradient(reduce_max(x, axis, true, where), where));
    return Operand(shifted, where) -
           Operand(log(reduce_sum(exp(shifted, where), axis, true, where), where));
}

ScanResult scan(Graph body, std::span<const Var> carries, std::span<const Var> sequences,
                std::span<const Var> invariants, std::int64_t length, bool reverse, int alive_carry,
                GradientSteps gradient_steps, Where where) {
    std::vector<Var> operands(carries.begin(), carries.end());
    operands.insert(operands.end(), sequences.begin(), sequences.end());
    operands.insert(operands.end(), invariants.begin(), invariants.end());
    CAMBRIAN_ASSERT(!operands.empty());

    ScanAttribute attribute;
    attribute.length = length;
    attribute.carries = static_cast<int>(carries.size());
    attribute.sequences = static_cast<int>(sequences.size());
    attribute.reverse = reverse;
    attribute.alive_carry = alive_carry;
    attribute.truncate = gradient_steps.truncate;
    attribute.checkpoint_every = gradient_steps.checkpoint_every;
    const std::size_t results = body.outputs().size();
    attribute.body = std::make_shared<const Graph>(std::move(body));

    Graph& graph = *operands[0].graph;
    const Var first = graph.add(Op::scan, operands, std::move(attribute), where);
    ScanResult result;
    for (std::size_t i = 0; i < results; ++i) {
        const Var value{
            &graph, ValueId{static_cast<std::uint32_t>(first.id) + static_cast<std::uint32_t>(i)}};
        (i < carries.size() ? result.carries : result.stacked).push_back(value);
    }
    return result;
}

std::vector<Var> inline_graph(Graph& target, const Graph& source, std::span<const Var> inputs) {
    CAMBRIAN_ASSERT(inputs.size() == source.inputs().size());
    std::vector<Var> values(source.value_count());
    std::vector<Var> operands;
    std::size_t next_input = 0;
    for (const Node& node : source.nodes()) {
        if (node.op == Op::input) {
            const Var value = inputs[next_input++];
            const ValueInfo& declared = source.value(ValueId{node.first_result});
            CAMBRIAN_ASSERT(value.shape() == declared.shape && value.info().type == declared.type);
            values[node.first_result] = value;
            continue;
        }
        operands.clear();
        for (const ValueId id : source.operands(node))
            operands.push_back(values[static_cast<std::size_t>(id)]);
        const Var first = target.add(node.op, operands, node.attributes, node.where);
        for (std::uint32_t i = 0; i < node.result_count; ++i)
            values[node.first_result + i] = {&target,
                                             ValueId{static_cast<std::uint32_t>(first.id) + i}};
    }
    std::vector<Var> outputs;
    for (const ValueId id : source.outputs())
        outputs.push_back(values[static_cast<std::size_t>(id)]);
    return outputs;
}

}  // namespace cambrian
