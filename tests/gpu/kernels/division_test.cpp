#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/gpu/codegen/rows/row_source.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Division of integers: toward zero, and a divisor of zero is the same InputError wherever it is.
namespace cambrian::division_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::int64_t population = 3;

/// One backend of each kind, made once: some drivers open only so many devices in a process.
class IntegerDivision : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        VulkanOptions unfused = test::test_vulkan_options();
        unfused.fuse = false;
        backends_ = new Backends{make_reference_backend(Precision::f32),
                                 make_reference_backend(Precision::f64), make_cpu_backend({}),
                                 make_vulkan_backend(test::test_vulkan_options()),
                                 make_vulkan_backend(unfused)};
    }
    static void TearDownTestSuite() { delete backends_; }

    using Backends = std::array<std::unique_ptr<Backend>, 5>;
    static const Backends& backends() { return *backends_; }

    /// Runs x / y with individuals of four elements: y holds the divisors of each.
    static std::vector<double> run(Backend& backend, const Graph& graph,
                                   std::vector<double> divisors) {
        const Tensor x(ValueType::integer, Shape{population, 4},
                       {7, -7, 9, 1, 7, -7, 9, 1, 7, -7, 9, 1});
        const Tensor y(ValueType::integer, Shape{population, 4}, std::move(divisors));
        return evaluate(backend, graph, population, std::array{x, y})[0].elements;
    }

    static void expect_checked(const Graph& graph) {
        std::vector<double> divisors{1, 2, 3, 4, -1, -2, -3, -4, 5, 6, 7, 8};
        const std::vector<double> expected = run(*backends()[0], graph, divisors);
        for (const auto& backend : backends()) {
            SCOPED_TRACE(backend->describe().kind);
            EXPECT_EQ(run(*backend, graph, divisors), expected);
            for (const std::size_t zero : {0U, 6U, 11U}) {
                std::vector<double> wrong = divisors;
                wrong[zero] = 0;
                EXPECT_THAT([&] { run(*backend, graph, wrong); },
                            ThrowsMessage<InputError>(HasSubstr("integer division by zero")));
            }
            EXPECT_EQ(run(*backend, graph, divisors), expected) << "after an error";
        }
    }

  private:
    static inline const Backends* backends_ = nullptr;
};

struct Operands {
    Var x, y;
};
Operands operands_of(Graph& graph, bool own = true) {
    return {graph.input("x", ValueType::integer, {4}, own),
            graph.input("y", ValueType::integer, {4}, own)};
}

TEST_F(IntegerDivision, AloneIsChecked) {
    Graph graph;
    const auto [x, y] = operands_of(graph);
    graph.output(x / y);
    expect_checked(graph);
}

TEST_F(IntegerDivision, BesideOpsThatFuseIsChecked) {
    Graph graph;
    const auto [x, y] = operands_of(graph);
    graph.output(abs((x * 3.0 + 1.0) / (y * 2.0)) - 5.0);
    expect_checked(graph);
}

/// Carries x, divided in every step; scatter_add has no text for kernels that walk rows.
Graph division_in_a_scan(bool scattered) {
    Graph body;
    const auto [x, y] = operands_of(body, false);
    const Var quotient = x / y + 3.0;
    body.output(scattered ? scatter_add(quotient, iota(body, 4), 4) : quotient);
    Graph graph;
    const auto outer = operands_of(graph);
    graph.output(scan(std::move(body), std::array{outer.x}, {}, std::array{outer.y}, {.length = 3})
                     .carries[0]);
    return graph;
}

/// Whether the scan of the graph becomes one kernel that walks rows.
bool is_row_kernel(const Graph& graph) {
    const auto scan = std::ranges::find(graph.nodes(), Op::scan, &Node::op);
    const auto& attribute = std::get<ScanAttribute>(scan->attributes);
    return gpu::analyse_rows(gpu::lower_row_body(attribute), {}).obstacle.empty();
}

TEST_F(IntegerDivision, InAScanByRowsIsChecked) {
    const Graph graph = division_in_a_scan(false);
    EXPECT_TRUE(is_row_kernel(graph));
    expect_checked(graph);
}

TEST_F(IntegerDivision, InAScanStepByStepIsChecked) {
    const Graph graph = division_in_a_scan(true);
    EXPECT_FALSE(is_row_kernel(graph));
    expect_checked(graph);
}

TEST_F(IntegerDivision, ByAnotherNumberThanZeroFuses) {
    Graph graph;
    const auto [x, y] = operands_of(graph);
    graph.output((x + y) / 3.0 - 1.0);
    const Graph fused = fuse_elementwise(graph, {});
    EXPECT_TRUE(std::ranges::all_of(fused.nodes(), [](const Node& node) {
        return node.op == Op::input || node.op == Op::fused;
    }));
    const std::vector<double> divisors(12, 2);
    const std::vector<double> expected{2, -2, 2, 0, 2, -2, 2, 0, 2, -2, 2, 0};
    for (const auto& backend : backends())
        EXPECT_EQ(run(*backend, graph, divisors), expected) << backend->describe().kind;
}

TEST_F(IntegerDivision, ByTheNumberZeroIsAnError) {
    Graph graph;
    const auto [x, y] = operands_of(graph);
    graph.output((x + y) / 0.0);
    for (const auto& backend : backends())
        EXPECT_THAT([&] { run(*backend, graph, std::vector<double>(12, 2)); },
                    ThrowsMessage<InputError>(HasSubstr("integer division by zero")))
            << backend->describe().kind;
}

TEST_F(IntegerDivision, OfNothingIsNoError) {
    Graph graph;
    const Var x = graph.input("x", ValueType::integer, {0, 4});
    const Var y = graph.input("y", ValueType::integer, {4});
    graph.output(x / y);
    const std::array inputs{Tensor(ValueType::integer, Shape{0, 4}),
                            Tensor(ValueType::integer, Shape{4})};
    for (const auto& backend : backends())
        EXPECT_TRUE(evaluate(*backend, graph, 1, inputs)[0].elements.empty());
}

TEST_F(IntegerDivision, InAFusionGroupOfTheCallerIsRejected) {
    Graph body;
    const auto [x, y] = operands_of(body, false);
    body.output(x / y);
    Graph graph;
    const auto outer = operands_of(graph);
    const FusedAttribute fused{std::make_shared<const Graph>(std::move(body))};
    EXPECT_THAT(
        [&] {
            graph.add(Op::fused, std::array{outer.x, outer.y}, fused);
        },
        ThrowsMessage<ShapeError>(HasSubstr("divides integers")));
}

TEST_F(IntegerDivision, HasTheBitsOfTheCpuForAllKindsOfIntegers) {
    test::Words words{0x80000000U, 0x80000001U, 0x7FFFFFFFU, 0xFFFFFFFFU};
    for (const std::uint32_t x : {1U, 2U, 3U, 7U, 100U, 65535U, 65536U, 16777217U}) {
        words.push_back(x);
        words.push_back(0U - x);
    }
    test::Words left{0U, 0U};
    test::Words right{1U, 0xFFFFFFFFU};
    for (const std::uint32_t a : words)
        for (const std::uint32_t b : words) {
            left.push_back(a);
            right.push_back(b);
        }
    const test::Words hashed = test::hashed_words(200000, 1);
    left.insert(left.end(), hashed.begin(), hashed.end());
    for (const std::uint32_t word : test::hashed_words(hashed.size(), 2))
        right.push_back((word >> (word % 32U)) | 1U);
    const Shape shape{static_cast<std::int64_t>(left.size())};
    Graph graph;
    const Var x = graph.input("x", ValueType::integer, shape);
    const Var y = graph.input("y", ValueType::integer, shape);
    graph.output(x / y);
    test::expect_equal_to_cpu(*backends()[4], graph, 1, {left, right}, "div");
}

}  // namespace
}  // namespace cambrian::division_test
