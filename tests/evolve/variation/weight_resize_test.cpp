#include "cambrian/evolve/variation/weight_resize.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::evolve {
namespace {

std::vector<float> edited(std::vector<float> weights, const std::vector<WeightEdit>& edits) {
    for (const WeightEdit& edit : edits) {
        const auto at = weights.begin() + edit.at;
        const auto next = weights.erase(at, at + edit.erased);
        weights.insert(next, edit.inserted.begin(), edit.inserted.end());
    }
    return weights;
}

std::vector<float> counted(std::int64_t count, float first) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
}

std::vector<float> resized(std::vector<std::int64_t> before, std::vector<std::int64_t> after,
                           std::size_t first_centred = 9) {
    const auto elements = [](const std::vector<std::int64_t>& extents) {
        return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies());
    };
    const std::vector<float> values = counted(elements(after), 100.0F);
    std::vector<WeightEdit> edits;
    const std::vector<float> old = counted(elements(before), 1.0F);
    resize_tensor(edits, 0, {std::move(before)}, {std::move(after), 0, 1, first_centred}, values);
    return edited(old, edits);
}

TEST(ResizeTensor, KeepsWhatBothSizesHave) {
    EXPECT_EQ(resized({2, 2}, {2, 2}), (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(resized({2, 2}, {3, 3}), (std::vector<float>{1, 2, 102, 3, 4, 105, 106, 107, 108}));
    EXPECT_EQ(resized({3, 3}, {2, 2}), (std::vector<float>{1, 2, 4, 5}));
    EXPECT_EQ(resized({2, 3}, {3, 1}), (std::vector<float>{1, 4, 102}));
    EXPECT_EQ(resized({2, 1, 2}, {2, 2, 1}), (std::vector<float>{1, 101, 3, 103}));
}

TEST(ResizeTensor, GrowsKernelsAtBothEnds) {
    EXPECT_EQ(resized({1, 2}, {1, 4}, 1), (std::vector<float>{100, 1, 2, 103}));
    EXPECT_EQ(resized({2, 3}, {2, 1}, 1), (std::vector<float>{2, 5}));
    EXPECT_EQ(resized({1, 1, 1}, {1, 3, 3}, 1),
              (std::vector<float>{100, 101, 102, 103, 1, 105, 106, 107, 108}));
}

/// The edits of a whole network whose first layer, of gates, gets a unit more.
TEST(ResizeWeights, KnowsGatesAndWhoReadsThem) {
    const auto described = [](std::int64_t hidden) {
        return test::blueprint_of(R"({"layers": [{"type": "ugrnn", "hidden": )" +
                                      std::to_string(hidden) + R"(}, {"type": "dense"}]})",
                                  1, 1);
    };
    const Blueprint before = described(1);
    const Blueprint after = described(2);
    RandomStream rng(random_key(1, "test.resize"), 0);
    const auto edits = resize_weights(rng, before, after, NewWeights::keep_function);
    ASSERT_TRUE(edits.has_value());
    // weight_ih [2 gates, 1], weight_hh [2, 1], bias [2], then the head [1, 1] and its bias.
    const std::vector<float> all = edited({1, 2, 3, 4, 5, 6, 7, 8}, *edits);
    const Network network(after);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(network.weight_count()));
    EXPECT_EQ(all[0], 1.0F);  // candidate, unit 0
    EXPECT_EQ(all[2], 2.0F);  // gate, unit 0
    EXPECT_EQ(all[4], 3.0F);  // candidate 0 of state 0
    EXPECT_EQ(all[5], 0.0F);  // it does not read the new state
    EXPECT_NE(all[6], 0.0F);  // what is new reads both
    EXPECT_EQ(all[8], 4.0F);  // gate 0 of state 0
    EXPECT_EQ(all[9], 0.0F);
    EXPECT_EQ(all[12], 5.0F);  // biases
    EXPECT_EQ(all[14], 6.0F);
    EXPECT_EQ(all[16], 7.0F);  // the head
    EXPECT_EQ(all[17], 0.0F);
    EXPECT_EQ(all[18], 8.0F);
}

TEST(ResizeWeights, SpreadsAGainThatBecomesAProjection) {
    const auto described = [](std::int64_t width) {
        return test::blueprint_of(R"({"layers": [{"type": "dense", "out": )" +
                                      std::to_string(width) +
                                      R"(, "bias": false}, {"type": "dense", "bias": false}],
                                  "links": [{"source": 0, "target": "head"},
                                            {"source": "input", "target": "head"}]})",
                                  2, 1);
    };
    RandomStream rng(random_key(1, "test.resize"), 0);
    const Blueprint before = described(2);
    const auto edits = resize_weights(rng, before, described(3), NewWeights::keep_function);
    ASSERT_TRUE(edits.has_value());
    // [2, 2], [1, 2], and gains of the input and of slot 0.
    const std::vector<float> all = edited({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, *edits);
    ASSERT_EQ(all.size(), 6U + 3U + 6U + 3U);
    EXPECT_EQ(std::vector<float>(all.begin() + 6, all.begin() + 9), (std::vector<float>{5, 6, 0}));
    EXPECT_EQ(std::vector<float>(all.begin() + 9, all.end()),
              (std::vector<float>{7, 0, 0, 8, 0, 0, 9, 10, 0}));
    // The other way there is no place for what the projection says.
    EXPECT_FALSE(resize_weights(rng, described(3), before, NewWeights::keep_function).has_value());
}

}  // namespace
}  // namespace cambrian::evolve
