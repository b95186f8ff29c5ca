#include <array>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/eager/eager_operations.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Tensor vector_of(std::vector<double> elements) {
    const auto length = static_cast<std::int64_t>(elements.size());
    return {ValueType::real, Shape{length}, std::move(elements)};
}

template <class Error, class Action>
std::string told_by(const Action& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing was thrown";
}

class EagerSessionTest : public ::testing::Test {
  protected:
    std::unique_ptr<Backend> backend = make_cpu_backend({});
    EagerSession session{*backend};
};

TEST_F(EagerSessionTest, NothingIsComputedBeforeATensorIsRead) {
    const EagerTensor a = session.tensor(vector_of({1, 2, 3}));
    const EagerTensor b = a * 2.0 + 1.0;
    EXPECT_TRUE(a.computed());
    EXPECT_FALSE(b.computed());
    EXPECT_EQ(session.statistics().batches, 0);
    EXPECT_THAT(b.read().elements, ElementsAre(3, 5, 7));
    EXPECT_TRUE(b.computed());
    EXPECT_EQ(session.statistics().batches, 1);
    EXPECT_EQ(session.statistics().recorded, 2);
    EXPECT_EQ(session.statistics().pending, 0);
}

TEST_F(EagerSessionTest, OneBatchComputesAllThatIsStillHeld) {
    const EagerTensor a = session.tensor(vector_of({1, 2, 3}));
    const EagerTensor b = a + a;
    const EagerTensor c = b * a;  // b is computed once for both.
    EXPECT_THAT(c.read().elements, ElementsAre(2, 8, 18));
    EXPECT_TRUE(b.computed());
    EXPECT_EQ(session.statistics().batches, 1);
    EXPECT_THAT(b.read().elements, ElementsAre(2, 4, 6));
    EXPECT_EQ(session.statistics().batches, 1);
}

TEST_F(EagerSessionTest, WhatNobodyHoldsIsNotComputed) {
    const EagerTensor indices =
        session.tensor({ValueType::integer, Shape{1}, std::vector<double>{9}});
    const EagerTensor table = session.tensor(vector_of({1, 2}));
    {
        const EagerTensor out_of_range =
            apply([](Var t, Var i) { return gather(t, i); }, table, indices);
    }
    EXPECT_THAT((table + 1.0).read().elements, ElementsAre(2, 3));
}

TEST_F(EagerSessionTest, AFailedBatchIsToldAndCanBeLeftBehind) {
    const EagerTensor indices =
        session.tensor({ValueType::integer, Shape{1}, std::vector<double>{9}});
    const EagerTensor table = session.tensor(vector_of({1, 2}));
    EagerTensor wrong = apply([](Var t, Var i) { return gather(t, i); }, table, indices);
    EXPECT_THROW(static_cast<void>(wrong.read()), InputError);
    EXPECT_FALSE(wrong.computed());
    EXPECT_THROW(static_cast<void>(wrong.read()), InputError);
    wrong = table * 2.0;
    EXPECT_THAT(wrong.read().elements, ElementsAre(2, 4));
}

TEST_F(EagerSessionTest, EqualBatchesAreCompiledOnce) {
    EagerTensor x = session.tensor(vector_of({1, 2, 3, 4}));
    for (int step = 0; step < 20; ++step) {
        x = tanh(x) * 0.5 + x;
        session.run();
    }
    const EagerStatistics statistics = session.statistics();
    EXPECT_EQ(statistics.batches, 20);
    EXPECT_EQ(statistics.program_misses, 1);
    EXPECT_EQ(statistics.program_hits, 19);
    EXPECT_EQ(statistics.buffer_misses, 2);  // One to read, one to write, in turn.
    EXPECT_EQ(statistics.buffer_hits, 19);
    EXPECT_GE(statistics.peak_bytes, statistics.live_bytes + statistics.pooled_bytes);
}

TEST_F(EagerSessionTest, ANumberIsPartOfTheProgramAndATensorIsNot) {
    const EagerTensor x = session.tensor(vector_of({2}));
    EXPECT_THAT((x * 2.0).read().elements, ElementsAre(4));
    EXPECT_THAT((x * 3.0).read().elements, ElementsAre(6));
    EXPECT_EQ(session.statistics().program_misses, 2);
    EXPECT_THAT((x * session.tensor(Tensor::scalar(4))).read().elements, ElementsAre(8));
    EXPECT_THAT((x * session.tensor(Tensor::scalar(5))).read().elements, ElementsAre(10));
    EXPECT_EQ(session.statistics().program_misses, 3);
}

TEST_F(EagerSessionTest, ProgramsAreForgottenOldestFirst) {
    EagerSession small(*backend, {.max_programs = 2});
    const EagerTensor x = small.tensor(vector_of({2}));
    for (const double factor : {1.5, 2.5, 3.5, 1.5})
        EXPECT_THAT((x * factor).read().elements, ElementsAre(2 * factor));
    EXPECT_EQ(small.statistics().program_misses, 4);
    EXPECT_THAT((x * 3.5).read().elements, ElementsAre(7));
    EXPECT_EQ(small.statistics().program_hits, 1);
}

TEST_F(EagerSessionTest, ALongChainRunsInPiecesAndEndsWithoutADeepStack) {
    EagerTensor x = session.tensor(vector_of({0, 1}));
    for (int step = 0; step < 10'000; ++step) x = x + 1.0;
    EXPECT_GE(session.statistics().batches, 2);
    EXPECT_THAT(x.read().elements, ElementsAre(10'000, 10'001));
    EagerSession patient(*backend, {.max_pending = 1'000'000});
    EagerTensor y = patient.tensor(vector_of({0}));
    for (int step = 0; step < 25'000; ++step) y = y + 1.0;
    for (int step = 0; step < 25'000; ++step) y = y * y;
}

TEST_F(EagerSessionTest, BatchesHaveTheBitsOfTheSameGraph) {
    const Tensor left = vector_of({0.1, -0.7, 2.5, 1e-3});
    Graph graph;
    const Var v = graph.input("x", ValueType::real, Shape{4});
    graph.output(sigmoid(v) * exp(v) + rsqrt(square(v) + 1.0));
    const Tensor wanted = evaluate(*backend, graph, 1, std::array{left})[0];
    const EagerTensor x = session.tensor(left);
    const EagerTensor y = sigmoid(x) * exp(x) + rsqrt(square(x) + 1.0);
    EXPECT_EQ(y.read(), wanted);
}

TEST_F(EagerSessionTest, AnOperationMayHaveSeveralResults) {
    const EagerTensor x = session.tensor(vector_of({3, 1, 2}));
    const std::vector<EagerTensor> ordered =
        session.record(std::array{x}, [](std::span<const Var> vars) {
            const Ordered result = sort(vars[0]);
            return std::vector<Var>{result.values, result.indices};
        });
    ASSERT_EQ(ordered.size(), 2U);
    EXPECT_EQ(ordered[1].type(), ValueType::integer);
    EXPECT_THAT(ordered[0].read().elements, ElementsAre(1, 2, 3));
    EXPECT_THAT(ordered[1].read().elements, ElementsAre(1, 2, 0));
    EXPECT_EQ(session.statistics().batches, 1);
}

TEST_F(EagerSessionTest, HostFunctionsStandBetweenBatches) {
    const EagerTensor x = session.tensor(vector_of({1, 4, 9}));
    const ValueInfo info{ValueType::real, Shape{3}};
    const auto rooted = session.record_host(std::array{x + 0.0}, std::array{info},
                                            [](std::span<const Tensor> operands) {
                                                Tensor result = operands[0];
                                                for (double& element : result.elements)
                                                    element = std::sqrt(element);
                                                return std::vector<Tensor>{result};
                                            })[0];
    const EagerTensor y = rooted * 10.0 + x;
    EXPECT_EQ(session.statistics().host_calls, 0);
    EXPECT_THAT(y.read().elements, ElementsAre(11, 24, 39));
    EXPECT_EQ(session.statistics().host_calls, 1);
    EXPECT_EQ(session.statistics().batches, 2);
    EXPECT_THAT(rooted.read().elements, ElementsAre(1, 2, 3));
}

TEST_F(EagerSessionTest, AHostFunctionIsHeldToWhatItWasRecordedWith) {
    const EagerTensor x = session.tensor(vector_of({1, 4, 9}));
    const ValueInfo info{ValueType::real, Shape{2}};
    EagerTensor y = session.record_host(
        std::array{x}, std::array{info},
        [](std::span<const Tensor> operands) { return std::vector<Tensor>{operands[0]}; })[0];
    EXPECT_THAT(told_by<ShapeError>([&] { static_cast<void>(y.read()); }),
                HasSubstr("it was recorded as real [2]"));
    y = session.record_host(
        std::array{x}, std::array{info},
        [&](std::span<const Tensor>) -> std::vector<Tensor> { return {(x + 1.0).read()}; })[0];
    EXPECT_THAT(told_by<ShapeError>([&] { static_cast<void>(y.read()); }),
                HasSubstr("pass the tensor to record_host as an operand"));
}

TEST_F(EagerSessionTest, ErrorsAreToldWhereTheyAreMade) {
    const EagerTensor x = session.tensor(vector_of({1, 2, 3}));
    EXPECT_THAT(told_by<ShapeError>([&] {
                    static_cast<void>(matmul(x, session.tensor(vector_of({1, 2}))));
                }),
                HasSubstr("eager_session_test.cpp"));
    EagerSession other(*backend);
    EXPECT_THAT(told_by<ShapeError>([&] {
                    static_cast<void>(x + other.tensor(vector_of({1, 2, 3})));
                }),
                HasSubstr("another session"));
    EXPECT_THAT(told_by<ShapeError>([&] { static_cast<void>(x.number()); }),
                HasSubstr("use read()"));
    EXPECT_THROW(static_cast<void>(session.tensor({ValueType::integer, Shape{1}, {0.5}})),
                 ShapeError);
    EXPECT_THROW(EagerSession(*backend, {.max_pending = 0}), ConfigError);
    EXPECT_EQ(session.statistics().pending, 0);
}

TEST_F(EagerSessionTest, MemoryComesBack) {
    const std::int64_t before = backend->memory().used;
    {
        EagerSession brief(*backend);
        EagerTensor x = brief.tensor(Tensor(ValueType::real, Shape{1000}));
        for (int step = 0; step < 5; ++step) {
            x = x + 1.0;
            brief.run();
        }
        // As the backend counts them: 1000 words, and what puts them on a border.
        EXPECT_GE(brief.statistics().live_bytes, 4000);
        EXPECT_LT(brief.statistics().live_bytes, 4200);
        EXPECT_EQ(brief.statistics().pooled_bytes, brief.statistics().live_bytes);
        EXPECT_GE(brief.statistics().peak_bytes, 8000);
        brief.trim();
        EXPECT_EQ(brief.statistics().pooled_bytes, 0);
        EXPECT_EQ(x.read().elements[999], 5);
    }
    backend->trim();
    EXPECT_EQ(backend->memory().used, before);
}

}  // namespace
}  // namespace cambrian
