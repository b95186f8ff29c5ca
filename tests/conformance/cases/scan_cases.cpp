#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {
namespace {

ScanAttribute attribute(Graph body, std::int64_t length, int carries, int sequences) {
    ScanAttribute scan;
    scan.body = std::make_shared<const Graph>(std::move(body));
    scan.length = length;
    scan.carries = carries;
    scan.sequences = sequences;
    return scan;
}

/// h' = tanh(x W + h); stacks h'^2 and x.
Graph recurrent_body(std::int64_t inputs, std::int64_t width) {
    Graph body;
    const Var h = body.input("h", ValueType::real, {width});
    const Var x = body.input("x", ValueType::real, {inputs});
    const Var w = body.input("w", ValueType::real, {inputs, width});
    const Var next = tanh(reshape(matmul(reshape(x, {1, inputs}), w), {width}) + h);
    body.output(next);
    body.output(square(next));
    body.output(x);
    return body;
}

OpCase recurrent(std::int64_t length, bool reverse) {
    ScanAttribute scan = attribute(recurrent_body(2, 3), length, 1, 1);
    scan.reverse = reverse;
    return {Op::scan,
            {{Range::wide, {3}}, {Range::wide, {length, 2}}, {Range::wide, {2, 3}}},
            scan,
            {{{3}}, {{length, 3}}, {{length, 2}}}};
}

/// A count and a value that doubles while the count is below five.
OpCase counting() {
    Graph body;
    const Var count = body.input("count", ValueType::integer, {});
    const Var value = body.input("value", ValueType::real, {3});
    const Var alive = body.input("alive", ValueType::boolean, {});
    body.output(select(alive, count + 1, count));
    body.output(select(alive, value * 1.5, value));
    body.output(logical_and(alive, less(count, 4)));
    ScanAttribute scan = attribute(std::move(body), 17, 3, 0);
    scan.alive_carry = 2;
    return {Op::scan,
            {{Range::index, {}, 3}, {Range::wide, {3}}, {Range::boolean, {}}},
            scan,
            {{{}, ValueType::integer}, {{3}}, {{}, ValueType::boolean}}};
}

/// No carries: a body mapped over two sequences.
OpCase mapped() {
    Graph body;
    const Var x = body.input("x", ValueType::real, {3});
    const Var i = body.input("i", ValueType::integer, {});
    body.output(x * cast(i, ValueType::real));
    return {Op::scan,
            {{Range::wide, {4, 3}}, {Range::integers, {4}}},
            attribute(std::move(body), 4, 0, 2),
            {{{4, 3}}}};
}

/// A scan over rows inside a scan over matrices; the outer carry is replaced, not added to.
OpCase nested() {
    Graph inner;
    const Var sum = inner.input("sum", ValueType::real, {2});
    const Var row = inner.input("row", ValueType::real, {2});
    const Var scale = inner.input("scale", ValueType::real, {});
    inner.output(sum * (0.5 * scale) + row);

    Graph body;
    const Var total = body.input("total", ValueType::real, {2});
    const Var matrix = body.input("matrix", ValueType::real, {3, 2});
    const Var factor = body.input("factor", ValueType::real, {});
    const Var result = scan(std::move(inner), std::array{total}, std::array{matrix},
                            std::array{factor}, {.length = 3})
                           .carries[0];
    body.output(sin(result));
    body.output(total);
    return {Op::scan,
            {{Range::wide, {2}}, {Range::wide, {5, 3, 2}}, {Range::wide, {}}},
            attribute(std::move(body), 5, 1, 1),
            {{{2}}, {{5, 2}}}};
}

/// Carries that swap places, so that a population mark must travel around.
OpCase swapping() {
    Graph body;
    const Var a = body.input("a", ValueType::real, {2});
    const Var b = body.input("b", ValueType::real, {2});
    const Var c = body.input("c", ValueType::real, {2});
    body.output(b);
    body.output(c);
    body.output(a * 0.5 + b);
    return {Op::scan,
            {{Range::wide, {2}}, {Range::wide, {2}}, {Range::wide, {2}}},
            attribute(std::move(body), 7, 3, 0),
            {{{2}}, {{2}}, {{2}}}};
}

/// The new carry does not depend on the old one: its initial value may be marked, its new value
/// not.
OpCase replaced() {
    Graph body;
    body.input("old", ValueType::real, {3});
    const Var x = body.input("x", ValueType::real, {3});
    body.output(x * 2.0);
    return {Op::scan,
            {{Range::wide, {3}}, {Range::wide, {4, 3}}},
            attribute(std::move(body), 4, 1, 1),
            {{{3}}}};
}

}  // namespace

std::vector<OpCase> scan_cases() {
    return {recurrent(1, false),
            recurrent(5, false),
            recurrent(5, true),
            counting(),
            mapped(),
            nested(),
            swapping(),
            replaced()};
}

}  // namespace cambrian::test
