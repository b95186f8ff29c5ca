#include "cambrian/tests/conformance/cases/op_cases.hpp"

#include <algorithm>
#include <iterator>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian::test {
namespace {

using Cases = std::vector<OpCase>;

const std::vector<Shape> odd_shapes{{}, {1}, {3}, {17}, {65}, {3, 1}, {2, 1, 3, 1, 2, 3}};

void add_sources(Cases& cases) {
    cases.push_back({Op::input, {{Range::wide, {3, 17}}}, {}, {{{3, 17}}}});
    cases.push_back({Op::input, {{Range::boolean, {65}}}, {}, {{{65}, ValueType::boolean}}});
    const auto table = std::make_shared<const Tensor>(
        ValueType::real, Shape{2, 3}, std::vector<double>{1, -2.5, 0, 4, 0.125, -6});
    cases.push_back({Op::constant, {}, ConstantAttribute{table}, {{{2, 3}}}});
    for (const std::int64_t length : {0, 1, 17})
        cases.push_back({Op::iota, {}, LengthAttribute{length}, {{{length}, ValueType::integer}}});
    const OperandCase key{Range::integers, {2}};
    cases.push_back({Op::random, {key, {Range::index, {}, 1000}}, LengthAttribute{65}, {{{65}}}});
    cases.push_back(
        {Op::random, {key, {Range::index, {3, 2}, 1000}}, LengthAttribute{5}, {{{3, 2, 5}}}});
}

void add_unary(Cases& cases) {
    const std::vector<std::pair<Op, Range>> real_ops{
        {Op::neg, Range::wide},       {Op::abs, Range::off_grid},
        {Op::sign, Range::off_grid},  {Op::round, Range::off_grid},
        {Op::floor, Range::off_grid}, {Op::exp, Range::wide},
        {Op::log, Range::positive},   {Op::sqrt, Range::positive},
        {Op::rsqrt, Range::positive}, {Op::reciprocal, Range::nonzero},
        {Op::sin, Range::wide},       {Op::cos, Range::wide},
        {Op::tanh, Range::wide},      {Op::sigmoid, Range::wide},
        {Op::erf, Range::wide},       {Op::log1p, Range::positive},
        {Op::expm1, Range::wide},     {Op::stop_gradient, Range::wide}};
    for (const auto& [op, range] : real_ops)
        for (const Shape& shape : odd_shapes)
            cases.push_back({op, {{range, shape}}, {}, {{shape}}});
    for (const Shape& shape : odd_shapes) {
        cases.push_back({Op::is_finite, {{Range::wide, shape}}, {}, {{shape, ValueType::boolean}}});
        cases.push_back(
            {Op::logical_not, {{Range::boolean, shape}}, {}, {{shape, ValueType::boolean}}});
    }
    for (const Op op : {Op::neg, Op::abs, Op::sign, Op::stop_gradient})
        cases.push_back({op, {{Range::integers, {17}}}, {}, {{{17}, ValueType::integer}}});
    for (const Range range : {Range::off_grid, Range::integers, Range::boolean})
        for (const ValueType type : {ValueType::real, ValueType::integer, ValueType::boolean})
            cases.push_back({Op::cast, {{range, {3, 17}}}, CastAttribute{type}, {{{3, 17}, type}}});
}

struct Pair {
    Shape left;
    Shape right;
    Shape result;
};

/// Equal shapes and every way to broadcast: scalars, missing axes, each axis of a rank 3 and a rank
/// 6 shape.
std::vector<Pair> broadcast_pairs() {
    return {{{}, {}, {}},
            {{3}, {3}, {3}},
            {{}, {17}, {17}},
            {{65}, {}, {65}},
            {{3, 1}, {1, 17}, {3, 17}},
            {{2, 3, 4}, {1, 3, 4}, {2, 3, 4}},
            {{2, 1, 4}, {2, 3, 4}, {2, 3, 4}},
            {{2, 3, 4}, {2, 3, 1}, {2, 3, 4}},
            {{4}, {2, 3, 4}, {2, 3, 4}},
            {{2, 3, 4}, {3, 1}, {2, 3, 4}},
            {{2, 1, 3, 1, 2, 1}, {3, 1, 2}, {2, 1, 3, 3, 2, 2}}};
}

void add_binary(Cases& cases) {
    for (const auto& [left, right, result] : broadcast_pairs()) {
        for (const Op op : {Op::add, Op::sub, Op::mul, Op::min, Op::max}) {
            cases.push_back({op, {{Range::wide, left}, {Range::wide, right}}, {}, {{result}}});
            cases.push_back({op,
                             {{Range::integers, left}, {Range::integers, right}},
                             {},
                             {{result, ValueType::integer}}});
        }
        cases.push_back({Op::div, {{Range::wide, left}, {Range::nonzero, right}}, {}, {{result}}});
        cases.push_back({Op::pow, {{Range::positive, left}, {Range::wide, right}}, {}, {{result}}});
        cases.push_back({Op::div,
                         {{Range::integers, left}, {Range::one_digit, right}},
                         {},
                         {{result, ValueType::integer}}});
        for (const Op op : {Op::less, Op::equal}) {
            cases.push_back({op,
                             {{Range::wide, left}, {Range::wide, right}},
                             {},
                             {{result, ValueType::boolean}}});
            cases.push_back({op,
                             {{Range::index, left, 2}, {Range::index, right, 2}},
                             {},
                             {{result, ValueType::boolean}}});
        }
        for (const Op op : {Op::equal, Op::logical_and, Op::logical_or})
            cases.push_back({op,
                             {{Range::boolean, left}, {Range::boolean, right}},
                             {},
                             {{result, ValueType::boolean}}});
        for (const Shape& condition : {Shape{}, right, result})
            cases.push_back(
                {Op::select,
                 {{Range::boolean, condition}, {Range::wide, left}, {Range::wide, right}},
                 {},
                 {{result}}});
    }
    cases.push_back({Op::select,
                     {{Range::boolean, {3}}, {Range::boolean, {3}}, {Range::boolean, {}}},
                     {},
                     {{{3}, ValueType::boolean}}});
}

Shape without_axis(const Shape& shape, int axis, bool keep) {
    std::vector<std::int64_t> extents;
    for (int i = 0; i < shape.rank(); ++i)
        if (i != axis || keep) extents.push_back(i == axis ? 1 : shape[i]);
    return Shape(std::span<const std::int64_t>(extents));
}

void add_reductions(Cases& cases) {
    for (const Shape& shape :
         {Shape{1}, Shape{17}, Shape{65, 3}, Shape{1, 3, 17}, Shape{2, 1, 3, 2, 2, 3}})
        for (int axis = 0; axis < shape.rank(); ++axis)
            for (const bool keep : {false, true}) {
                const AxisAttribute attribute{axis, keep};
                const Shape result = without_axis(shape, axis, keep);
                cases.push_back({Op::reduce_sum, {{Range::wide, shape}}, attribute, {{result}}});
                cases.push_back({Op::reduce_max, {{Range::wide, shape}}, attribute, {{result}}});
                cases.push_back({Op::reduce_sum,
                                 {{Range::integers, shape}},
                                 attribute,
                                 {{result, ValueType::integer}}});
                cases.push_back({Op::reduce_max,
                                 {{Range::integers, shape}},
                                 attribute,
                                 {{result, ValueType::integer}}});
                cases.push_back({Op::argmax,
                                 {{Range::wide, shape}},
                                 attribute,
                                 {{result, ValueType::integer}}});
                cases.push_back({Op::argmax,
                                 {{Range::index, shape, 3}},
                                 attribute,
                                 {{result, ValueType::integer}}});
            }
    cases.push_back(
        {Op::reduce_sum, {{Range::wide, {2, 0, 3}}}, AxisAttribute{1, false}, {{{2, 3}}}});
}

void add_reshapes(Cases& cases) {
    cases.push_back({Op::reshape, {{Range::wide, {3, 4}}}, ShapeAttribute{{2, 6}}, {{{2, 6}}}});
    cases.push_back({Op::reshape,
                     {{Range::integers, {1}}},
                     ShapeAttribute{Shape{}},
                     {{{}, ValueType::integer}}});
    cases.push_back(
        {Op::reshape, {{Range::wide, {65}}}, ShapeAttribute{{5, 1, 13}}, {{{5, 1, 13}}}});
    const std::vector<std::pair<std::array<std::int8_t, 8>, Shape>> orders{
        {{0, 1, 2}, {2, 3, 5}}, {{0, 2, 1}, {2, 5, 3}}, {{1, 0, 2}, {3, 2, 5}},
        {{1, 2, 0}, {3, 5, 2}}, {{2, 0, 1}, {5, 2, 3}}, {{2, 1, 0}, {5, 3, 2}}};
    for (const auto& [order, result] : orders)
        cases.push_back(
            {Op::permute, {{Range::wide, {2, 3, 5}}}, PermuteAttribute{order}, {{result}}});
    cases.push_back({Op::permute,
                     {{Range::wide, {2, 1, 3, 2, 1, 3}}},
                     PermuteAttribute{{5, 0, 3, 2, 4, 1}},
                     {{{3, 2, 2, 3, 1, 1}}}});
    cases.push_back({Op::permute,
                     {{Range::boolean, {17, 3}}},
                     PermuteAttribute{{1, 0}},
                     {{{3, 17}, ValueType::boolean}}});
    for (const auto& pair : broadcast_pairs())
        if (pair.right == pair.result)
            cases.push_back({Op::broadcast,
                             {{Range::wide, pair.left}},
                             ShapeAttribute{pair.result},
                             {{pair.result}}});
    cases.push_back({Op::broadcast,
                     {{Range::integers, {3, 1}}},
                     ShapeAttribute{{2, 3, 17}},
                     {{{2, 3, 17}, ValueType::integer}}});
    cases.push_back({Op::broadcast,
                     {{Range::wide, {1, 2, 1}}},
                     ShapeAttribute{{3, 1, 5, 2, 4}},
                     {{{3, 1, 5, 2, 4}}}});
}

void add_pieces(Cases& cases) {
    const Shape shape{3, 1, 5};
    cases.push_back({Op::slice, {{Range::wide, shape}}, SliceAttribute{0, 1, 2}, {{{2, 1, 5}}}});
    cases.push_back({Op::slice, {{Range::wide, shape}}, SliceAttribute{1, 0, 1}, {{{3, 1, 5}}}});
    cases.push_back({Op::slice, {{Range::wide, shape}}, SliceAttribute{2, 2, 3}, {{{3, 1, 3}}}});
    cases.push_back({Op::slice,
                     {{Range::integers, {65}}},
                     SliceAttribute{0, 64, 1},
                     {{{1}, ValueType::integer}}});
    cases.push_back({Op::slice, {{Range::wide, {3, 4}}}, SliceAttribute{1, 4, 0}, {{{3, 0}}}});
    cases.push_back({Op::pad, {{Range::wide, shape}}, PadAttribute{0, 2, 0}, {{{5, 1, 5}}}});
    cases.push_back({Op::pad, {{Range::wide, shape}}, PadAttribute{1, 1, 3}, {{{3, 5, 5}}}});
    cases.push_back({Op::pad, {{Range::wide, shape}}, PadAttribute{2, 0, 17}, {{{3, 1, 22}}}});
    cases.push_back(
        {Op::pad, {{Range::boolean, {3}}}, PadAttribute{0, 0, 0}, {{{3}, ValueType::boolean}}});
    for (int axis = 0; axis < 3; ++axis) {
        std::array<std::int64_t, 3> extents{2, 3, 4};
        std::vector<OperandCase> parts;
        std::int64_t total = 0;
        for (const std::int64_t extent : {1, 3, 2}) {
            extents[static_cast<std::size_t>(axis)] = extent;
            parts.push_back({Range::wide, Shape(extents)});
            extents[static_cast<std::size_t>(axis)] = total += extent;
            cases.push_back({Op::concat, parts, AxisAttribute{axis, false}, {{Shape(extents)}}});
        }
    }
    cases.push_back({Op::concat,
                     {{Range::integers, {17}}, {Range::integers, {65}}},
                     AxisAttribute{0, false},
                     {{{82}, ValueType::integer}}});
}

void add_matmul(Cases& cases) {
    struct Sizes {
        Shape left_batch, right_batch, batch;
        std::int64_t m, k, n;
    };
    const auto matrix = [](const Shape& batch, std::int64_t rows, std::int64_t columns) {
        std::vector<std::int64_t> extents(batch.extents().begin(), batch.extents().end());
        extents.insert(extents.end(), {rows, columns});
        return Shape(std::span<const std::int64_t>(extents));
    };
    for (const auto& [left, right, batch, m, k, n] :
         {Sizes{{}, {}, {}, 1, 1, 1}, Sizes{{}, {}, {}, 3, 17, 5}, Sizes{{}, {}, {}, 17, 65, 3},
          Sizes{{}, {}, {}, 1, 65, 17}, Sizes{{2}, {}, {2}, 3, 4, 5}, Sizes{{}, {2}, {2}, 3, 4, 5},
          Sizes{{2, 1}, {3}, {2, 3}, 1, 3, 2}, Sizes{{2, 3}, {2, 1}, {2, 3}, 3, 2, 1},
          Sizes{{}, {}, {}, 2, 0, 3}})
        for (const bool transpose_left : {false, true})
            for (const bool transpose_right : {false, true})
                cases.push_back(
                    {Op::matmul,
                     {{Range::wide, transpose_left ? matrix(left, k, m) : matrix(left, m, k)},
                      {Range::wide, transpose_right ? matrix(right, n, k) : matrix(right, k, n)}},
                     MatmulAttribute{transpose_left, transpose_right},
                     {{matrix(batch, m, n)}}});
}

void add_indexing(Cases& cases) {
    cases.push_back({Op::gather, {{Range::wide, {5}}, {Range::index, {}, 5}}, {}, {{{}}}});
    cases.push_back(
        {Op::gather, {{Range::wide, {5, 3}}, {Range::index, {17}, 5}}, {}, {{{17, 3}}}});
    cases.push_back(
        {Op::gather, {{Range::wide, {4, 2, 3}}, {Range::index, {2, 3}, 4}}, {}, {{{2, 3, 2, 3}}}});
    cases.push_back({Op::gather,
                     {{Range::boolean, {65}}, {Range::index, {3}, 65}},
                     {},
                     {{{3}, ValueType::boolean}}});
    cases.push_back(
        {Op::scatter_add, {{Range::wide, {}}, {Range::index, {}, 3}}, LengthAttribute{3}, {{{3}}}});
    cases.push_back({Op::scatter_add,
                     {{Range::wide, {17, 3}}, {Range::index, {17}, 5}},
                     LengthAttribute{5},
                     {{{5, 3}}}});
    cases.push_back({Op::scatter_add,
                     {{Range::wide, {2, 3, 4}}, {Range::index, {2, 3}, 2}},
                     LengthAttribute{2},
                     {{{2, 4}}}});
    cases.push_back({Op::scatter_add,
                     {{Range::integers, {65}}, {Range::index, {65}, 3}},
                     LengthAttribute{3},
                     {{{3}, ValueType::integer}}});
}

constexpr auto all_codes = std::ssize(activation_names);

void add_activations(Cases& cases) {
    for (const Shape& shape : odd_shapes)
        cases.push_back(
            {Op::activate, {{Range::wide, shape}, {Range::index, {}, 6}}, {}, {{shape}}});
    for (const std::int64_t code : {-1, 0, 1, 2, 3, 4, 5, 6})
        cases.push_back(
            {Op::activate, {{Range::wide, {3, 17}}, {Range::fixed, {}, code}}, {}, {{{3, 17}}}});
    for (const Shape& shape : odd_shapes)
        cases.push_back({Op::activate_any,
                         {{Range::wide, shape}, {Range::index, {}, all_codes}},
                         {},
                         {{shape}}});
    for (std::int64_t code = -1; code <= all_codes; ++code)
        cases.push_back({Op::activate_any,
                         {{Range::wide, {3, 17}}, {Range::fixed, {}, code}},
                         {},
                         {{{3, 17}}}});
}

void add_linear(Cases& cases) {
    struct Sizes {
        Shape left, right, result;
    };
    for (const auto& [left, right, result] :
         {Sizes{{1, 1}, {1, 1}, {1, 1}}, Sizes{{3, 17}, {17, 5}, {3, 5}},
          Sizes{{65, 4}, {4, 3}, {65, 3}}, Sizes{{2, 3, 4}, {4, 17}, {2, 3, 17}},
          Sizes{{2, 1, 3, 2}, {3, 2, 5}, {2, 3, 3, 5}}, Sizes{{2, 0}, {0, 3}, {2, 3}}})
        for (const bool bias : {false, true})
            for (const std::int64_t code : {-1, 0, 3, 4}) {
                const bool activation = code >= 0;
                std::vector<OperandCase> operands{{Range::wide, left}, {Range::wide, right}};
                if (bias) operands.push_back({Range::wide, {result[-1]}});
                if (activation) operands.push_back({Range::fixed, {}, code});
                cases.push_back({Op::matmul_epilogue,
                                 std::move(operands),
                                 MatmulEpilogueAttribute{{}, bias, activation},
                                 {{result}}});
            }
    cases.push_back({Op::matmul_epilogue,
                     {{Range::wide, {17, 3}},
                      {Range::wide, {5, 17}},
                      {Range::wide, {5}},
                      {Range::index, {}, 6}},
                     MatmulEpilogueAttribute{{true, true}, true, true},
                     {{{3, 5}}}});
    for (const std::int64_t code : {-1, 3, 6, 22, 23})
        cases.push_back(
            {Op::matmul_epilogue,
             {{Range::wide, {3, 17}},
              {Range::wide, {17, 5}},
              {Range::wide, {5}},
              {Range::fixed, {}, code}},
             MatmulEpilogueAttribute{
                 .product = {}, .bias = true, .activation = true, .set = ActivationSet::any},
             {{{3, 5}}}});
}

FusedAttribute chain_of(Graph body) {
    return {std::make_shared<const Graph>(std::move(body))};
}

void add_chain(Cases& cases) {
    for (const Shape& shape : {Shape{}, Shape{17}, Shape{3, 65}, Shape{2, 1, 3, 1, 2, 3}}) {
        Graph body;
        const Var x = body.input("x", ValueType::real, shape);
        const Var y = body.input("y", ValueType::real, {});
        const Var chosen = body.input("chosen", ValueType::boolean, shape);
        body.output(select(chosen, tanh(x * y) - 0.5, exp(x) / (square(y) + 2.0)));
        cases.push_back({Op::fused,
                         {{Range::wide, shape}, {Range::wide, {}}, {Range::boolean, shape}},
                         chain_of(std::move(body)),
                         {{shape}}});
    }
    for (const Shape& shape : {Shape{1}, Shape{17}, Shape{3, 257}, Shape{2, 3, 5}}) {
        Graph body;
        const Var x = body.input("x", ValueType::real, shape);
        const Var y = body.input("y", ValueType::real, shape);
        const Var shifted = exp(x * y - reduce_max(x * y, -1, true));
        body.output(shifted / reduce_sum(shifted, -1, true) + y);
        cases.push_back({Op::fused,
                         {{Range::wide, shape}, {Range::wide, shape}},
                         chain_of(std::move(body)),
                         {{shape}}});
    }
}

}  // namespace

ValueType OperandCase::type() const {
    if (range == Range::boolean) return ValueType::boolean;
    return range >= Range::integers ? ValueType::integer : ValueType::real;
}

std::string OpCase::label() const {
    std::string text(name(op));
    for (const OperandCase& operand : operands)
        text += " " + std::string(name(operand.type())) + operand.shape.text();
    for (const ResultCase& result : results) text += " -> " + result.shape.text();
    return text;
}

bool OpCase::differentiable() const {
    const auto* epilogue = std::get_if<MatmulEpilogueAttribute>(&attributes);
    const auto* conv = std::get_if<ConvAttribute>(&attributes);
    return op_info(op).differentiable && (epilogue == nullptr || !epilogue->packed) &&
           (conv == nullptr || !conv->packed);
}

std::vector<OpCase> op_cases() {
    Cases cases = scan_cases();
    std::ranges::move(order_cases(), std::back_inserter(cases));
    std::ranges::move(attention_cases(), std::back_inserter(cases));
    std::ranges::move(window_cases(), std::back_inserter(cases));
    std::ranges::move(selective_scan_cases(), std::back_inserter(cases));
    std::ranges::move(format_cases(), std::back_inserter(cases));
    std::ranges::move(interpret_cases(), std::back_inserter(cases));
    for (auto* add : {add_sources, add_unary, add_binary, add_reductions, add_reshapes, add_pieces,
                      add_matmul, add_indexing, add_activations, add_linear, add_chain})
        add(cases);
    return cases;
}

Tensor draw_operand(const OperandCase& operand, std::uint64_t seed) {
    Tensor tensor(operand.type(), operand.shape);
    if (operand.range == Range::given) {
        tensor.elements.assign(operand.elements.begin(), operand.elements.end());
        return tensor;
    }
    RandomStream rng(random_key(seed, "operand"), 0);
    for (double& element : tensor.elements) {
        const float u = rng.uniform();
        const float side = rng.chance(0.5F) ? 1.0F : -1.0F;
        switch (operand.range) {
            case Range::wide:
            case Range::packed:
                element = static_cast<double>(4.0F * u - 2.0F);
                break;
            case Range::positive:
                element = static_cast<double>(0.5F + 2.0F * u);
                break;
            case Range::nonzero:
                element = static_cast<double>(side * (0.5F + 2.0F * u));
                break;
            case Range::off_grid:
                element = static_cast<double>(static_cast<float>(rng.index(6)) - 2.9F + 0.3F * u);
                break;
            case Range::integers:
                element = static_cast<double>(rng.index(100)) - 50.0;
                break;
            case Range::one_digit:
                element = static_cast<double>(side) * (1.0 + rng.index(9));
                break;
            case Range::index:
                element = rng.index(static_cast<std::uint32_t>(operand.bound));
                break;
            case Range::fixed:
                element = static_cast<double>(operand.bound);
                break;
            case Range::given:
                break;
            case Range::boolean:
                element = rng.chance(0.5F) ? 1.0 : 0.0;
                break;
        }
    }
    for (std::size_t i = 0; operand.range == Range::packed && i < operand.elements.size(); ++i)
        if (operand.elements[i] != 0) tensor.elements[i] = -0.0;
    return tensor;
}

}  // namespace cambrian::test
