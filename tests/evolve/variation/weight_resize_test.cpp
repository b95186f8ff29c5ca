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

using Rows = std::vector<std::vector<float>>;

/// What a parameter of a lone mamba block of 3 features has, by rows of its last axis.
Rows mamba_rows(const Mamba& layer, const std::vector<float>& weights, std::string_view name) {
    std::size_t at = 0;
    for (const ParameterSpec& spec : layer.parameters()) {
        const auto count = static_cast<std::size_t>(spec.shape.elements());
        if (spec.name == name) {
            Rows rows;
            const auto width = static_cast<std::size_t>(spec.shape[-1]);
            for (std::size_t row = at; row < at + count; row += width) {
                const auto first = weights.begin() + static_cast<std::ptrdiff_t>(row);
                rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(width));
            }
            return rows;
        }
        at += count;
    }
    return {};
}

Rows part_of(const Rows& rows, std::int64_t first, std::int64_t count) {
    return {rows.begin() + first, rows.begin() + first + count};
}

TEST(ResizeWeights, KeepsWhatTwoSizesOfAMambaBothHave) {
    const auto described = [](const Mamba& layer) {
        return test::blueprint_of(R"({"layers": [{"type": "mamba", "expand": 1, "state": )" +
                                      std::to_string(layer.state_size) + R"(, "kernel": )" +
                                      std::to_string(layer.kernel) + R"(, "dt_rank": )" +
                                      std::to_string(layer.dt_rank) + R"(}, {"type": "dense"}]})",
                                  3, 1);
    };
    const auto block = [](const Blueprint& blueprint) {
        return std::get<Mamba>(blueprint.slots[0]->layer.variant());
    };
    const auto with = [](std::int64_t states, std::int64_t rank, std::int64_t kernel) {
        Mamba layer;
        layer.state_size = states;
        layer.dt_rank = rank;
        layer.kernel = kernel;
        return layer;
    };
    const Blueprint before = described(with(16, 1, 4));
    const Mamba old = block(before);
    const std::vector<float> weights = counted(Network(before).weight_count(), 10.0F);
    for (const Mamba& own :
         {with(17, 1, 4), with(8, 1, 4), with(16, 2, 4), with(16, 1, 3), with(16, 1, 5)}) {
        const Blueprint after = described(own);
        RandomStream rng(random_key(1, "test.resize"), 0);
        const auto edits = resize_weights(rng, before, after, NewWeights::fresh);
        ASSERT_TRUE(edits.has_value());
        const std::vector<float> all = edited(weights, *edits);
        ASSERT_EQ(std::ssize(all), Network(after).weight_count());
        const Rows rows = mamba_rows(block(after), all, "x_proj");
        const Rows old_rows = mamba_rows(old, weights, "x_proj");
        const std::int64_t states = std::min(own.state_size, old.state_size);
        EXPECT_EQ(part_of(rows, 0, 1), part_of(old_rows, 0, 1)) << "of the time step";
        EXPECT_EQ(part_of(rows, own.dt_rank, states), part_of(old_rows, 1, states)) << "B";
        EXPECT_EQ(part_of(rows, own.dt_rank + own.state_size, states),
                  part_of(old_rows, 1 + old.state_size, states))
            << "C";
        const Rows taps = mamba_rows(block(after), all, "conv_weight");
        const Rows old_taps = mamba_rows(old, weights, "conv_weight");
        const std::int64_t kept = std::min(own.kernel, old.kernel);
        for (std::size_t channel = 0; channel < 3; ++channel) {
            EXPECT_TRUE(std::equal(taps[channel].end() - kept, taps[channel].end(),
                                   old_taps[channel].end() - kept))
                << "the last tap is now";
        }
        EXPECT_EQ(mamba_rows(block(after), all, "out_proj"), mamba_rows(old, weights, "out_proj"));
    }
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
