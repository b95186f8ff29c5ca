#include "cambrian/tests/conformance/cases/op_cases.hpp"

// Running sums, orders and elements by index along an axis.
namespace cambrian::test {
namespace {

using Cases = std::vector<OpCase>;

const std::vector<Shape> shapes{{1}, {3}, {17}, {257}, {65, 3}, {1, 3, 17}, {2, 1, 3, 2, 2, 3}};

Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    extents[static_cast<std::size_t>(axis)] = extent;
    return Shape(std::span<const std::int64_t>(extents));
}

/// Calls add(shape, axis) for every axis of every shape.
template <class Add>
void for_each_axis(Add add) {
    for (const Shape& shape : shapes)
        for (int axis = 0; axis < shape.rank(); ++axis) add(shape, axis);
}

void add_cumsum(Cases& cases) {
    for_each_axis([&](const Shape& shape, int axis) {
        for (const bool exclusive : {false, true})
            for (const bool reverse : {false, true})
                cases.push_back({Op::cumsum,
                                 {{Range::wide, shape}},
                                 CumsumAttribute{axis, exclusive, reverse},
                                 {{shape}}});
        cases.push_back({Op::cumsum,
                         {{Range::integers, shape}},
                         CumsumAttribute{axis, axis % 2 == 0, axis % 3 == 0},
                         {{shape, ValueType::integer}}});
    });
    cases.push_back({Op::cumsum, {{Range::wide, {2, 0, 3}}}, CumsumAttribute{1}, {{{2, 0, 3}}}});
}

void add_sort(Cases& cases) {
    for_each_axis([&](const Shape& shape, int axis) {
        for (const bool descending : {false, true}) {
            const SortAttribute attribute{axis, descending};
            cases.push_back({Op::sort,
                             {{Range::wide, shape}},
                             attribute,
                             {{shape}, {shape, ValueType::integer}}});
            // Few different numbers: the order of equal ones shows.
            cases.push_back({Op::sort,
                             {{Range::index, shape, 3}},
                             attribute,
                             {{shape, ValueType::integer}, {shape, ValueType::integer}}});
        }
    });
    cases.push_back({Op::sort,
                     {{Range::wide, {3, 0}}},
                     SortAttribute{1, false},
                     {{{3, 0}}, {{3, 0}, ValueType::integer}}});
}

void add_topk(Cases& cases) {
    for_each_axis([&](const Shape& shape, int axis) {
        for (const std::int64_t count : {std::int64_t{1}, (shape[axis] + 1) / 2, shape[axis]}) {
            const Shape result = with_extent(shape, axis, count);
            cases.push_back({Op::topk,
                             {{Range::wide, shape}},
                             TopkAttribute{axis, count},
                             {{result}, {result, ValueType::integer}}});
        }
    });
    cases.push_back({Op::topk,
                     {{Range::index, {3, 65}, 5}},
                     TopkAttribute{1, 9},
                     {{{3, 9}, ValueType::integer}, {{3, 9}, ValueType::integer}}});
    cases.push_back({Op::topk,
                     {{Range::wide, {3, 2}}},
                     TopkAttribute{1, 0},
                     {{{3, 0}}, {{3, 0}, ValueType::integer}}});
}

void add_flip(Cases& cases) {
    for_each_axis([&](const Shape& shape, int axis) {
        cases.push_back({Op::flip, {{Range::wide, shape}}, AxisAttribute{axis}, {{shape}}});
    });
    cases.push_back(
        {Op::flip, {{Range::boolean, {3, 8}}}, AxisAttribute{0}, {{{3, 8}, ValueType::boolean}}});
}

/// Fewer, as many and more indices than there are elements to point to.
void add_indexing_along(Cases& cases) {
    for_each_axis([&](const Shape& shape, int axis) {
        for (const std::int64_t count : {std::int64_t{1}, shape[axis], 2 * shape[axis] + 1}) {
            const Shape indices = with_extent(shape, axis, count);
            const OperandCase index{Range::index, indices, shape[axis]};
            cases.push_back({Op::take_along_axis,
                             {{Range::wide, shape}, index},
                             AxisAttribute{axis},
                             {{indices}}});
            cases.push_back({Op::scatter_add_along_axis,
                             {{Range::wide, indices}, index},
                             ScatterAlongAttribute{axis, shape[axis]},
                             {{shape}}});
        }
    });
    cases.push_back({Op::take_along_axis,
                     {{Range::boolean, {5, 3}}, {Range::index, {2, 3}, 5}},
                     AxisAttribute{0},
                     {{{2, 3}, ValueType::boolean}}});
    cases.push_back({Op::scatter_add_along_axis,
                     {{Range::integers, {3, 17}}, {Range::index, {3, 17}, 4}},
                     ScatterAlongAttribute{1, 4},
                     {{{3, 4}, ValueType::integer}}});
    cases.push_back({Op::scatter_add_along_axis,
                     {{Range::wide, {3, 0}}, {Range::index, {3, 0}, 1}},
                     ScatterAlongAttribute{1, 2},
                     {{{3, 2}}}});
}

}  // namespace

std::vector<OpCase> order_cases() {
    Cases cases;
    for (auto* add : {add_cumsum, add_sort, add_topk, add_flip, add_indexing_along}) add(cases);
    return cases;
}

}  // namespace cambrian::test
