#include "cambrian/tests/conformance/cases/op_cases.hpp"

namespace cambrian::test {
namespace {

struct ScanExtents {
    Shape leading;
    std::int64_t steps;
    std::int64_t channels;
    std::int64_t states;
};

Shape with(const Shape& leading, std::initializer_list<std::int64_t> extents) {
    std::vector<std::int64_t> all(leading.extents().begin(), leading.extents().end());
    all.insert(all.end(), extents.begin(), extents.end());
    return Shape(std::span<const std::int64_t>(all));
}

std::vector<Shape> operand_shapes(const ScanExtents& e) {
    const Shape wide = with(e.leading, {e.steps, e.channels});
    const Shape narrow = with(e.leading, {e.steps, e.states});
    return {wide,
            wide,
            {e.channels, e.states},
            narrow,
            narrow,
            {e.channels},
            with(e.leading, {e.channels, e.states})};
}

}  // namespace

std::vector<OpCase> selective_scan_cases() {
    std::vector<OpCase> cases;
    for (const Discretization kind : {Discretization::zero_order_hold, Discretization::euler})
        for (const ScanExtents& e :
             {ScanExtents{{}, 1, 1, 1}, ScanExtents{{2}, 3, 17, 4}, ScanExtents{{2, 1}, 5, 3, 1},
              ScanExtents{{}, 67, 2, 3}, ScanExtents{{2}, 2, 9, 17}}) {
            const std::vector<Shape> shapes = operand_shapes(e);
            OpCase forward{
                Op::selective_scan, {}, SelectiveScanAttribute{kind}, {{shapes[0]}, {shapes[6]}}};
            for (const Shape& shape : shapes) forward.operands.push_back({Range::wide, shape});
            OpCase backward{Op::selective_scan_gradient, forward.operands, forward.attributes, {}};
            for (const Shape& shape : {shapes[0], shapes[6]})
                backward.operands.push_back({Range::wide, shape});
            for (const Shape& shape : shapes) backward.results.push_back({shape});
            cases.push_back(std::move(forward));
            cases.push_back(std::move(backward));
        }
    return cases;
}

}  // namespace cambrian::test
