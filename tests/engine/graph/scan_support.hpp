#pragma once

#include <array>
#include <utility>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"

// Scans whose individuals end at steps of their own.
namespace cambrian::test {

/// Walks over a grid and divides by what is left of it, until the position is after its end: a
/// step more would fail. The walk is the body of a scan or of one inside it.
inline Graph walk_off_the_grid(bool inside) {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var position = body.input("position", ValueType::integer, {});
    const Var sum = body.input("sum", ValueType::integer, {});
    const Var grid = body.input("grid", ValueType::integer, {4});
    const Var found = gather(grid, position);
    body.capture("found", found);
    const Var part = constant(body, 12.0, ValueType::integer) / (4.0 - position);
    const Var next = position + cast(alive, ValueType::integer);
    body.output(less(next, 4.0));
    body.output(next);
    body.output(sum + select(alive, found + part, 0.0 * sum));
    const auto walk = [&](Var flag, Var from, Var start, Var table) {
        return scan(body, std::array{flag, from, start}, {}, std::array{table},
                    {.length = 7, .alive_carry = 0});
    };
    Graph graph;
    const Var from = graph.input("from", ValueType::integer, {}, true);
    const Var grid_of_all = graph.input("grid", ValueType::integer, {4});
    const std::array start{less(from, 4.0), from, 0.0 * from};
    if (!inside) {
        graph.output(walk(start[0], start[1], start[2], grid_of_all).carries[2]);
        return graph;
    }
    Graph outer;
    const Var flag = outer.input("alive", ValueType::boolean, {});
    const Var place = outer.input("position", ValueType::integer, {});
    const Var so_far = outer.input("sum", ValueType::integer, {});
    const Var table = outer.input("grid", ValueType::integer, {4});
    for (const Var value : walk(flag, place, so_far, table).carries) outer.output(value);
    graph.output(
        scan(std::move(outer), start, {}, std::array{grid_of_all}, {.length = 2, .alive_carry = 0})
            .carries[2]);
    return graph;
}

/// An individual counts down and grows by a gain that all share and no step changes.
inline Graph shared_gain(GradientSteps steps) {
    Graph body;
    const Var alive = body.input("alive", ValueType::boolean, {});
    const Var left = body.input("left", ValueType::integer, {});
    const Var gain = body.input("gain", ValueType::real, {});
    const Var sum = body.input("sum", ValueType::real, {});
    const Var next = left - cast(alive, ValueType::integer);
    body.output(less(0.0, next));
    body.output(next);
    body.output(gain);
    body.output(select(alive, tanh(sum * gain), sum));
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {});
    const Var count = graph.input("count", ValueType::integer, {});
    const Var gain_of_all = graph.input("gain", ValueType::real, {});
    const ScanResult result =
        scan(std::move(body), std::array{less(0.0, count), count, gain_of_all, x}, {}, {},
             {.length = 7, .alive_carry = 0, .gradient = steps});
    graph.output(result.carries[3]);
    for (const Var value :
         gradient(result.carries[3] * result.carries[2], std::array{x, gain_of_all}))
        graph.output(value);
    return graph;
}

}  // namespace cambrian::test
