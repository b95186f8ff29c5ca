#include <array>
#include <optional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/eager/eager_operations.hpp"
#include "cambrian/engine/eager/gradient_tape.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;

class GradientTapeTest : public ::testing::Test {
  protected:
    EagerTensor vector_of(std::vector<double> elements) {
        const auto length = static_cast<std::int64_t>(elements.size());
        return session.tensor({ValueType::real, Shape{length}, std::move(elements)});
    }
    EagerTensor host_square(const EagerTensor& x) {
        const ValueInfo info{x.type(), x.shape()};
        return session.record_host(std::array{x}, std::array{info},
                                   [](std::span<const Tensor> operands) {
                                       Tensor result = operands[0];
                                       for (double& element : result.elements) element *= element;
                                       return std::vector<Tensor>{result};
                                   })[0];
    }
    std::unique_ptr<Backend> backend = make_cpu_backend({});
    EagerSession session{*backend};
};

TEST_F(GradientTapeTest, GradientsAreThoseOfTheGraph) {
    const EagerTensor x = vector_of({1, 2, 3});
    GradientTape tape(session);
    const EagerTensor loss = sum_all(x * x * x);
    EXPECT_THAT(tape.gradient(loss, std::array{x})[0].read().elements, ElementsAre(3, 12, 27));
    EXPECT_EQ(tape.size(), 4U);  // Two products, the sum, and the gradient itself.
    EXPECT_EQ(session.statistics().batches, 1);
}

TEST_F(GradientTapeTest, AValueThatWasReadIsStillOnTheTape) {
    const EagerTensor x = vector_of({1, 2, 3});
    GradientTape tape(session);
    const EagerTensor y = x * x;
    const EagerTensor loss = sum_all(y);
    EXPECT_EQ(loss.number(), 14);
    const auto gradients = tape.gradient(loss, std::array{y, x, loss});
    EXPECT_THAT(gradients[0].read().elements, ElementsAre(1, 1, 1));
    EXPECT_THAT(gradients[1].read().elements, ElementsAre(2, 4, 6));
    EXPECT_EQ(gradients[2].number(), 1);
}

TEST_F(GradientTapeTest, WhatCameBeforeTheTapeIsConstant) {
    const EagerTensor x = vector_of({1, 2, 3});
    const EagerTensor before = x * 10.0;
    GradientTape tape(session);
    const EagerTensor loss = sum_all(before * x);
    EXPECT_THAT(tape.gradient(loss, std::array{x})[0].read().elements, ElementsAre(10, 20, 30));
}

TEST_F(GradientTapeTest, TapesNest) {
    const EagerTensor x = vector_of({2, 3});
    GradientTape outer(session);
    std::optional<EagerTensor> slope;
    {
        GradientTape inner(session);
        slope = sum_all(inner.gradient(sum_all(x * x * x), std::array{x})[0]);
    }
    EXPECT_THAT(outer.gradient(*slope, std::array{x})[0].read().elements, ElementsAre(12, 18));
}

TEST_F(GradientTapeTest, AWrongQuestionIsRefused) {
    const EagerTensor x = vector_of({1, 2});
    const EagerTensor stranger = vector_of({1, 2});
    const EagerTensor early = sum_all(x);
    GradientTape tape(session);
    const EagerTensor y = x * x;
    const EagerTensor loss = sum_all(y);
    EXPECT_THROW(static_cast<void>(tape.gradient(y, std::array{x})), ShapeError);
    EXPECT_THROW(static_cast<void>(tape.gradient(loss, std::array{stranger})), ShapeError);
    EXPECT_THROW(static_cast<void>(tape.gradient(early, std::array{x})), ShapeError);
    const EagerTensor through_host = sum_all(host_square(x));
    EXPECT_THROW(static_cast<void>(tape.gradient(through_host, std::array{x})), ShapeError);
    // Beside the path it does no harm.
    const EagerTensor beside = sum_all(host_square(stranger) * x);
    EXPECT_THAT(tape.gradient(beside, std::array{x})[0].read().elements, ElementsAre(1, 4));
}

TEST_F(GradientTapeTest, AStoppedTapeRecordsNothingMore) {
    const EagerTensor x = vector_of({1, 2});
    GradientTape tape(session);
    const EagerTensor y = sum_all(x * x);
    tape.stop();
    const EagerTensor z = y * y;
    EXPECT_THROW(static_cast<void>(tape.gradient(z, std::array{x})), ShapeError);
    EXPECT_THAT(tape.gradient(y, std::array{x})[0].read().elements, ElementsAre(2, 4));
    tape.clear();
    EXPECT_EQ(tape.size(), 0U);
}

TEST_F(GradientTapeTest, DescendsALineInOneProgramAStep) {
    // y = 3 x - 1 from eight points.
    std::vector<double> inputs;
    std::vector<double> outputs;
    for (int i = 0; i < 8; ++i) {
        inputs.push_back(0.25 * i - 1);
        outputs.push_back(3 * inputs.back() - 1);
    }
    const EagerTensor x = vector_of(inputs);
    const EagerTensor y = vector_of(outputs);
    std::array parameters{session.tensor(Tensor::scalar(0)), session.tensor(Tensor::scalar(0))};
    for (int step = 0; step < 200; ++step) {
        GradientTape tape(session);
        const EagerTensor loss = mean_all(square(parameters[0] * x + parameters[1] - y));
        const auto gradients = tape.gradient(loss, parameters);
        for (std::size_t i = 0; i < parameters.size(); ++i)
            parameters[i] = parameters[i] - 0.5 * gradients[i];
        session.run();
    }
    EXPECT_NEAR(parameters[0].number(), 3, 1e-3);
    EXPECT_NEAR(parameters[1].number(), -1, 1e-3);
    EXPECT_EQ(session.statistics().program_misses, 1);
    EXPECT_EQ(session.statistics().batches, 200);
}

}  // namespace
}  // namespace cambrian
