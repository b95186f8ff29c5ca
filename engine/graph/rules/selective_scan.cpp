#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/activation.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/builders/scan.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Rules of selective_scan and of its gradient, and the lowering of the first.
namespace cambrian {
namespace {

enum Position : std::size_t {
    u,
    raw_delta,
    log_decay,
    b,
    c,
    skip,
    state,
    upstream_y,
    upstream_state
};
constexpr std::size_t forward_operands = 7;

Shape with_last_two(const Shape& leading, std::int64_t rows, std::int64_t columns) {
    std::vector<std::int64_t> extents(leading.extents().begin(), leading.extents().end());
    extents.insert(extents.end(), {rows, columns});
    return Shape(std::span<const std::int64_t>(extents));
}

Shape without_last_two(const Shape& shape) {
    return Shape(shape.extents().first(shape.extents().size() - 2));
}

void require(const OperandInfos& operands, Position position, std::string_view name,
             const Shape& wanted) {
    if (operands[position].shape != wanted)
        reject(std::string(name) + " is " + operands[position].shape.text(),
               "pass " + wanted.text() + ", as u and log_decay ask for");
}

void check(const OperandInfos& operands) {
    const Shape& input = operands[u].shape;
    const Shape& rates = operands[log_decay].shape;
    if (input.rank() < 2 || rates.rank() != 2 || input[-1] != rates[0])
        reject("u " + input.text() + " and log_decay " + rates.text() + " do not fit",
               "pass u [.., steps, channels] and log_decay [channels, states]");
    if (input[-2] < 1 || rates[0] < 1 || rates[1] < 1)
        reject("there are no steps, channels or states", "pass at least one of each");
    const Shape leading = without_last_two(input);
    require(operands, raw_delta, "raw_delta", input);
    require(operands, b, "b", with_last_two(leading, input[-2], rates[1]));
    require(operands, c, "c", with_last_two(leading, input[-2], rates[1]));
    require(operands, skip, "skip", Shape{rates[0]});
    require(operands, state, "state", with_last_two(leading, rates[0], rates[1]));
}

/// Swaps the steps of [.., steps, x] to the front, or back.
Var steps_first(Var x) {
    const Shape& shape = x.shape();
    if (shape.rank() == 2) return x;
    PermuteAttribute permute;
    permute.order[0] = static_cast<std::int8_t>(shape.rank() - 2);
    for (int i = 1; i < shape.rank(); ++i)
        permute.order[static_cast<std::size_t>(i)] =
            static_cast<std::int8_t>(i < shape.rank() - 1 ? i - 1 : i);
    return x.graph->add(Op::permute, std::span(&x, 1), permute);
}

Var steps_last(Var x) {
    const Shape& shape = x.shape();
    if (shape.rank() == 2) return x;
    PermuteAttribute permute;
    for (int i = 0; i < shape.rank() - 2; ++i)
        permute.order[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i + 1);
    permute.order[static_cast<std::size_t>(shape.rank()) - 2] = 0;
    permute.order[static_cast<std::size_t>(shape.rank()) - 1] =
        static_cast<std::int8_t>(shape.rank() - 1);
    return x.graph->add(Op::permute, std::span(&x, 1), permute);
}

/// [.., n] as [.., n, 1].
Var as_column(Var x) {
    return reshape(x,
                   with_last_two(Shape(x.shape().extents().first(x.shape().extents().size() - 1)),
                                 x.shape()[-1], 1));
}
/// [.., n] as [.., 1, n].
Var as_row(Var x) {
    return reshape(
        x, with_last_two(Shape(x.shape().extents().first(x.shape().extents().size() - 1)), 1,
                         x.shape()[-1]));
}

/// (eᶻ − 1) / z. Near zero its series, whose slope does not cancel as the quotient's does.
Var growth(Var z) {
    const Var small = less(abs(z), 0.25);
    Var series = constant(*z.graph, 1.0 / 720.0);
    for (const double factor : {1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0})
        series = factor + z * series;
    const Var divisor = select(small, constant(*z.graph, 1.0), z);
    return select(small, series, expm1(divisor) / divisor);
}

/// One step: carry is the state, sequences are u, raw_delta, b, c, invariants the decay rate and
/// skip.
Graph step_graph(const SelectiveScanOperands& o, Var rate, Discretization discretization) {
    const auto of_step = [](Var sequence) { return Shape(sequence.shape().extents().subspan(1)); };
    Graph body;
    const auto input = [&](std::string_view name, const Shape& shape) {
        return body.input(name, ValueType::real, shape);
    };
    const Var before = input("state", o.state.shape());
    const Var x = input("u", of_step(o.u));
    const Var delta = as_column(softplus(input("raw_delta", of_step(o.raw_delta))));
    const Var in = as_row(input("b", of_step(o.b)));
    const Var out = as_row(input("c", of_step(o.c)));
    const Var a = input("rate", rate.shape());
    const Var through = input("skip", o.skip.shape());

    const Var z = delta * a;
    const bool hold = discretization == Discretization::zero_order_hold;
    const Var weight = hold ? delta * growth(z) : delta;
    const Var after = exp(z) * before + weight * in * as_column(x);
    body.output(after);
    body.output(reduce_sum(after * out, -1) + through * x);
    return body;
}

}  // namespace

Shape shape_rule::selective_scan(const OperandInfos& operands, const Attributes&,
                                 std::size_t result) {
    check(operands);
    return operands[result == 0 ? u : state].shape;
}

ValueType type_rule::selective_scan(const OperandInfos& operands, const Attributes& attributes,
                                    std::size_t result) {
    return real(operands, attributes, result);
}

Shape shape_rule::selective_scan_gradient(const OperandInfos& operands, const Attributes&,
                                          std::size_t result) {
    check(operands);
    require(operands, upstream_y, "the upstream of y", operands[u].shape);
    require(operands, upstream_state, "the upstream of the state", operands[state].shape);
    return operands[result].shape;
}

ValueType type_rule::selective_scan_gradient(const OperandInfos& operands,
                                             const Attributes& attributes, std::size_t result) {
    return real(operands, attributes, result);
}

void gradient_rule::selective_scan(GradientContext& context) {
    std::vector<Var> operands;
    for (std::size_t i = 0; i < forward_operands; ++i) operands.push_back(context.operand(i));
    operands.push_back(context.upstream(0));
    operands.push_back(context.upstream(1));
    Graph& graph = context.graph();
    const Var first = graph.add(Op::selective_scan_gradient, operands, context.attributes());
    for (std::size_t i = 0; i < forward_operands; ++i)
        context.accumulate(i, {&graph, ValueId{static_cast<std::uint32_t>(first.id) +
                                               static_cast<std::uint32_t>(i)}});
}

std::vector<Var> lower_selective_scan(Graph& graph, std::span<const Var> operands,
                                      const Attributes& attributes) {
    const Var rate = -exp(operands[log_decay]);
    const SelectiveScanOperands o{.u = steps_first(operands[u]),
                                  .raw_delta = steps_first(operands[raw_delta]),
                                  .log_decay = operands[log_decay],
                                  .b = steps_first(operands[b]),
                                  .c = steps_first(operands[c]),
                                  .skip = operands[skip],
                                  .state = operands[state]};
    const auto& scan_attribute = attribute<SelectiveScanAttribute>(attributes);
    const std::array carries{o.state};
    const std::array sequences{o.u, o.raw_delta, o.b, o.c};
    const std::array invariants{rate, o.skip};
    const ScanResult result = scan(step_graph(o, rate, scan_attribute.discretization), carries,
                                   sequences, invariants, {.length = graph.value(o.u.id).shape[0]});
    return {steps_last(result.stacked[0]), result.carries[0]};
}

}  // namespace cambrian
