#include "cambrian/engine/graph/passes/passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cambrian/engine/graph/rules/op_rules.hpp"

// Algebra that keeps every bit. x + 0 is none of it (-0 + 0 is 0), nor is x / 1 (a quotient counts
// subnormal numbers as zero).
namespace cambrian {
namespace {

using Found = std::optional<Var>;

const Node& producer(Var value) {
    return value.graph->producer(value.id);
}

/// Operand of the node that made a value, when it is of that op.
Found operand_of(Var value, Op op) {
    const Node& node = producer(value);
    if (node.op != op) return std::nullopt;
    return Var{value.graph, value.graph->operands(node)[0]};
}

template <class Attribute>
const Attribute& attribute_of(Var value) {
    return attribute<Attribute>(producer(value).attributes);
}

Var append(const IdentitySite& site, Op op, Var operand, Attributes attributes) {
    return site.graph.add(op, std::span(&operand, 1), std::move(attributes), site.node.where);
}

Var reshaped(const IdentitySite& site, Var value, const Shape& shape) {
    return value.shape() == shape ? value : append(site, Op::reshape, value, ShapeAttribute{shape});
}

Var broadcast_to(const IdentitySite& site, Var value, const Shape& shape) {
    return value.shape() == shape ? value
                                  : append(site, Op::broadcast, value, ShapeAttribute{shape});
}

bool is(Var value, double number) {
    const std::optional<double> found = uniform_number(value);
    return found && *found == number && std::signbit(*found) == std::signbit(number);
}

/// The operand that is left when the other one is a number.
Found beside(const IdentitySite& site, double number) {
    if (is(site.operands[1], number)) return site.operands[0];
    if (is(site.operands[0], number)) return site.operands[1];
    return std::nullopt;
}

Found twice(const IdentitySite& site) {
    return operand_of(site.operands[0], site.node.op);
}

Found same_operands(const IdentitySite& site) {
    if (site.operands[0].id == site.operands[1].id) return site.operands[0];
    return std::nullopt;
}

Found add(const IdentitySite& site) {
    return beside(site, site.result.type == ValueType::real ? -0.0 : 0.0);
}
Found sub(const IdentitySite& site) {
    if (is(site.operands[1], 0.0)) return site.operands[0];
    return std::nullopt;
}
Found mul(const IdentitySite& site) {
    return beside(site, 1.0);
}
Found logical_and(const IdentitySite& site) {
    const Found same = same_operands(site);
    return same ? same : beside(site, 1.0);
}
Found logical_or(const IdentitySite& site) {
    const Found same = same_operands(site);
    return same ? same : beside(site, 0.0);
}
Found select(const IdentitySite& site) {
    const std::optional<double> condition = uniform_number(site.operands[0]);
    if (condition)
        return broadcast_to(site, site.operands[*condition != 0.0 ? 1 : 2], site.result.shape);
    if (site.operands[1].id == site.operands[2].id) return site.operands[1];
    return std::nullopt;
}
Found same_type(const IdentitySite& site) {
    if (site.operands[0].info().type == site.result.type) return site.operands[0];
    return std::nullopt;
}

/// The number that is every element of what moves, in every element of the result.
Found repeated(const IdentitySite& site) {
    const Found number = operand_of(site.operands[0], Op::broadcast);
    if (!number || number->rank() > 0) return std::nullopt;
    return broadcast_to(site, *number, site.result.shape);
}

Found reshape(const IdentitySite& site) {
    if (const Found number = repeated(site)) return number;
    const Found inner = operand_of(site.operands[0], Op::reshape);
    if (!inner && site.operands[0].shape() != site.result.shape) return std::nullopt;
    return reshaped(site, inner.value_or(site.operands[0]), site.result.shape);
}
Found broadcast(const IdentitySite& site) {
    const Found inner = operand_of(site.operands[0], Op::broadcast);
    if (!inner && site.operands[0].shape() != site.result.shape) return std::nullopt;
    return broadcast_to(site, inner.value_or(site.operands[0]), site.result.shape);
}
Found permute(const IdentitySite& site) {
    Var operand = site.operands[0];
    PermuteAttribute order = attribute<PermuteAttribute>(site.node.attributes);
    const auto rank = static_cast<std::size_t>(operand.rank());
    const Found inner = operand_of(operand, Op::permute);
    if (inner) {
        const PermuteAttribute& first = attribute_of<PermuteAttribute>(operand);
        for (std::size_t i = 0; i < rank; ++i)
            order.order[i] = first.order[static_cast<std::size_t>(order.order[i])];
        operand = *inner;
    }
    if (std::is_sorted(order.order.begin(),
                       order.order.begin() + static_cast<std::ptrdiff_t>(rank)))
        return operand;
    if (!inner) return std::nullopt;
    return append(site, Op::permute, operand, order);
}
/// The part of a concat that a slice lies in, and the slice of it.
Found slice_of_part(const IdentitySite& site, SliceAttribute part) {
    const Var whole = site.operands[0];
    const Node& joined = site.graph.producer(whole.id);
    if (joined.op != Op::concat || attribute<AxisAttribute>(joined.attributes).axis != part.axis)
        return std::nullopt;
    for (const ValueId id : site.graph.operands(joined)) {
        const Var operand{&site.graph, id};
        const std::int64_t extent = operand.shape()[part.axis];
        if (part.start >= extent) {
            part.start -= extent;
            continue;
        }
        if (part.start + site.result.shape[part.axis] > extent) return std::nullopt;
        if (operand.info().per_individual != site.result.per_individual) return std::nullopt;
        if (operand.shape() == site.result.shape) return operand;
        return append(site, Op::slice, operand, part);
    }
    return std::nullopt;
}
Found slice(const IdentitySite& site) {
    Var operand = site.operands[0];
    if (operand.shape() == site.result.shape) return operand;
    if (const Found number = repeated(site)) return number;
    SliceAttribute part = attribute<SliceAttribute>(site.node.attributes);
    if (const Found found = slice_of_part(site, part)) return found;
    const Found inner = operand_of(operand, Op::slice);
    if (!inner || attribute_of<SliceAttribute>(operand).axis != part.axis) return std::nullopt;
    part.start += attribute_of<SliceAttribute>(operand).start;
    return append(site, Op::slice, *inner, part);
}
Found flip(const IdentitySite& site) {
    const Found inner = operand_of(site.operands[0], Op::flip);
    if (inner && attribute_of<AxisAttribute>(site.operands[0]).axis ==
                     attribute<AxisAttribute>(site.node.attributes).axis)
        return inner;
    return std::nullopt;
}
/// pad and concat that add nothing.
Found whole(const IdentitySite& site) {
    for (const Var operand : site.operands)
        if (operand.shape() == site.result.shape) return operand;
    return std::nullopt;
}

struct Identity {
    Op op = Op::count_;
    Found (*find)(const IdentitySite& site) = nullptr;
};

constexpr std::array identities{
    Identity{Op::neg, twice},
    Identity{Op::logical_not, twice},
    Identity{Op::add, add},
    Identity{Op::sub, sub},
    Identity{Op::mul, mul},
    Identity{Op::min, same_operands},
    Identity{Op::max, same_operands},
    Identity{Op::logical_and, logical_and},
    Identity{Op::logical_or, logical_or},
    Identity{Op::select, select},
    Identity{Op::cast, same_type},
    Identity{Op::reshape, reshape},
    Identity{Op::permute, permute},
    Identity{Op::broadcast, broadcast},
    Identity{Op::slice, slice},
    Identity{Op::flip, flip},
    Identity{Op::pad, whole},
    Identity{Op::concat, whole},
};

/// An op that broadcasts its operands takes them as they were before an explicit broadcast.
Found without_broadcasts(const IdentitySite& site) {
    // Of nothing the op computes nothing, where its operands may hold what it refuses.
    const bool empty = site.result.shape.elements() == 0;
    if (op_info(site.node.op).shape != shape_rule::broadcast_operands || empty) return std::nullopt;
    std::vector<Var> operands(site.operands.begin(), site.operands.end());
    for (Var& operand : operands)
        if (const Found inner = operand_of(operand, Op::broadcast)) operand = *inner;
    Shape shape = operands[0].shape();
    bool changed = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
        changed = changed || operands[i].id != site.operands[i].id;
        shape = broadcast_shapes(shape, operands[i].shape());
    }
    if (!changed) return std::nullopt;
    const Var value = site.graph.add(site.node.op, operands, site.node.attributes, site.node.where);
    return broadcast_to(site, value, site.result.shape);
}

}  // namespace

std::optional<double> uniform_number(Var value) {
    const Var number = operand_of(value, Op::broadcast).value_or(value);
    const Node& node = producer(number);
    if (node.op != Op::constant || number.shape().elements() != 1) return std::nullopt;
    return attribute<ConstantAttribute>(node.attributes).value->elements[0];
}

std::optional<Var> simpler_value(const IdentitySite& site) {
    const auto fits = [&](const Found& found) { return found && found->info() == site.result; };
    for (const Identity& identity : identities)
        if (identity.op == site.node.op)
            if (const Found found = identity.find(site); fits(found)) return found;
    if (const Found found = without_broadcasts(site); fits(found)) return found;
    return std::nullopt;
}

}  // namespace cambrian
