#include <gmock/gmock.h>

#include <utility>
#include <vector>

#include "cambrian/tests/gpu/support/program_support.hpp"

namespace cambrian::test {
namespace {

using ::testing::Each;

using TransferTest = ProgramTest;

TEST_F(TransferTest, OutputsOfSeveralRunsInOneBufferAreAllRead) {
    const auto program = backend_->compile(small_graph(3));
    const auto x = buffer(numbers(3));
    const auto w = buffer(numbers(3 * 10));
    const auto output = backend_->allocate(ValueType::real, 3 * 10);
    for (const auto& [first, count] : {std::pair(4, 6), {0, 3}, {3, 1}})
        program->run(count, std::vector<Binding>{{x.get()}, {w.get(), 3 * first}},
                     std::vector<Binding>{{output.get(), 3 * first}});
    const VulkanStatistics before = statistics();
    EXPECT_EQ(reals(*output), expected_small(numbers(3), numbers(3 * 10)));
    EXPECT_EQ(statistics().submits, before.submits) << "the runs have brought everything back";
    const std::vector<float> written{7.0F, 8.0F};
    backend_->upload(*output, 5, std::span<const float>(written));
    std::vector<float> expected = expected_small(numbers(3), numbers(3 * 10));
    std::copy(written.begin(), written.end(), expected.begin() + 5);
    EXPECT_EQ(reals(*output), expected);
}

TEST_F(TransferTest, LargeOutputsAreReadWhenAskedFor) {
    const std::int64_t population = 70000;
    const std::vector<float> x = numbers(17);
    const std::vector<float> w = numbers(17 * population);
    const auto inputs = std::pair(buffer(x), buffer(w));
    const auto output = backend_->allocate(ValueType::real, 17 * population);
    backend_->compile(small_graph(17))
        ->run(population, std::vector<Binding>{{inputs.first.get()}, {inputs.second.get()}},
              std::vector<Binding>{{output.get()}});
    EXPECT_EQ(reals(*output), expected_small(x, w));
}

TEST_F(TransferTest, NewBuffersHoldZeros) {
    auto dirty = buffer(numbers(1000, 5.0F));
    (void)reals(*dirty);
    dirty.reset();
    const auto clean = backend_->allocate(ValueType::real, 1000);
    EXPECT_THAT(reals(*clean), Each(0.0F));
}

TEST_F(TransferTest, WhatABufferThatIsGoneWasToHoldTakesNoRoom) {
    VulkanOptions options = test_vulkan_options();
    options.poison = false;  // It would send at once what is written below.
    const auto backend = make_vulkan_backend(options);
    const auto kept = backend->allocate(ValueType::real, 3);
    std::vector<float> values(3);
    backend->download(*kept, 0, std::span(values));
    {
        // As much as an upload holds before it sends some of it.
        const std::vector<float> many(std::size_t{16} << 20U, 1.0F);
        const auto gone = backend->allocate(ValueType::real, std::ssize(many));
        backend->upload(*gone, 0, std::span(many));
    }
    const std::vector<float> expected{1.0F, 2.0F, 3.0F};
    backend->upload(*kept, 0, std::span(expected));
    backend->download(*kept, 0, std::span(values));
    EXPECT_EQ(values, expected);
}

TEST_F(TransferTest, ConvertsEveryTypeBothWaysInOddRanges) {
    const auto real = backend_->allocate(ValueType::real, 11);
    const auto integer = backend_->allocate(ValueType::integer, 11);
    backend_->upload(*real, 3, std::vector<double>{0.1, -2.5, 1e30});
    backend_->upload(*real, 0, std::vector<std::int32_t>{7, -8});
    backend_->upload(*integer, 9, std::vector<float>{2.75F, -3.5F});
    backend_->upload(*integer, 1, std::vector<double>{-1.25});
    std::vector<double> doubles(6);
    backend_->download(*real, 0, std::span(doubles));
    EXPECT_EQ(doubles, (std::vector<double>{7, -8, 0, static_cast<double>(0.1F), -2.5,
                                            static_cast<double>(1e30F)}));
    std::vector<std::int32_t> words(2);
    backend_->download(*real, 4, std::span(words).first(1));
    EXPECT_EQ(words[0], -2);
    std::vector<float> floats(10);
    backend_->download(*integer, 1, std::span(floats));
    EXPECT_EQ(floats, (std::vector<float>{-1, 0, 0, 0, 0, 0, 0, 0, 2, -3}));
    backend_->download(*real, 5, std::span(floats).first(0));
}

TEST_F(TransferTest, TheLaterOfTwoUploadsToOnePlaceHolds) {
    const auto target = buffer(numbers(100));
    for (int round = 0; round < 3; ++round)
        for (std::int64_t i = 0; i < 100; i += 7)
            backend_->upload(*target, i,
                             std::vector<float>{static_cast<float>(round), static_cast<float>(i)});
    std::vector<float> expected = numbers(100);
    for (std::size_t i = 0; i < 100; i += 7) {
        expected[i] = 2.0F;
        if (i + 1 < 100) expected[i + 1] = static_cast<float>(i);
    }
    EXPECT_EQ(reals(*target), expected);
}

TEST_F(TransferTest, UploadsWithGapsInAnyOrderAreOneSubmission) {
    const auto targets = std::pair(buffer(numbers(700)), buffer(numbers(300, 2.0F)));
    std::vector<float> expected = numbers(700);
    const VulkanStatistics before = statistics();
    for (std::int64_t i = 99; i >= 0; --i) {
        backend_->upload(*targets.first, 7 * i + 1, std::vector<std::int32_t>{-1, -2, -3});
        for (const std::int64_t k : {1, 2, 3})
            expected[static_cast<std::size_t>(7 * i + k)] = static_cast<float>(-k);
    }
    EXPECT_EQ(reals(*targets.first), expected);
    EXPECT_EQ(reals(*targets.second), numbers(300, 2.0F));
    EXPECT_EQ(statistics().submits - before.submits, 2);
}

TEST_F(TransferTest, UploadsLargerThanTheStagingPassInPieces) {
    const std::vector<float> values = numbers(std::int64_t{19} << 20);
    const auto target = buffer(values);
    const auto other = buffer(numbers(5));
    EXPECT_EQ(reals(*target), values);
    EXPECT_EQ(reals(*other), numbers(5));
}

TEST_F(TransferTest, LentWordsArriveInTheOrderOfTheCalls) {
    constexpr std::int64_t count = 20'000;
    const auto target = buffer(numbers(count + 7));
    std::vector<float> expected = numbers(count + 7);
    // Each lent room is used again once the device has read it, and not before.
    for (int round = 0; round < 4; ++round) {
        const std::span<float> lent = backend_->reals_to_write(*target, 5, count);
        ASSERT_EQ(lent.size(), static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < lent.size(); ++i)
            expected[i + 5] = lent[i] = static_cast<float>(i) + static_cast<float>(round);
        const std::vector<float> after{-1.0F, -2.0F};
        backend_->upload(*target, count - 1, std::span<const float>(after));
        std::copy(after.begin(), after.end(), expected.begin() + count - 1);
        if (round % 2 == 1) {
            EXPECT_EQ(reals(*target), expected) << round;
        }
    }
    EXPECT_TRUE(backend_->reals_to_write(*target, 0, 10).empty()) << "few words are uploaded";
    EXPECT_EQ(reals(*target), expected);
}

TEST_F(TransferTest, BuffersMayEndBeforeTheDeviceHasUsedThem) {
    const std::vector<float> x = numbers(9);
    const std::vector<float> w = numbers(9 * 100);
    const auto output = backend_->allocate(ValueType::real, 9 * 100);
    {
        const auto inputs = std::pair(buffer(x), buffer(w));
        const auto unused = buffer(numbers(50));
        const auto program = backend_->compile(small_graph(9));
        program->run(100, std::vector<Binding>{{inputs.first.get()}, {inputs.second.get()}},
                     std::vector<Binding>{{output.get()}});
    }
    const auto other = buffer(numbers(9 * 100, 3.0F));
    EXPECT_EQ(reals(*output), expected_small(x, w));
    EXPECT_EQ(reals(*other), numbers(9 * 100, 3.0F));
}

}  // namespace
}  // namespace cambrian::test
