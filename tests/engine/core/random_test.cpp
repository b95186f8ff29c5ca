#include "cambrian/engine/core/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

TEST(Philox, ReproducesThePublishedVectors) {
    EXPECT_THAT(philox({0, 0, 0, 0}, 0),
                ElementsAre(0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U));
    constexpr std::uint32_t all = 0xffffffffU;
    EXPECT_THAT(philox({all, all, all, all}, ~std::uint64_t{0}),
                ElementsAre(0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU));
    EXPECT_THAT(philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, 0x299f31d0a4093822U),
                ElementsAre(0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U));
}

TEST(RandomStream, DrawsTheWordsOfItsCounter) {
    const RandomKey key = random_key(5, "test");
    RandomStream stream(key, 0x900000007U);
    for (std::uint32_t draw = 0; draw < 20; ++draw) {
        EXPECT_EQ(stream.bits(), philox({draw / 4, 0, 7, 9}, key.value)[draw % 4]);
    }
}

TEST(RandomStream, NormalIsTheDocumentedFormula) {
    RandomStream words({11}, 3);
    RandomStream normals({11}, 3);
    for (int i = 0; i < 1000; ++i) {
        const float u = 1.0F - words.uniform();
        const float v = words.uniform();
        const float radius = elementary::sqrt(-2.0F * elementary::log(u));
        EXPECT_EQ(normals.normal(), radius * elementary::sin_of_turn(v, 1U));
    }
}

TEST(RandomStream, TurnsAreSinesAndCosines) {
    constexpr double two_pi = 6.283185307179586;
    for (std::uint32_t i = 0; i < (1U << 24); i += 37) {
        const float turn = uniform_from_bits(i << 8);
        EXPECT_NEAR(elementary::sin_of_turn(turn, 0U), std::sin(two_pi * double{turn}), 1.2e-7);
        EXPECT_NEAR(elementary::sin_of_turn(turn, 1U), std::cos(two_pi * double{turn}), 1.2e-7);
    }
}

TEST(RandomField, HasThePairsOfItsUniforms) {
    const RandomField field{{3}, 8, 5};
    std::vector<float> uniforms(1000);
    field.fill_uniform(0, uniforms);
    for (const std::size_t count : {1U, 2U, 7U, 255U, 256U, 257U, 1000U}) {
        std::vector<float> normals(count);
        field.fill_normal(0, normals);
        for (std::size_t i = 0; i < count; i += 2) {
            const float radius = elementary::sqrt(-2.0F * elementary::log(1.0F - uniforms[i]));
            const float turn = uniforms[i + 1];
            EXPECT_EQ(normals[i], radius * elementary::sin_of_turn(turn, 1U));
            if (i + 1 < count) {
                EXPECT_EQ(normals[i + 1], radius * elementary::sin_of_turn(turn, 0U));
            }
        }
    }
}

TEST(RandomStream, FillsWithTheUniformsItWouldDraw) {
    RandomStream filled({3}, 8);
    RandomStream drawn({3}, 8);
    std::vector<float> uniforms(1003);
    filled.fill_uniform(uniforms);
    for (const float uniform : uniforms) {
        EXPECT_EQ(uniform, drawn.uniform());
    }
    EXPECT_EQ(filled.bits(), drawn.bits());
}

TEST(RandomStream, NormalsHaveTheMomentsOfANormal) {
    RandomStream stream({77}, 1);
    std::vector<float> normals(400000);
    stream.field().fill_normal(0, normals);
    double sums[5] = {};
    for (const float normal : normals) {
        const auto x = static_cast<double>(normal);
        sums[1] += x;
        sums[2] += x * x;
        sums[3] += x * x * x;
        sums[4] += x * x * x * x;
    }
    const auto count = static_cast<double>(normals.size());
    EXPECT_NEAR(sums[1] / count, 0.0, 0.008);
    EXPECT_NEAR(sums[2] / count, 1.0, 0.012);
    EXPECT_NEAR(sums[3] / count, 0.0, 0.03);
    EXPECT_NEAR(sums[4] / count, 3.0, 0.08);
}

TEST(RandomStream, IndexIsUniform) {
    RandomStream stream({1}, 1);
    std::vector<int> counts(7);
    for (int i = 0; i < 70000; ++i) {
        ++counts[stream.index(7)];
    }
    EXPECT_THAT(counts, Each(::testing::AllOf(::testing::Gt(9500), ::testing::Lt(10500))));
    EXPECT_EQ(stream.index(1), 0U);
}

TEST(RandomStream, ChanceSpendsOneDrawEvenWhenItIsCertain) {
    RandomStream certain({1}, 1);
    RandomStream words({1}, 1);
    EXPECT_FALSE(certain.chance(0.0F));
    EXPECT_TRUE(certain.chance(1.0F));
    (void)words.bits();
    (void)words.bits();
    EXPECT_EQ(certain.bits(), words.bits());
}

TEST(RandomKey, DependsOnSeedPurposeAndIsland) {
    const RandomKey key = random_key(1, "mutation", 0);
    EXPECT_EQ(key, random_key(1, "mutation"));
    EXPECT_NE(key, random_key(2, "mutation"));
    EXPECT_NE(key, random_key(1, "splice"));
    EXPECT_NE(key, random_key(1, "mutation", 1));
}

}  // namespace
}  // namespace cambrian
