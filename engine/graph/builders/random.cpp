#include "cambrian/engine/graph/builders/random.hpp"

#include <array>
#include <numbers>
#include <string>
#include <vector>

#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"

namespace cambrian {
namespace {

Shape with_axes(const Shape& shape, std::initializer_list<std::int64_t> last) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents.insert(extents.end(), last);
    return Shape(extents);
}

/// -ln(1 - u) of uniforms in [0, 1): exponential variables, 0 included.
Var exponential(Var uniforms, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    return -at(log(1.0 - at(uniforms), where));
}

}  // namespace

Var random(Var key, Var ids, std::int64_t draws, Where where) {
    const std::array operands{key, ids};
    return key.graph->add(Op::random, operands, LengthAttribute{draws}, where);
}

Var normal(Var key, Var ids, std::int64_t draws, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    const std::int64_t pairs = (draws + 1) / 2;
    const Var uniforms =
        reshape(random(key, ids, 2 * pairs, where), with_axes(ids.shape(), {pairs, 2}), where);
    const Var radius = sqrt(2.0 * at(exponential(slice(uniforms, -1, 0, 1, where), where)), where);
    const Var angle = (2.0 * std::numbers::pi) * at(slice(uniforms, -1, 1, 1, where));
    const std::array halves{at(radius) * cos(angle, where), at(radius) * sin(angle, where)};
    const Var all = reshape(concat(halves, -1, where), with_axes(ids.shape(), {2 * pairs}), where);
    return draws % 2 == 0 ? all : slice(all, -1, 0, draws, where);
}

Var categorical(Var logits, Var key, Var ids, Where where) {
    const auto at = [&](Var value) { return Operand(value, where); };
    if (logits.rank() == 0 || with_axes(ids.shape(), {logits.shape()[-1]}) != logits.shape())
        fail_node(Op::random, std::array{logits, ids},
                  "(not one id for each row of logits) pass logits [I.., n] "
                  "and ids [I..]",
                  where);
    const Var drawn = exponential(random(key, ids, logits.shape()[-1], where), where);
    // A uniform of 0 would win against anything: half of the least other one stands for it.
    const Var positive = max(drawn, constant(*logits.graph, 0x1p-25), where);
    return argmax(at(logits) - log(positive, where), -1, where);
}

Var dropout(Var x, Var key, Var id, double p, Where where) {
    if (!(p >= 0.0 && p < 1.0))
        fail_node(Op::random, std::span(&x, 1),
                  "(a probability of " + std::to_string(p) +
                      " drops everything or is none) use 0 to below 1",
                  where);
    if (id.rank() != 0)
        fail_node(Op::random, std::span(&id, 1), "(the id is no scalar) pass one id", where);
    if (p == 0.0) return x;
    const Var uniforms = reshape(random(key, id, x.shape().elements(), where), x.shape(), where);
    const Var dropped = less(uniforms, p, where);
    const Var scaled = (1.0 / (1.0 - p)) * Operand(x, where);
    return select(dropped, constant(*x.graph, 0.0), scaled, where);
}

}  // namespace cambrian
