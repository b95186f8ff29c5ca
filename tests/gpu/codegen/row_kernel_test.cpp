#include "cambrian/gpu/codegen/rows/row_source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Scans whose rows never meet, as one kernel: what falls apart into rows, and the bits of the CPU.
namespace cambrian::row_kernel_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A scan under construction: inputs of the body and the operands they are bound to.
class ScanBuilder {
  public:
    Var carry(ValueType type, const Shape& shape, bool own = true) {
        carries_.push_back(graph_.input("carry", type, shape, own));
        return body_.input("carry", type, shape);
    }
    /// The shape of one step.
    Var sequence(ValueType type, const Shape& shape, std::int64_t length, bool own = true) {
        std::vector<std::int64_t> extents{length};
        extents.insert(extents.end(), shape.extents().begin(), shape.extents().end());
        sequences_.push_back(graph_.input("sequence", type, Shape(extents), own));
        return body_.input("sequence", type, shape);
    }
    Var invariant(ValueType type, const Shape& shape, bool own = true) {
        invariants_.push_back(graph_.input("invariant", type, shape, own));
        return body_.input("invariant", type, shape);
    }
    Graph& body() { return body_; }

    /// The whole graph, with all results as outputs.
    Graph finish(std::initializer_list<Var> outputs, std::int64_t length, bool reverse = false,
                 int alive = -1) {
        for (const Var output : outputs) body_.output(output);
        const ScanResult result =
            scan(body_, carries_, sequences_, invariants_,
                 {.length = length, .reverse = reverse, .alive_carry = alive});
        for (const Var carry : result.carries) graph_.output(carry);
        for (const Var stacked : result.stacked) graph_.output(stacked);
        return graph_;
    }

  private:
    Graph graph_;
    Graph body_;
    std::vector<Var> carries_, sequences_, invariants_;
};

const ScanAttribute& scan_of(const Graph& graph) {
    for (const Node& node : graph.nodes())
        if (node.op == Op::scan) return std::get<ScanAttribute>(node.attributes);
    throw std::logic_error("the graph has no scan");
}

gpu::RowAnalysis analysis_of(const Graph& graph) {
    return gpu::analyse_rows(gpu::lower_row_body(scan_of(graph)), {});
}

std::vector<Tensor> inputs_of(const Graph& graph, std::int64_t population) {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
        const ValueInfo& info = graph.value(graph.inputs()[i]);
        std::vector<std::int64_t> extents(info.shape.extents().begin(), info.shape.extents().end());
        if (info.per_individual) extents.insert(extents.begin(), population);
        Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
        RandomStream rng(random_key(i, "row kernel"), 0);
        for (double& element : tensor.elements)
            element = info.type == ValueType::real ? static_cast<double>(rng.normal())
                                                   : static_cast<double>(rng.index(2));
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

void expect_equal_bits(const std::vector<Tensor>& expected, const std::vector<Tensor>& found) {
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_EQ(test::first_difference(expected[i].elements, found[i].elements), -1)
            << "output " << i << " of " << expected[i].shape.text();
}

/// Runs on the CPU, in one kernel and in many dispatches of a step or two each.
void expect_the_bits_of_the_cpu(const Graph& graph, std::int64_t population,
                                std::int64_t expected_rows) {
    const gpu::RowAnalysis analysis = analysis_of(graph);
    ASSERT_THAT(analysis.obstacle, IsEmpty());
    EXPECT_EQ(analysis.rows, expected_rows);
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const std::vector<Tensor> inputs = inputs_of(graph, population);
    const std::vector<Tensor> expected = evaluate(*cpu, graph, population, inputs);
    VulkanOptions options = test::test_vulkan_options(Math::strict);
    for (const double seconds : {10.0, 1e-9}) {
        options.longest_dispatch = seconds;
        const auto vulkan = make_vulkan_backend(options);
        expect_equal_bits(expected, evaluate(*vulkan, graph, population, inputs));
    }
}

TEST(RowKernel, CarriesSequencesAndStackedResultsForwardAndBackward) {
    for (const bool reverse : {false, true}) {
        ScanBuilder scan;
        const Var state = scan.carry(ValueType::real, {5, 3});
        const Var x = scan.sequence(ValueType::real, {5, 2}, 7);
        const Var shared = scan.sequence(ValueType::real, {3}, 7, false);
        const Var weights = scan.invariant(ValueType::real, {3, 2});
        const Var next = tanh(matmul(x, weights, false, true) + state * 0.5 + shared);
        const Graph graph = scan.finish({next, softmax(next), x, shared}, 7, reverse);
        expect_the_bits_of_the_cpu(graph, 6, 5);
    }
}

TEST(RowKernel, CarriesThatSwapAndStandStill) {
    ScanBuilder scan;
    const Var a = scan.carry(ValueType::real, {4, 2});
    const Var b = scan.carry(ValueType::real, {4, 2});
    const Var turned = scan.carry(ValueType::real, {4, 2, 2});
    const Var still = scan.carry(ValueType::integer, {4});
    const Graph graph = scan.finish({b, a, permute(turned, {0, 2, 1}), still}, 5);
    expect_the_bits_of_the_cpu(graph, 3, 4);
}

TEST(RowKernel, CarriesThatRowsOrIndividualsShare) {
    ScanBuilder scan;
    const Var own = scan.carry(ValueType::real, {4, 2});
    const Var step = scan.carry(ValueType::integer, {});
    const Var common = scan.carry(ValueType::real, {3}, false);
    const Var x = scan.sequence(ValueType::real, {3}, 6, false);
    const Var grown = common * 0.9 + x;
    const Var moved = own + cast(step, ValueType::real) * slice(grown, 0, 0, 1);
    const Graph graph = scan.finish({moved, step + 1, grown, grown * 2.0, step}, 6);
    expect_the_bits_of_the_cpu(graph, 5, 4);
}

TEST(RowKernel, OneIndividualThatSharesEverything) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {3, 2}, false);
    const Var x = scan.sequence(ValueType::real, {3, 2}, 4, false);
    const Graph graph = scan.finish({state * x, sin(state)}, 4);
    expect_the_bits_of_the_cpu(graph, 1, 3);
}

TEST(RowKernel, BodiesWithoutRowsAreOneRow) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {6});
    const Var weights = scan.invariant(ValueType::real, {6, 6});
    const Var moved = reshape(matmul(reshape(state, {1, 6}), weights), {6});
    const Var next = tanh(moved) + reduce_max(state, 0, true);
    const Graph graph = scan.finish({next, cast(argmax(next, 0), ValueType::real)}, 9);
    expect_the_bits_of_the_cpu(graph, 4, 1);
}

TEST(RowKernel, TheLargestElementMayBeSubnormal) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {4, 3});
    const Var smaller = state * 1e-20 * 1e-21;
    const Graph graph =
        scan.finish({state, cast(argmax(smaller, 1), ValueType::real), reduce_max(smaller, 1)}, 2);
    expect_the_bits_of_the_cpu(graph, 3, 4);
    const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
    EXPECT_THAT(gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {}).text,
                HasSubstr("= op_less(largest"))
        << "some devices compare subnormal numbers as zeros";
}

TEST(RowKernel, ReductionsMovementAndBatchedProductsInsideARow) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {4, 3, 2});
    const Var kernel = scan.invariant(ValueType::real, {4, 2, 3});
    const Var product = matmul(state, kernel);
    const std::array parts{pad(product, 2, 1, 1), pad(transpose(product), 2, 0, 2)};
    const Var joined = concat(parts, 1);
    const Var sums = reduce_sum(joined, 1);
    const Var first = cast(argmax(joined, 2), ValueType::real);
    const Var squeezed = reshape(slice(permute(state, {0, 2, 1}), 2, 1, 2), {4, 4});
    const Var next = state * 0.25 + reshape(slice(sums, 1, 0, 2), {4, 1, 2});
    const Graph graph = scan.finish({next, first, squeezed, reduce_max(joined, 2, true)}, 3);
    expect_the_bits_of_the_cpu(graph, 3, 4);
}

TEST(RowKernel, ValuesOfEachRowInConstantsAndInvariants) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {4, 2});
    const Var offsets = scan.invariant(ValueType::real, {4, 1});
    Graph& body = scan.body();
    const Var table = body.constant(Tensor(ValueType::real, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
    const Var signs = body.constant(Tensor(ValueType::real, {4, 1}, {0.0, -0.0, -0.0, 0.0}));
    const Var ids = cast(reshape(iota(body, 4), {4, 1}), ValueType::real);
    const Graph graph =
        scan.finish({state * 0.5 + table + offsets * ids, table, offsets / signs}, 4);
    expect_the_bits_of_the_cpu(graph, 3, 4);
}

TEST(RowKernel, LookUpsAndRandomNumbersByRow) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::integer, {5});
    const Var table = scan.invariant(ValueType::real, {3, 2});
    const Var key = scan.invariant(ValueType::integer, {2}, false);
    Graph& body = scan.body();
    const Var drawn = random(key, state + iota(body, 5), 6);
    const Var found = gather(table, state);
    const Var next = cast(slice(drawn, 1, 5, 1) * 3.0, ValueType::integer);
    const Graph graph = scan.finish({reshape(next, {5}), found, drawn}, 6);
    expect_the_bits_of_the_cpu(graph, 4, 5);
}

TEST(RowKernel, AnIndexOutOfRangeIsADataError) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::integer, {5});
    const Var table = scan.invariant(ValueType::real, {3});
    const Graph graph = scan.finish({state + 1, gather(table, state)}, 9);
    ASSERT_THAT(analysis_of(graph).obstacle, IsEmpty());
    const auto backend = make_vulkan_backend(test::test_vulkan_options());
    try {
        static_cast<void>(evaluate(*backend, graph, 2, inputs_of(graph, 2)));
        FAIL() << "no error";
    } catch (const InputError& error) {
        EXPECT_THAT(error.what(), HasSubstr("out of range (gather over 3 rows)"));
    }
}

TEST(RowKernel, IndicesOfRowsWithoutElementsAreNotLookedAt) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::integer, {5});
    const Var table = scan.invariant(ValueType::real, {3, 0});
    const Graph graph = scan.finish({state + 1, reduce_sum(gather(table, state), 1)}, 9);
    expect_the_bits_of_the_cpu(graph, 2, 5);
}

TEST(RowKernel, FinishedRowsStandStill) {
    ScanBuilder scan;
    const Var value = scan.carry(ValueType::real, {6, 2});
    const Var left = scan.carry(ValueType::integer, {6});
    const Var alive = scan.carry(ValueType::boolean, {6});
    const Var mask = reshape(alive, {6, 1});
    const Var next = select(mask, value * 1.5 + 1.0, value);
    const Var count = select(alive, left + 1, left);
    const Graph graph = scan.finish(
        {next, count, logical_and(alive, less(abs(reduce_sum(next, 1)), 20.0))}, 12, false, 2);
    expect_the_bits_of_the_cpu(graph, 7, 6);
}

TEST(RowKernel, MoreBuffersThanThePushBlockHolds) {
    ScanBuilder scan;
    std::vector<Var> states;
    for (int i = 0; i < 9; ++i) states.push_back(scan.carry(ValueType::real, {2, 1}));
    const Graph graph = scan.finish({states[1], states[2], states[3], states[4], states[5],
                                     states[6], states[7], states[8], states[0] + states[1]},
                                    5);
    expect_the_bits_of_the_cpu(graph, 3, 2);
}

TEST(RowKernel, RowsThatMeetGoStepByStep) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {400, 4});
    const Var mean = reduce_sum(state, 0, true) * (1.0 / 400.0);
    const Graph graph = scan.finish({tanh(state - mean), mean}, 3);
    EXPECT_THAT(analysis_of(graph).obstacle, HasSubstr("reduce_sum has no row form"));
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const std::vector<Tensor> inputs = inputs_of(graph, 2);
    expect_equal_bits(evaluate(*cpu, graph, 2, inputs), evaluate(*vulkan, graph, 2, inputs));
    EXPECT_GT(vulkan_statistics(*vulkan).dispatches, 6);
}

TEST(RowKernel, TheTextNamesEveryValueAndFoldsTheFlag) {
    ScanBuilder scan;
    const Var value = scan.carry(ValueType::real, {6, 2});
    const Var alive = scan.carry(ValueType::boolean, {6});
    const Var next = select(reshape(alive, {6, 1}), value + 1.0, value);
    const Graph graph =
        scan.finish({next, logical_and(alive, less(reduce_max(next, 1), 9.0))}, 12, false, 1);
    const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
    const gpu::RowText text =
        gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {.math = Math::strict});
    EXPECT_THAT(text.text, HasSubstr("[6, 2] = add("));
    EXPECT_THAT(text.text, HasSubstr("if (carry_1 == 0) break;"));
    EXPECT_THAT(text.text, Not(HasSubstr("op_select")));
    EXPECT_THAT(text.text, Not(HasSubstr("op_logical_and")));
    gpu::ShaderCompiler compiler("", "");
    EXPECT_FALSE(compiler.compile("rows", text.text).empty());
}

/// A network with a state of 8 words that is a carry; the body may read the old state, too.
std::string text_of_network(bool old_state_is_read) {
    ScanBuilder scan;
    const Var row = scan.carry(ValueType::real, {5, 3});
    const Var state = scan.carry(ValueType::real, {5, 8});
    const Var alive = scan.carry(ValueType::boolean, {5});
    const Var bytecode = scan.invariant(ValueType::integer, {32});
    const Var weights = scan.invariant(ValueType::real, {64});
    const std::array operands{bytecode, weights, row, state};
    const Var output = scan.body().add(
        Op::interpret, operands, InterpretAttribute{.outputs = 3, .memory = 16, .weights = 64});
    const Var kept{&scan.body(), ValueId{static_cast<std::uint32_t>(output.id) + 1}};
    const Var mask = reshape(alive, {5, 1});
    const Var next = old_state_is_read ? output + reduce_sum(state, 1, true) : output;
    const Graph graph =
        scan.finish({select(mask, next, row), select(mask, kept, state), alive}, 9, false, 2);
    const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
    return gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {}).text;
}

TEST(RowKernel, ACarryThatANetworkKeepsIsItsState) {
    const std::string in_place = text_of_network(false);
    EXPECT_THAT(in_place, HasSubstr("_state[7u] = from_1.at["));
    EXPECT_THAT(in_place, HasSubstr("to_1.at[row * 8u + 7u] = interpret_"));
    EXPECT_THAT(in_place, Not(HasSubstr("carry_1")));
    const std::string copied = text_of_network(true);
    EXPECT_THAT(copied, HasSubstr("_state[7u] = carry_1[7u];"));
    EXPECT_THAT(copied, HasSubstr("carry_1[7u] = v"));
    gpu::ShaderCompiler compiler("", "");
    EXPECT_FALSE(compiler.compile("rows", in_place).empty());
    EXPECT_FALSE(compiler.compile("rows", copied).empty());
}

/// Two networks of the same words, which the body also reads one by one.
gpu::RowText text_of_two_networks(std::int64_t rows) {
    ScanBuilder scan;
    const Var row = scan.carry(ValueType::real, {rows, 3});
    const Var state = scan.carry(ValueType::real, {rows, 1});
    const Var bytecode = scan.invariant(ValueType::integer, {32});
    const Var weights = scan.invariant(ValueType::real, {384});
    const std::array operands{bytecode, weights, row, state};
    Var sum = reduce_sum(weights, 0, false);
    for (int i = 0; i < 2; ++i)
        sum = sum + scan.body().add(Op::interpret, operands,
                                    InterpretAttribute{.outputs = 3, .memory = 16, .weights = 384});
    const Graph graph = scan.finish({sum, state}, 40, false);
    const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
    return gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {});
}

TEST(RowKernel, NetworksThatAreDataLieWhereTheirInterpretersReadThem) {
    const gpu::RowText text = text_of_two_networks(5);
    EXPECT_THAT(text.interleaved, IsEmpty());
    ASSERT_TRUE(text.spread);
    EXPECT_EQ(text.spread->bytecode_words, 32);
    EXPECT_EQ(text.spread->weight_words, 384);
    // The second network is read where it is.
    EXPECT_THAT(text.text, HasSubstr("(Bytecode(bytecode), PackedWeights(weights), "));
    EXPECT_THAT(text.text, HasSubstr("(Bytecode(operand_2), PackedWeights(operand_3), "));
    gpu::ShaderCompiler compiler("", "");
    EXPECT_FALSE(compiler.compile("rows", text.text).empty());
    // Neighbours that walk one network read one place.
    EXPECT_FALSE(text_of_two_networks(17).spread);
}

TEST(RowKernel, AMaskThatIsConstantTellsNothingOfWhoWalksOn) {
    ScanBuilder scan;
    const Var state = scan.carry(ValueType::real, {4, 3});
    const Var alive = scan.carry(ValueType::boolean, {4});
    const Var changed = state + 1.0;
    const Var mask = scan.body().constant(Tensor{ValueType::boolean, {1, 3}, {1.0, 0.0, 1.0}});
    const Var next = select(mask, changed, state);
    const Graph graph =
        scan.finish({select(reshape(alive, {4, 1}), next, state), alive}, 5, false, 1);
    const auto cpu = make_cpu_backend({.math = Math::strict});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const std::vector<Tensor> inputs = inputs_of(graph, 2);
    expect_equal_bits(evaluate(*cpu, graph, 2, inputs), evaluate(*vulkan, graph, 2, inputs));
}

/// A network of neurons of any kind in the smallest bytecode.
Graph network_of_neurons(std::int64_t memory, std::int64_t inputs = 3) {
    ScanBuilder scan;
    const Var row = scan.carry(ValueType::real, {5, inputs});
    const Var state = scan.carry(ValueType::real, {5, 1});
    const std::array operands{scan.invariant(ValueType::integer, {32}),
                              scan.invariant(ValueType::real, {64}), row, state};
    const Var output = scan.body().add(
        Op::interpret, operands,
        InterpretAttribute{
            .outputs = inputs, .memory = memory, .weights = 64, .neurons = NeuronSet::any});
    return scan.finish({output, state}, 9);
}

TEST(RowKernel, DispatchesAreCutByTheDearestNeurons) {
    const gpu::RowAnalysis analysis = analysis_of(network_of_neurons(16));
    EXPECT_EQ(analysis.operations, 2 * 64);
    EXPECT_EQ(analysis.max_operations, 8 * 64 + 2 * (3 + 1));
}

TEST(RowKernel, WorkgroupsAreAsWideAsSharedMemoryIsThere) {
    const Graph graph = network_of_neurons(128);
    const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
    const auto text_for = [&](std::int64_t shared_words) {
        return gpu::write_row_kernel(body, gpu::analyse_rows(body, {}),
                                     {.shared_words = shared_words});
    };
    EXPECT_EQ(text_for(8192).width, 64U);
    EXPECT_EQ(text_for(4096).width, 32U);
    EXPECT_THAT(text_for(4096).text, HasSubstr("#define INTERPRET_LANES 32\n"));
    EXPECT_THAT(text_for(4095).text, Not(HasSubstr("#define INTERPRET_LANES")));
}

TEST(RowKernel, ASoftwareDeviceLoopsOverManyInputsAndTellsOfLoopsItEnds) {
    const auto text_for = [](std::int64_t inputs, bool software) {
        const Graph graph = network_of_neurons(256, inputs);
        const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
        return gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {.software = software});
    };
    constexpr const char* loop = "#define INTERPRET_EACH_INPUT [[dont_unroll]]";
    EXPECT_THAT(text_for(65, true).text, HasSubstr(loop));
    EXPECT_THAT(text_for(64, true).text, Not(HasSubstr(loop)));
    EXPECT_THAT(text_for(65, false).text, Not(HasSubstr(loop)));
    EXPECT_TRUE(text_for(3, true).reports);
    EXPECT_FALSE(text_for(3, false).reports);
    gpu::ShaderCompiler compiler("", "");
    EXPECT_FALSE(compiler.compile("rows", text_for(65, true).text).empty());
}

TEST(RowKernel, EqualStructuresShareAText) {
    const auto text_of = [](std::int64_t length) {
        ScanBuilder scan;
        const Var state = scan.carry(ValueType::real, {4, 2});
        const Graph graph = scan.finish({tanh(state)}, length);
        const ScanAttribute body = gpu::lower_row_body(scan_of(graph));
        return gpu::write_row_kernel(body, gpu::analyse_rows(body, {}), {}).text;
    };
    EXPECT_EQ(text_of(3), text_of(1000));
}

}  // namespace
}  // namespace cambrian::row_kernel_test
