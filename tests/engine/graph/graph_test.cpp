#include "cambrian/engine/graph/graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const ShapeError& error) {
        return error.what();
    }
    return "no error";
}

class GraphErrors : public testing::Test {
  protected:
    Graph graph_;
    Var matrix_ = graph_.input("matrix", ValueType::real, {2, 3});
    Var other_ = graph_.input("other", ValueType::real, {4, 5});
    Var count_ = graph_.input("count", ValueType::integer, {3});
    Var flag_ = graph_.input("flag", ValueType::boolean, {});
};

TEST_F(GraphErrors, NameOpOperandsReasonAndCaller) {
    const int line = __LINE__ + 1;
    const std::string text = message_of([&] { matmul(matrix_, other_); });

    EXPECT_THAT(
        text,
        StartsWith(
            "matmul: operands real [2, 3] and real [4, 5] do not fit (the inner extents 3 and 4 "
            "differ) transpose an operand or change its extents at "));
    EXPECT_THAT(text, HasSubstr("graph_test.cpp:" + std::to_string(line)));
}

TEST_F(GraphErrors, PointToTheUseOfAnOperator) {
    const int line = __LINE__ + 1;
    const std::string text = message_of([&] { (void)(matrix_ + other_); });

    EXPECT_THAT(text, AllOf(StartsWith("add: operands real [2, 3] and real [4, 5] do not fit (axis "
                                       "-1 has extents 3 and 5)"),
                            HasSubstr("graph_test.cpp:" + std::to_string(line))));
}

TEST_F(GraphErrors, SuggestACastForMixedTypes) {
    EXPECT_THAT(message_of([&] { (void)(matrix_ * count_); }),
                HasSubstr("(the types real and integer are mixed) convert one of them with cast"));
    EXPECT_THAT(message_of([&] { (void)exp(count_); }),
                HasSubstr("integer, not real) convert it with cast"));
    EXPECT_THAT(message_of([&] { (void)(flag_ + flag_); }), HasSubstr("booleans are not numbers"));
    EXPECT_THAT(message_of([&] { (void)(count_ + 0.5); }), HasSubstr("mixed"));
    EXPECT_THAT(message_of([&] { select(matrix_, matrix_, matrix_); }),
                HasSubstr("the condition is real, not boolean"));
}

TEST_F(GraphErrors, CheckAttributes) {
    EXPECT_THAT(message_of([&] { reduce_sum(matrix_, 2); }),
                HasSubstr("axis 2 is not one of its 2 axes) use an axis from -2 to 1"));
    EXPECT_THAT(message_of([&] { reduce_sum(matrix_, -3); }), HasSubstr("axis -3 is not"));
    EXPECT_THAT(message_of([&] { slice(matrix_, 1, 2, 2); }),
                HasSubstr("2 elements from 2 on leave axis 1 of extent 3"));
    EXPECT_THAT(message_of([&] { permute(matrix_, {0, 0}); }), HasSubstr("axis 0 appears twice"));
    EXPECT_THAT(message_of([&] { permute(matrix_, {0}); }), HasSubstr("names 1 of 2 axes"));
    EXPECT_THAT(message_of([&] {
                    reshape(matrix_, {4, -1});
                }),
                HasSubstr("its 6 elements are not a multiple of 4"));
    EXPECT_THAT(message_of([&] { reshape(matrix_, {7}); }),
                HasSubstr("it has 6 elements and [7] has 7"));
    EXPECT_THAT(message_of([&] {
                    broadcast(matrix_, {2, 4});
                }),
                HasSubstr("does not broadcast to [2, 4]"));
    EXPECT_THAT(message_of([&] { pad(matrix_, 0, -1, 0); }), HasSubstr("negative"));
    EXPECT_THAT(message_of([&] {
                    concat(std::array{matrix_, other_}, 0);
                }),
                HasSubstr("part 1 differs outside axis 0"));
    EXPECT_THAT(message_of([&] { activate(matrix_, count_); }),
                HasSubstr("the code is not a scalar"));
    EXPECT_THAT(message_of([&] { gather(matrix_, matrix_); }),
                HasSubstr("an index is real, not integer"));
}

TEST_F(GraphErrors, RowsOfInterpretedNetworksHaveElements) {
    const auto message = [&](std::int64_t inputs, std::int64_t state) {
        const std::array operands{graph_.input("bytecode", ValueType::integer, {4}),
                                  graph_.input("weights", ValueType::real, {4}),
                                  graph_.input("rows", ValueType::real, {2, inputs}),
                                  graph_.input("state", ValueType::real, {2, state})};
        return message_of([&] {
            graph_.add(Op::interpret, operands,
                       InterpretAttribute{.outputs = 1, .memory = 8, .weights = 4});
        });
    };
    EXPECT_EQ(message(1, 1), "no error");
    EXPECT_THAT(message(0, 1), HasSubstr("rows [2, 0] or state [2, 1] have an empty last axis"));
    EXPECT_THAT(message(1, 0), HasSubstr("pass one word of state for each row"));
}

TEST_F(GraphErrors, CountExtentsWithoutOverflow) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t half = std::int64_t{1} << 32;
    const Var vast = graph_.input("vast", ValueType::real, {0, std::int64_t{1} << 62});
    const auto expect_refused = [](const std::function<void()>& build, const char* part) {
        EXPECT_THAT(message_of(build), AllOf(HasSubstr(part), HasSubstr("graph_test.cpp")));
    };
    expect_refused([&] { pad(other_, 1, most, most); }, "together are more than 2^62");
    expect_refused([&] { pad(other_, 1, 0, most); }, "together are more than 2^62");
    expect_refused([&] { concat(std::array{vast, vast}, 1); }, "together are more than 2^62");
    expect_refused([&] { slice(matrix_, 1, 1, most); }, "elements from 1 on leave axis 1");
    expect_refused([&] { slice(matrix_, 1, most, 1); }, "1 elements from 9223372036854775807 on");
    expect_refused([&] { reshape(matrix_, {half, half, -1}); }, "more than 2^62 elements");
    expect_refused([&] { reshape(matrix_, {half, -1, half + 1}); }, "more than 2^62 elements");
    expect_refused([&] { reshape(matrix_, {-2, -3, 1}); }, "an extent is negative");
}

TEST_F(GraphErrors, ConstantsHaveElementsOfTheirType) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    const auto refused = [&](double value, ValueType type) {
        return message_of([&] { (void)constant(graph_, value, type); });
    };
    for (const double wrong : {0.5, -infinite, infinite, std::nan(""), 2147483648.0, -2147483649.0})
        EXPECT_THAT(refused(wrong, ValueType::integer),
                    HasSubstr("is no integer) use whole numbers in 32 bits"))
            << wrong;
    for (const double wrong : {0.5, 2.0, -1.0, std::nan("")})
        EXPECT_THAT(refused(wrong, ValueType::boolean), HasSubstr("is no boolean) use 0 and 1"))
            << wrong;
    EXPECT_THAT(message_of([&] {
                    (void)graph_.constant(Tensor(ValueType::integer, {3}, {1, 2.5, 3}));
                }),
                HasSubstr("2.5"));
    EXPECT_EQ(constant(graph_, -2147483648.0, ValueType::integer).rank(), 0);
    EXPECT_EQ(constant(graph_, 2147483647.0, ValueType::integer).rank(), 0);
    EXPECT_EQ(constant(graph_, 1.0, ValueType::boolean).rank(), 0);
    EXPECT_EQ(constant(graph_, infinite).rank(), 0);
}

TEST_F(GraphErrors, ANumberThatIsNoIntegerIsARealBesideIntegers) {
    for (const double wrong : {std::numeric_limits<double>::infinity(), 3e9, 0.5})
        EXPECT_THAT(message_of([&] { (void)(count_ / wrong); }),
                    AllOf(HasSubstr("integer and real are mixed"), HasSubstr("graph_test.cpp")));
    EXPECT_EQ((count_ + 2147483647.0).info().type, ValueType::integer);
}

TEST_F(GraphErrors, LeaveTheGraphAsItWas) {
    const std::size_t nodes = graph_.nodes().size();
    const std::size_t values = graph_.value_count();

    EXPECT_THROW((void)(matrix_ + other_), ShapeError);

    EXPECT_EQ(graph_.nodes().size(), nodes);
    EXPECT_EQ(graph_.value_count(), values);
    EXPECT_EQ((matrix_ + 1.0).shape(), (Shape{2, 3}));
    verify(graph_);
}

TEST(Graph, InputsKeepTheirNamesAndOrder) {
    Graph graph;
    graph.input("first", ValueType::real, {2});
    constant(graph, 3.0);
    graph.input("second", ValueType::integer, {}, true);

    EXPECT_EQ(graph.inputs().size(), 2U);
    EXPECT_EQ(graph.input_name(0), "first");
    EXPECT_EQ(graph.input_name(1), "second");
    EXPECT_TRUE(graph.value(graph.inputs()[1]).per_individual);
}

TEST(Graph, ShapesStayValidWhileItGrows) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {17, 3});
    const Shape& shape = x.shape();

    Var y = x;
    for (int i = 0; i < 1000; ++i) y = y + 1.0;

    EXPECT_EQ(shape, (Shape{17, 3}));
}

TEST(Graph, CopyIsIndependent) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2});
    const Graph copy = graph;
    graph.output(x * 2.0);

    EXPECT_EQ(copy.nodes().size(), 1U);
    EXPECT_TRUE(copy.outputs().empty());
}

TEST(Graph, DumpListsOneNodeALine) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {5, 4}, true);
    const Var w = graph.input("w", ValueType::real, {16, 4});
    graph.output(matmul(x, w, false, true));

    EXPECT_EQ(dump(graph),
              "v0 real [5, 4] * = input() {x}\n"
              "v1 real [16, 4] = input() {w}\n"
              "v2 real [5, 16] * = matmul(v0, v1) {transpose_right}\n"
              "outputs v2\n");
}

TEST(Graph, VerifyFindsAShapeThatBreaksTheRule) {
    Graph graph;
    const auto value = std::make_shared<Tensor>(Tensor(ValueType::real, {2}));
    graph.add(Op::constant, {}, ConstantAttribute{value});
    verify(graph);

    value->shape = {1, 2};

    EXPECT_THROW(verify(graph), ContractViolation);
}

TEST(Graph, InlineReplacesInputs) {
    Graph source;
    const Var a = source.input("a", ValueType::real, {});
    const Var b = source.input("b", ValueType::real, {});
    source.output(a - b);
    source.output(b);
    Graph target;
    const Var x = target.input("x", ValueType::real, {});
    const std::vector<Var> outputs = inline_graph(target, source, std::array{x * 3.0, x});
    for (const Var output : outputs) target.output(output);

    const auto backend = make_reference_backend(Precision::f64);
    const std::vector<Tensor> results =
        evaluate(*backend, target, 1, std::array{Tensor::scalar(5.0)});

    EXPECT_EQ(results[0].elements[0], 10.0);
    EXPECT_EQ(results[1].elements[0], 5.0);
}

TEST(Graph, ConstantActivationCodeBecomesThePlainFunction) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {3});
    const Var code = constant(graph, 4.0, ValueType::integer);
    const Var own = graph.input("code", ValueType::integer, {});

    EXPECT_EQ(graph.producer(activate(x, code).id).op, Op::tanh);
    EXPECT_EQ(graph.producer(activate(x, own).id).op, Op::activate);
    EXPECT_EQ(graph.producer(activate(x, own, ActivationSet::any).id).op, Op::activate_any);
    EXPECT_EQ(graph.producer(activate(x, constant(graph, 8.0, ValueType::integer)).id).op, Op::cos)
        << "a code that is known needs no set";
    EXPECT_EQ(activate(x, constant(graph, 99.0, ValueType::integer)).id, x.id);
}

TEST(Evaluate, NamesAnInputThatDoesNotFit) {
    Graph graph;
    graph.output(graph.input("x", ValueType::real, {2}, true));
    const auto backend = make_reference_backend(Precision::f32);

    EXPECT_EQ(message_of([&] {
                  (void)evaluate(*backend, graph, 3, std::array{Tensor(ValueType::real, {2})});
              }),
              "input 'x' is real [2] (the graph declares real [3, 2]) pass a tensor of that type "
              "and shape");
}

TEST(ReferenceBackend, ReportsAnIndexOutOfRange) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {3});
    const Var index = graph.input("index", ValueType::integer, {});
    graph.output(gather(table, index));
    const auto backend = make_reference_backend(Precision::f32);
    const auto run = [&](double at) {
        return evaluate(
            *backend, graph, 1,
            std::array{Tensor(ValueType::real, {3}), Tensor::scalar(at, ValueType::integer)});
    };

    EXPECT_NO_THROW((void)run(2.0));
    EXPECT_THROW((void)run(3.0), InputError);
    EXPECT_THROW((void)run(-1.0), InputError);
}

TEST(ReferenceBackend, CountsTheMemoryOfItsBuffers) {
    const auto backend = make_reference_backend(Precision::f32);
    auto buffer = backend->allocate(ValueType::real, 10);
    EXPECT_EQ(backend->memory().used, 80);
    buffer.reset();
    EXPECT_EQ(backend->memory().used, 0);
}

TEST(ReferenceBackend, DefinesTheEdgesOfArithmetic) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {4});
    const Var nan = constant(graph, 0.0) / constant(graph, 0.0);
    graph.output(max(x, nan));
    graph.output(max(nan, x));
    graph.output(round(x));
    graph.output(cast(x, ValueType::integer));
    graph.output(x * 1.2e-38);
    const auto backend = make_reference_backend(Precision::f32);

    const auto results = evaluate(*backend, graph, 1,
                                  std::array{Tensor(ValueType::real, {4}, {0.5, 1.5, -2.5, 3e9})});

    EXPECT_TRUE(std::isnan(results[0].elements[0]));
    EXPECT_EQ(results[1].elements[1], 1.5);
    EXPECT_THAT(results[2].elements, testing::ElementsAre(0.0, 2.0, -2.0, 3e9));
    EXPECT_THAT(results[3].elements, testing::ElementsAre(0.0, 1.0, -2.0, 2147483647.0));
    EXPECT_EQ(results[4].elements[0], static_cast<double>(0.5F * 1.2e-38F))
        << "a subnormal result is kept";
    EXPECT_GT(results[4].elements[1], 0.0);
}

TEST(Softmax, SumsToOneAndSurvivesLargeLogits) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3});
    graph.output(softmax(x));
    graph.output(log_softmax(x, 0));
    const auto backend = make_reference_backend(Precision::f64);

    const auto results = evaluate(
        *backend, graph, 1, std::array{Tensor(ValueType::real, {2, 3}, {1e4, 1e4, 1e4, 0, 1, 2})});

    EXPECT_NEAR(results[0].elements[0], 1.0 / 3.0, 1e-15);
    EXPECT_NEAR(results[0].elements[5], 1.0 / (1.0 + std::exp(-1.0) + std::exp(-2.0)), 1e-15);
    EXPECT_NEAR(results[1].elements[0], 0.0, 1e-15);
    EXPECT_NEAR(results[1].elements[3], -1e4, 1e-9);
}

}  // namespace
}  // namespace cambrian
