#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <iostream>
#include <limits>
#include <set>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/op_conformance.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/op_types.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// The Vulkan backend against the op table: strict math in every bit, fast math within rounding.
namespace cambrian::test::vulkan_op_test {
namespace {

VulkanOptions unfused(Math math) {
    VulkanOptions options = test_vulkan_options(math);
    options.fuse = false;
    return options;
}

/// Backends that all tests share, so that they share pipelines. The cases of the op table run op by
/// op: fused, nearly every case would be a kernel of its own, which says little about its op.
class VulkanConformance : public testing::Test {
  protected:
    static void SetUpTestSuite() { backends_ = new Backends; }
    static void TearDownTestSuite() {
        // Drivers compile slowly: shapes and counts must never be part of a pipeline.
        for (const Backend* backend :
             {backends_->strict.get(), backends_->fast.get(), backends_->fused.get()}) {
            const std::int64_t pipelines = vulkan_statistics(*backend).pipelines;
            std::cout << pipelines << " pipelines for all ops with " << backend->describe().math
                      << " math\n";
            EXPECT_LE(pipelines, 300);
        }
        delete backends_;
    }

    static Backend& strict() { return *backends_->strict; }
    static Backend& fast() { return *backends_->fast; }
    static Backend& fused() { return *backends_->fused; }

  private:
    struct Backends {
        std::unique_ptr<Backend> strict = make_vulkan_backend(unfused(Math::strict));
        std::unique_ptr<Backend> fast = make_vulkan_backend(unfused(Math::fast));
        std::unique_ptr<Backend> fused = make_vulkan_backend(test_vulkan_options(Math::strict));
    };
    static inline Backends* backends_ = nullptr;
};

/// Whoever interprets networks has one for each individual, or one for all: each other way to share
/// its operands would be one more kernel for every case. The kernels of long programs take longest
/// to compile: those have one way by day.
PopulationVariants variants_of(const OpCase& op_case) {
    PopulationVariants variants = population_variants(op_case);
    if (op_case.op == Op::interpret)
        variants.resize(all_cases() || op_case.operands.front().shape.elements() < 100 ? 2 : 1);
    return variants;
}

/// Of those cases that `sampled` says, the first of every op and each nth of the others; all at
/// night.
template <class Sampled>
std::vector<OpCase> sample(std::vector<OpCase> cases, std::size_t nth, const Sampled& sampled) {
    if (all_cases()) return cases;
    std::set<Op> seen;
    std::size_t number = 0;
    std::erase_if(cases, [&](const OpCase& op_case) {
        return !seen.insert(op_case.op).second && sampled(op_case) && ++number % nth != 0;
    });
    return cases;
}

/// Whether a case has kernels of its own, which the software device takes seconds to compile.
bool has_own_kernels(const OpCase& op_case) {
    const auto* conv = std::get_if<ConvAttribute>(&op_case.attributes);
    return op_case.op == Op::interpret || op_case.op == Op::packed_matmul ||
           (conv != nullptr && conv->packed && conv->packed->dtype != Dtype::uint4);
}

/// The cases of every op, of those with kernels of their own a sample; a convolution of codes
/// stays.
std::vector<OpCase> cases_of_all_ops() {
    return sample(op_cases(), 20, has_own_kernels);
}

/// Fewer of them, and by day of elementwise ops every sixth: they are the same kernel in both math
/// modes, and none of their elements sees another.
std::vector<OpCase> few_cases() {
    std::vector<OpCase> cases = sample(cases_of_all_ops(), 3, [](const OpCase&) { return true; });
    std::size_t elementwise = 0;
    if (!all_cases())
        std::erase_if(cases, [&](const OpCase& op_case) {
            return is_elementwise(op_case.op) && elementwise++ % 6 != 0;
        });
    return cases;
}

TEST_F(VulkanConformance, StrictMathEqualsTheReferenceInEveryBit) {
    for (const OpCase& op_case : cases_of_all_ops())
        expect_equal_to_reference(strict(), op_case, 0.0, variants_of(op_case));
}

TEST_F(VulkanConformance, FastMathIsWithinRoundingOfTheReference) {
    for (const OpCase& op_case : few_cases())
        expect_equal_to_reference(fast(), op_case, 1e-5, variants_of(op_case));
}

TEST_F(VulkanConformance, StrictIndividualsDoNotDependOnTheirPopulation) {
    for (const OpCase& op_case : few_cases())
        expect_batch_independent(strict(), op_case, variants_of(op_case));
}

TEST_F(VulkanConformance, FastIndividualsDoNotDependOnTheirPopulation) {
    for (const OpCase& op_case : few_cases())
        expect_batch_independent(fast(), op_case, variants_of(op_case));
}

TEST_F(VulkanConformance, ScansOfOneKernelEqualTheReferenceInEveryBit) {
    constexpr std::int64_t population = 7;
    const auto reference = make_reference_backend(Precision::f32);
    for (const OpCase& op_case : op_cases()) {
        if (op_case.op != Op::scan) continue;
        SCOPED_TRACE(op_case.label());
        const std::vector<std::size_t> own = population_variants(op_case).front();
        const Graph graph = vmap(case_graph(op_case, false), own);
        const std::vector<Tensor> inputs = case_inputs(graph, op_case, population);
        const std::vector<Tensor> actual = evaluate(fused(), graph, population, inputs);
        const std::vector<Tensor> expected = evaluate(*reference, graph, population, inputs);
        for (std::size_t i = 0; i < actual.size(); ++i)
            expect_elements_equal(actual[i].elements, expected[i].elements, 0.0);
    }
}

/// Inputs of a graph for a population, drawn as for the cases of the op table.
std::vector<Tensor> draw_inputs(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs()) {
        const ValueInfo& info = graph.value(id);
        std::vector<std::int64_t> extents;
        if (info.per_individual) extents.push_back(population);
        extents.insert(extents.end(), info.shape.extents().begin(), info.shape.extents().end());
        const Range range = info.type == ValueType::real ? Range::wide : Range::boolean;
        inputs.push_back(
            draw_operand({range, Shape(std::span<const std::int64_t>(extents))}, inputs.size()));
        inputs.back().type = info.type;
    }
    return inputs;
}

void expect_bits_of_the_cpu(Backend& backend, const Graph& graph, std::int64_t population) {
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    const std::vector<Tensor> inputs = draw_inputs(graph, population);
    const std::vector<Tensor> actual = evaluate(backend, graph, population, inputs);
    const std::vector<Tensor> expected = evaluate(*cpu, graph, population, inputs);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i));
        expect_elements_equal(actual[i].elements, expected[i].elements, 0.0);
    }
}

TEST_F(VulkanConformance, OddShapesGiveTheBitsOfTheCpu) {
    for (const std::int64_t rows : {1, 3, 17, 65, 257})
        for (const std::int64_t width : {1, 17, 257}) {
            SCOPED_TRACE((Shape{rows, width}.text()));
            Graph graph;
            const Var x = graph.input("x", ValueType::real, {rows, width});
            const Var w = graph.input("w", ValueType::real, {width, 5}, true);
            const Var bias = graph.input("bias", ValueType::real, {rows, 1}, true);
            graph.output(tanh(matmul(x, w) + bias));
            graph.output(softmax(x * bias));
            graph.output(reduce_sum(x + bias, 0));
            graph.output(reduce_max(x * bias, 1));
            graph.output(argmax(x * bias, 0));
            graph.output(concat(std::array{x * bias, x, slice(x, 1, 0, 1)}, 1));
            graph.output(pad(permute(w, {1, 0}), 1, 2, 1));
            graph.output(matmul(x + bias, x, true, false));
            expect_bits_of_the_cpu(fused(), graph, 3);
        }
}

TEST_F(VulkanConformance, EveryRankAndEveryAxisBroadcasts) {
    const std::vector<std::int64_t> extents{2, 3, 1, 4, 2, 3};
    for (std::size_t rank = 0; rank <= extents.size(); ++rank) {
        const std::span<const std::int64_t> all = std::span(extents).first(rank);
        for (std::size_t axis = 0; axis <= rank; ++axis) {
            std::vector<std::int64_t> narrow(all.begin(), all.end());
            if (axis < rank) narrow[axis] = 1;
            SCOPED_TRACE(Shape(all).text() + " by " +
                         Shape(std::span<const std::int64_t>(narrow)).text());
            Graph graph;
            const Var x = graph.input("x", ValueType::real, Shape(all), axis % 2 == 0);
            const Var y = graph.input("y", ValueType::real,
                                      Shape(std::span<const std::int64_t>(narrow)), true);
            const Var chosen =
                graph.input("chosen", ValueType::boolean, Shape(all.subspan(rank / 2)), true);
            graph.output(x - y);
            graph.output(select(chosen, x, y));
            graph.output(exp(x) / (y + 3.0));
            if (axis < rank) graph.output(reduce_sum(x * y, static_cast<int>(axis)));
            expect_bits_of_the_cpu(fused(), graph, 3);
        }
    }
}

TEST_F(VulkanConformance, MoreWorkgroupsThanADispatchHasGiveTheSameBits) {
    // 4.3 million elements for kernels of 64 threads that each compute one.
    const std::int64_t population = 66000;
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {65}, true);
    const Var y = graph.input("y", ValueType::real, {65});
    graph.output(x * y);
    graph.output(reduce_max(x, 0));
    graph.output(slice(x, 0, 3, 1));
    expect_bits_of_the_cpu(strict(), graph, population);
}

std::vector<bool> signs_of_zeros(const Tensor& tensor) {
    std::vector<bool> signs;
    for (const double element : tensor.elements)
        if (element == 0.0) signs.push_back(std::signbit(element));
    return signs;
}

TEST_F(VulkanConformance, AllFloatClassesPassElementwiseOpsLikeOnTheCpu) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {17});
    const Var column = reshape(x, {17, 1});
    for (const OpInfo& op : op_table()) {
        if (!is_elementwise(op.op) || op.op == Op::cast) continue;
        if (op.arity == 1 && takes(op, {ValueType::real}))
            graph.output(graph.add(op.op, std::array{x}));
        if (op.arity == 2 && takes(op, {ValueType::real, ValueType::real}))
            graph.output(graph.add(op.op, std::array{column, x}));
    }
    const double huge = 3.4e38;
    const double infinity = std::numeric_limits<double>::infinity();
    const Tensor values(ValueType::real, {17},
                        {0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-38, 1e-40, -1e-45, 1e30, -1e30, huge,
                         -huge, 100.5, infinity, -infinity, std::nan("")});
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto expected = evaluate(*cpu, graph, 1, std::array{values});
    for (Backend* backend : {&strict(), &fast()}) {
        const auto actual = evaluate(*backend, graph, 1, std::array{values});
        for (std::size_t i = 0; i < expected.size(); ++i) {
            SCOPED_TRACE("output " + std::to_string(i));
            expect_elements_equal(actual[i].elements, expected[i].elements, 0.0);
            EXPECT_EQ(signs_of_zeros(actual[i]), signs_of_zeros(expected[i]));
        }
    }
}

}  // namespace
}  // namespace cambrian::test::vulkan_op_test
