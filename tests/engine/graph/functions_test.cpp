#include "cambrian/engine/graph/builders/builders.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/tests/engine/graph/function_support.hpp"

namespace cambrian::functions_test {
namespace {

using test::booleans;
using test::expect_gradients;
using test::integers;
using test::reals;
using test::value_of;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;
using ::testing::ThrowsMessage;

using Vars = std::span<const Var>;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double not_a_number = std::nan("");
constexpr double lowest_integer = std::numeric_limits<std::int32_t>::min();
constexpr double highest_integer = std::numeric_limits<std::int32_t>::max();

std::vector<double> of(Var (*function)(Var, Where), const Tensor& x) {
    return value_of([&](Vars v) { return function(v[0], Where::current()); }, {x}).elements;
}
std::vector<double> of(Var (*function)(Var, Var, Where), const Tensor& a, const Tensor& b) {
    return value_of([&](Vars v) { return function(v[0], v[1], Where::current()); }, {a, b})
        .elements;
}

TEST(Functions, CeilIsTheIntegerAbove) {
    EXPECT_THAT(of(ceil, reals({-1.5, -1.0, -0.2, 0.0, 0.2, 3.0})),
                ElementsAre(-1, -1, 0, 0, 1, 3));
}

TEST(Functions, ClampLimitsAndKeepsNan) {
    const auto clamped = [](Vars v) { return clamp(v[0], -1.0, 2.0); };
    EXPECT_THAT(
        value_of(clamped, {reals({-3, -1, 0.5, 2, infinity, -infinity, not_a_number})}).elements,
        ElementsAre(-1, -1, 0.5, 2, 2, -1, IsNan()));
    EXPECT_THAT(value_of(clamped, {integers({-3, 1, 5})}).elements, ElementsAre(-1, 1, 2));
}

TEST(Functions, TheGradientOfClampPassesOnItsBounds) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5});
    graph.output(gradient(sum_all(clamp(x, -1.0, 2.0)), std::array{x})[0]);
    const auto backend = make_reference_backend(Precision::f64);
    EXPECT_THAT(evaluate(*backend, graph, 1, std::array{reals({-1.5, -1, 0, 2, 2.5})})[0].elements,
                ElementsAre(0, 1, 1, 1, 0));
}

TEST(Functions, ClampRejectsBoundsThatEncloseNothing) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5});
    const Var n = graph.input("n", ValueType::integer, {5});
    EXPECT_THAT([&] { clamp(x, 2.0, 1.0); }, ThrowsMessage<ShapeError>(HasSubstr("enclose")));
    EXPECT_THROW(clamp(x, not_a_number, 1.0), ShapeError);
    EXPECT_THROW(clamp(x, 0.0, not_a_number), ShapeError);
    EXPECT_THAT([&] { clamp(n, 0.5, 3.0); }, ThrowsMessage<ShapeError>(HasSubstr("32-bit")));
    EXPECT_THROW(clamp(n, 0.0, 1e10), ShapeError);
}

TEST(Functions, ComparisonsWithNanAreFalse) {
    const Tensor a = reals({1, 2, 3, not_a_number, 1, not_a_number});
    const Tensor b = reals({2, 2, 2, 2, not_a_number, not_a_number});
    EXPECT_THAT(of(less_equal, a, b), ElementsAre(1, 1, 0, 0, 0, 0));
    EXPECT_THAT(of(greater, a, b), ElementsAre(0, 0, 1, 0, 0, 0));
    EXPECT_THAT(of(greater_equal, a, b), ElementsAre(0, 1, 1, 0, 0, 0));
    EXPECT_THAT(of(not_equal, a, b), ElementsAre(1, 0, 1, 1, 1, 1));
}

TEST(Functions, XorIsOneOfTwo) {
    EXPECT_THAT(of(logical_xor, booleans({0, 0, 1, 1}), booleans({0, 1, 0, 1})),
                ElementsAre(0, 1, 1, 0));
}

TEST(Functions, MinimaOfRealsAndIntegers) {
    const auto smallest = [](Vars v) { return reduce_min(v[0], -1); };
    const auto position = [](Vars v) { return argmin(v[0], 0); };
    EXPECT_THAT(value_of(smallest, {reals({3, -2, 7, -2})}).elements, ElementsAre(-2));
    EXPECT_THAT(value_of(position, {reals({3, -2, 7, -2})}).elements, ElementsAre(1));
    const Tensor ends = integers({0, lowest_integer, highest_integer});
    EXPECT_THAT(value_of(smallest, {ends}).elements, ElementsAre(lowest_integer));
    EXPECT_THAT(value_of(position, {ends}).elements, ElementsAre(1));
    EXPECT_THAT(value_of(smallest, {integers({highest_integer, 5})}).elements, ElementsAre(5));
    expect_gradients(smallest, {reals({2, 3}, {3, -2, 7, 0.5, 4, 1})});
}

TEST(Functions, AnyAndAllOfNothingAreTheirNeutralElements) {
    const auto any = [](Vars v) { return reduce_any(v[0], 0); };
    const auto all = [](Vars v) { return reduce_all(v[0], 0, true); };
    EXPECT_THAT(value_of(any, {booleans({0, 1, 0})}).elements, ElementsAre(1));
    EXPECT_THAT(value_of(any, {booleans({0, 0})}).elements, ElementsAre(0));
    EXPECT_THAT(value_of(all, {booleans({1, 1})}).elements, ElementsAre(1));
    EXPECT_THAT(value_of(all, {booleans({1, 0, 1})}).elements, ElementsAre(0));
    EXPECT_THAT(value_of(any, {booleans({})}).elements, ElementsAre(0));
    EXPECT_THAT(value_of(all, {booleans({})}).elements, ElementsAre(1));
    Graph graph;
    EXPECT_THROW(reduce_any(graph.input("x", ValueType::real, {3}), 0), ShapeError);
}

TEST(Functions, ActivationsHaveTheirValuesAtTheEnds) {
    const Tensor x = reals({-infinity, -800, 0, 800, infinity, not_a_number});
    const double ln_2 = std::numbers::ln2;
    EXPECT_THAT(of(softplus, x), ElementsAre(0, 0, ln_2, 800, infinity, IsNan()));
    const auto with_defaults = [&](Var (*function)(Var, double, Where), double parameter) {
        return value_of([&](Vars v) { return function(v[0], parameter, Where::current()); }, {x})
            .elements;
    };
    EXPECT_THAT(with_defaults(leaky_relu, 0.5),
                ElementsAre(-infinity, -400, 0, 800, infinity, IsNan()));
    EXPECT_THAT(with_defaults(elu, 2.0), ElementsAre(-2, -2, 0, 800, infinity, IsNan()));
    EXPECT_THAT(with_defaults(clipped_relu, 6.0), ElementsAre(0, 0, 0, 6, 6, IsNan()));
    const double below_one = 0.5 * (1.0 + std::erf(std::numbers::sqrt2 / 2.0));
    EXPECT_THAT(
        of(exact_gelu, reals({0, 1, -1, 30})),
        ElementsAre(0, DoubleNear(below_one, 1e-15), DoubleNear(below_one - 1.0, 1e-15), 30));
}

TEST(Functions, ActivationsHaveTheGradientsOfTheirValues) {
    const Tensor x = reals({-30, -3, -0.7, -1e-3, 1e-3, 0.4, 2, 5.5, 40});
    expect_gradients([](Vars v) { return softplus(v[0]); }, {x});
    expect_gradients([](Vars v) { return leaky_relu(v[0]); }, {x});
    expect_gradients([](Vars v) { return elu(v[0], 1.3); }, {x});
    expect_gradients([](Vars v) { return clipped_relu(v[0]); }, {x});
    expect_gradients([](Vars v) { return exact_gelu(v[0]); }, {x});
    // Where x and -x meet, the slope of softplus is still the sigmoid's.
    expect_gradients([](Vars v) { return softplus(v[0]); }, {reals({0.0})});
}

TEST(Functions, MseIsTheMeanOfSquares) {
    const auto loss = [](Vars v) { return mse(v[0], v[1]); };
    EXPECT_THAT(value_of(loss, {reals({1, 2, 3}), reals({1, 4, 0})}).elements,
                ElementsAre(DoubleNear(13.0 / 3.0, 1e-15)));
    expect_gradients(loss, {reals({1, 2, 3}), reals({1, 4, 0})});
}

TEST(Functions, TileRepeatsAnAxisAndRepeatEachItsElements) {
    const Tensor x = reals({2, 3}, {1, 2, 3, 4, 5, 6});
    const Tensor rows = value_of([](Vars v) { return tile(v[0], 0, 2); }, {x});
    EXPECT_EQ(rows.shape, (Shape{4, 3}));
    EXPECT_THAT(rows.elements, ElementsAre(1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6));
    EXPECT_THAT(value_of([](Vars v) { return tile(v[0], -1, 2); }, {x}).elements,
                ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
    EXPECT_THAT(value_of([](Vars v) { return repeat_each(v[0], 0, 2); }, {x}).elements,
                ElementsAre(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
    EXPECT_THAT(value_of([](Vars v) { return repeat_each(v[0], 1, 2); }, {x}).elements,
                ElementsAre(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
    const Tensor deep = reals({1, 2, 1, 2, 1, 1, 1, 1}, {1, 2, 3, 4});
    EXPECT_EQ(value_of([](Vars v) { return tile(v[0], 3, 3); }, {deep}).shape,
              (Shape{1, 2, 1, 6, 1, 1, 1, 1}));
    expect_gradients([](Vars v) { return tile(v[0], 1, 3); }, {x});
    expect_gradients([](Vars v) { return repeat_each(v[0], 0, 3); }, {x});
    Graph graph;
    const Var flat = graph.input("x", ValueType::real, {3});
    EXPECT_THAT([&] { tile(flat, 0, 0); }, ThrowsMessage<ShapeError>(HasSubstr("0 times")));
    EXPECT_THAT([&] { repeat_each(flat, 1, 2); }, ThrowsMessage<ShapeError>(HasSubstr("axis 1")));
}

TEST(Functions, CosinesAreThoseOfTheAngles) {
    const auto cosines = [](Vars v) { return cosine_similarity(v[0], v[1]); };
    const Tensor a = reals({3, 2}, {3, 0, 1e-30, 1e-30, 0, 0});
    const Tensor b = reals({2, 2}, {1e30, 1e30, -2, 0});
    const double diagonal = std::numbers::sqrt2 / 2.0;
    EXPECT_THAT(value_of(cosines, {a, b}).elements,
                Pointwise(DoubleNear(1e-15), {diagonal, -1.0, 1.0, -diagonal, 0.0, 0.0}));
    expect_gradients(cosines, {reals({2, 3}, {1, 2, -3, 0.5, 4, 1}), reals({1, 3}, {2, -1, 0.3})});
}

TEST(Functions, ARowOfZerosHasNoGradientOfItsCosine) {
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {1, 2});
    const Var b = graph.input("b", ValueType::real, {1, 2});
    for (const Var g : gradient(sum_all(cosine_similarity(a, b)), std::array{a, b}))
        graph.output(g);
    const auto backend = make_reference_backend(Precision::f64);
    const std::array inputs{reals({1, 2}, {0, 0}), reals({1, 2}, {3, 4})};
    const auto gradients = evaluate(*backend, graph, 1, inputs);
    EXPECT_THAT(gradients[0].elements, ElementsAre(0, 0));
    EXPECT_THAT(gradients[1].elements, ElementsAre(0, 0));
}

TEST(Functions, HadamardIsItsOwnInverse) {
    const auto transform = [](Vars v) { return hadamard(v[0]); };
    const auto twice = [](Vars v) { return hadamard(hadamard(v[0])); };
    EXPECT_THAT(value_of(transform, {reals({1, 2, 3, 4})}).elements, ElementsAre(5, -1, -2, 0));
    EXPECT_THAT(value_of(transform, {reals({7})}).elements, ElementsAre(7));
    for (const std::int64_t n : {1, 2, 64, 128, 8192}) {
        std::vector<double> values;
        for (std::int64_t i = 0; i < 3 * n; ++i) values.push_back(std::sin(static_cast<double>(i)));
        const Tensor x = reals(Shape{3, n}, values);
        EXPECT_THAT(value_of(twice, {x}).elements, Pointwise(DoubleNear(1e-13), values)) << n;
    }
    // Element i of the transform of a unit vector tells which bits i and its position share.
    std::vector<double> unit(256, 0.0);
    unit[0b10100101] = 16.0;
    const Tensor signs = value_of(transform, {reals(unit)});
    for (unsigned i = 0; i < 256; ++i)
        EXPECT_EQ(signs.elements[i], std::popcount(i & 0b10100101U) % 2 == 0 ? 1.0 : -1.0) << i;
    expect_gradients(transform, {reals({2, 4}, {1, 2, 3, 4, -1, 0.5, 2, 0})});
    Graph graph;
    EXPECT_THAT([&] { hadamard(graph.input("x", ValueType::real, {3})); },
                ThrowsMessage<ShapeError>(HasSubstr("power of two")));
}

TEST(Functions, PowersHaveFiniteGradientsAtZero) {
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {4});
    const Var b = graph.input("b", ValueType::real, {4});
    for (const Var g : gradient(sum_all(pow(a, b)), std::array{a, b})) graph.output(g);
    const auto backend = make_reference_backend(Precision::f64);
    const std::array inputs{reals({0, 0, 0, -2}), reals({0, 1, 2, 3})};
    const auto gradients = evaluate(*backend, graph, 1, inputs);
    EXPECT_THAT(gradients[0].elements, ElementsAre(0, 1, 0, 12));
    EXPECT_THAT(gradients[1].elements, ElementsAre(0, 0, 0, IsNan()));
}

TEST(SumAll, CountsWhatIsSmallBesideTheSum) {
    Tensor x(ValueType::real, {4096}, std::vector<double>(4096, 1.0));
    x.elements[0] = 0x1p24;  // 2^24 + 1 is 2^24 in f32.
    const Graph graph = test::graph_of([](Vars v) { return sum_all(v[0]); }, std::array{x});
    const auto backend = make_reference_backend(Precision::f32);
    EXPECT_EQ(evaluate(*backend, graph, 1, std::array{x})[0].elements[0], 0x1p24 + 63.0 * 64.0);
}

TEST(SumAlong, CountsWhatIsSmallBesideTheSumInGradientsOfWhatIsRepeated) {
    Tensor factors(ValueType::real, {4100, 1}, std::vector<double>(4100, 1.0));
    factors.elements[0] = 0x1p24;
    const Graph graph = test::graph_of(
        [](Vars v) {
            return gradient(sum_all(broadcast(v[1], {4100, 1}) * v[0]), std::array{v[1]})[0];
        },
        std::array{factors, reals({1}, {1})});
    const auto backend = make_reference_backend(Precision::f32);
    const std::array inputs{factors, reals({1}, {1})};
    EXPECT_EQ(evaluate(*backend, graph, 1, inputs)[0].elements[0], 0x1p24 + 63.0 * 64.0 + 4.0);
}

TEST(SumAlong, IsOfEveryRowWhateverTheShape) {
    for (const std::int64_t rows : {3, 1024, 1025, 4100, 70001}) {
        SCOPED_TRACE(rows);
        Tensor x(ValueType::real, {rows, 2, 1});
        std::array sums{0.0, 0.0};
        for (std::size_t i = 0; i < x.elements.size(); ++i)
            sums.at(i % 2) += x.elements[i] = static_cast<double>(i % 11) - 4.0;
        Graph graph;
        const Var v = graph.input("x", ValueType::real, x.shape);
        graph.output(sum_along(v, 0));
        graph.output(gradient(sum_all(sum_along(square(v), 0)), std::array{v})[0]);
        const auto results =
            evaluate(*make_reference_backend(Precision::f64), graph, 1, std::array{x});
        EXPECT_EQ(results[0].shape, (Shape{2, 1}));
        EXPECT_THAT(results[0].elements, ElementsAre(sums[0], sums[1]));
        for (double& element : x.elements) element *= 2.0;
        EXPECT_EQ(results[1].elements, x.elements);
    }
}

TEST(SumAll, IsOfEveryElementWhateverTheShape) {
    for (const Shape& shape : {Shape{1025}, Shape{3, 1100}, Shape{1100, 3}, Shape{70000},
                               Shape{1, 1, 1, 1, 1, 1, 2, 1030}, Shape{0, 1100}, Shape{1100, 0}}) {
        SCOPED_TRACE(shape.text());
        Tensor x(ValueType::real, shape);
        double sum = 0.0;
        for (std::size_t i = 0; i < x.elements.size(); ++i)
            sum += x.elements[i] = static_cast<double>(i % 11) - 4.0;
        Graph graph;
        const Var v = graph.input("x", ValueType::real, shape);
        graph.output(sum_all(v));
        graph.output(gradient(sum_all(square(v)), std::array{v})[0]);
        graph.output(sum_all(cast(v, ValueType::integer)));
        const auto results =
            evaluate(*make_reference_backend(Precision::f64), graph, 1, std::array{x});
        EXPECT_EQ(results[0].elements, std::vector{sum});
        EXPECT_EQ(results[2].elements, std::vector{sum});
        for (double& element : x.elements) element *= 2.0;
        EXPECT_EQ(results[1].elements, x.elements);
    }
}

TEST(SumAll, OfShortAxesIsASumOfEach) {
    Graph graph;
    sum_all(graph.input("x", ValueType::real, {1024, 1, 1024}));
    EXPECT_EQ(graph.nodes().size(), 4U) << "the input and three sums";
}

TEST(SumAll, StoresNoErrorOfWideRows) {
    const Shape wide{2000, 100};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, wide, true);
    graph.output(mean_all(square(x - graph.input("target", ValueType::real, wide))));
    const Graph optimized = optimize(
        graph, {.has_kernel = [](Op) { return true; }, .groups = FusionRules{.reductions = true}});
    for (const Node& node : optimized.nodes()) {
        const ValueInfo& result = optimized.value(ValueId{node.first_result});
        EXPECT_TRUE(node.op == Op::input || result.shape.elements() < 4000) << dump(optimized);
    }
}

}  // namespace
}  // namespace cambrian::functions_test
