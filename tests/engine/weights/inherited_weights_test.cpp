#include "cambrian/engine/weights/inherited_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

// What becomes of the weights of a child, against its formulas one element at a time.
namespace cambrian {
namespace {

constexpr RandomKey key{77};

RandomField field(std::uint32_t lane) {
    return {key, 0x500000003U, lane};
}

WeightDraws some_draws() {
    return {.choose = field(1),
            .noise = field(2),
            .replace = field(3),
            .fresh = field(4),
            .share = 0.3F,
            .noise_power = 0.2F,
            .replace_rate = 0.4F};
}

std::vector<float> values(std::size_t count, std::uint32_t lane) {
    std::vector<float> result(count);
    field(lane).fill_normal(0, result);
    return result;
}

float uniform(const RandomField& of, std::int64_t number) {
    float value = 0.0F;
    of.fill_uniform(static_cast<std::uint64_t>(number), {&value, 1});
    return value;
}

float normal(const RandomField& of, std::int64_t number) {
    float value = 0.0F;
    of.fill_normal(static_cast<std::uint64_t>(number), {&value, 1});
    return value;
}

TEST(RandomField, AnyPartIsAPartOfTheWhole) {
    std::vector<float> uniforms(2000);
    std::vector<float> normals(2000);
    field(9).fill_uniform(0, uniforms);
    field(9).fill_normal(0, normals);
    for (const std::size_t first : {0U, 1U, 2U, 3U, 4U, 5U, 63U, 255U, 1022U})
        for (const std::size_t count : {0U, 1U, 2U, 3U, 4U, 7U, 33U, 300U}) {
            std::vector<float> part(count);
            field(9).fill_uniform(first, part);
            EXPECT_TRUE(std::ranges::equal(part, std::span(uniforms).subspan(first, count)));
            field(9).fill_normal(first, part);
            EXPECT_TRUE(std::ranges::equal(part, std::span(normals).subspan(first, count)));
        }
    EXPECT_NE(uniform(field(9), 5), uniform(field(10), 5));
}

TEST(Similarity, IsTheCosineInItsOwnOrderOfSums) {
    for (const std::size_t count : {1U, 31U, 32U, 33U, 4095U, 4096U, 4097U, 20000U}) {
        const std::vector<float> a = values(count, 20);
        std::vector<float> b = values(count, 21);
        for (std::size_t i = 0; i < count; ++i) b[i] += a[i];
        double product = 0.0;
        double first = 0.0;
        double second = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
            product += double{a[i]} * double{b[i]};
            first += double{a[i]} * double{a[i]};
            second += double{b[i]} * double{b[i]};
        }
        const SimilaritySums sums = similarity_sums(a, b);
        EXPECT_NEAR(double{similarity(sums)}, product / std::sqrt(first) / std::sqrt(second), 2e-6);
    }
}

TEST(Similarity, OfZerosAndOfWhatIsTooLarge) {
    const std::vector<float> zeros(5);
    const std::vector<float> ones(5, 1.0F);
    const std::vector<float> huge(5, 3e38F);
    EXPECT_EQ(similarity(similarity_sums(zeros, zeros)), 1.0F);
    EXPECT_EQ(similarity(similarity_sums(zeros, ones)), 0.0F);
    EXPECT_EQ(similarity(similarity_sums(huge, ones)), 0.0F);
    EXPECT_EQ(similarity(similarity_sums(ones, ones)), 1.0F);
    const std::vector<float> opposite(5, -1.0F);
    EXPECT_EQ(similarity(similarity_sums(ones, opposite)), -1.0F);
    EXPECT_EQ(blend_share(similarity_sums(ones, opposite), 0.5F), 0.0F);
}

TEST(WriteWeights, EverySourceIsItsFormula) {
    const WeightDraws draws = some_draws();
    const std::vector<float> first = values(6000, 30);
    std::vector<float> second = values(6000, 31);
    for (std::size_t i = 0; i < 4500; ++i) second[40 + i] += first[100 + i];  // alike, not equal
    const std::vector<float> literals = values(50, 32);
    const InitialRule rule{.initial = Initial::weight, .bound = 0.5F, .period = 1};
    // Lengths that begin in the middle of a block of random words.
    std::vector<WeightPiece> pieces{
        {.to = 0, .from = 5, .count = 7},
        {.to = 7, .from = 3, .count = 50, .source = WeightSource::literal},
        {.to = 57, .from = 100, .other = 40, .count = 4500, .source = WeightSource::blend},
        {.to = 4557, .from = 12, .other = 900, .count = 1301, .source = WeightSource::choose},
        {.to = 5858, .count = 3, .source = WeightSource::initial, .initial = rule},
        {.to = 5861, .other = 11, .count = 139, .source = WeightSource::second}};
    pieces[1].from = 0;
    for (WeightPiece& piece : pieces) {
        piece.noise = piece.source != WeightSource::initial;
        piece.replace = piece.source == WeightSource::choose;
        piece.initial = rule;
    }
    std::vector<float> child(6000, std::numeric_limits<float>::quiet_NaN());
    write_weights(draws, pieces, {first, second, literals}, child);
    const float share = blend_share(
        similarity_sums(std::span(first).subspan(100, 4500), std::span(second).subspan(40, 4500)),
        draws.share);
    EXPECT_GT(share, 0.5F * draws.share);
    EXPECT_LT(share, 0.9F * draws.share);
    for (const WeightPiece& piece : pieces)
        for (std::int64_t i = 0; i < piece.count; ++i) {
            const std::int64_t number = piece.to + i;
            const auto of = [](const std::vector<float>& all, std::int64_t index) {
                return all.at(static_cast<std::size_t>(index));
            };
            const float fresh = (2.0F * uniform(draws.fresh, number) - 1.0F) * rule.bound;
            float expected = 0.0F;
            switch (piece.source) {
                case WeightSource::first:
                    expected = of(first, piece.from + i);
                    break;
                case WeightSource::second:
                    expected = of(second, piece.other + i);
                    break;
                case WeightSource::literal:
                    expected = of(literals, piece.from + i);
                    break;
                case WeightSource::initial:
                    expected = fresh;
                    break;
                case WeightSource::blend:
                    expected = (1.0F - share) * of(first, piece.from + i) +
                               share * of(second, piece.other + i);
                    break;
                default:
                    expected = uniform(draws.choose, number) < draws.share
                                   ? of(second, piece.other + i)
                                   : of(first, piece.from + i);
            }
            if (piece.noise) expected += draws.noise_power * normal(draws.noise, number);
            if (piece.replace && uniform(draws.replace, number) < draws.replace_rate)
                expected = fresh;
            ASSERT_EQ(of(child, number), expected) << number;
        }
}

TEST(WriteWeights, AGeneInPiecesIsBlendedAsOne) {
    const std::vector<float> first = values(300, 40);
    const std::vector<float> second = values(300, 41);
    const WeightDraws draws = some_draws();
    std::vector<float> whole(300);
    std::vector<float> parts(300);
    const std::vector<WeightPiece> one{{.count = 300, .source = WeightSource::blend}};
    const std::vector<WeightPiece> two{{.count = 120, .whole = 300, .source = WeightSource::blend},
                                       {.to = 120,
                                        .from = 120,
                                        .other = 120,
                                        .count = 180,
                                        .before = 120,
                                        .whole = 300,
                                        .source = WeightSource::blend}};
    write_weights(draws, one, {first, second, {}}, whole);
    write_weights(draws, two, {first, second, {}}, parts);
    EXPECT_EQ(whole, parts);
}

TEST(WriteWeights, NoiseStaysFinite) {
    const std::vector<float> first(64, 3.4e38F);
    WeightDraws draws = some_draws();
    draws.noise_power = 3e38F;
    std::vector<float> child(64);
    const std::vector<WeightPiece> pieces{{.count = 64, .noise = true}};
    write_weights(draws, pieces, {first, {}, {}}, child);
    EXPECT_TRUE(std::ranges::all_of(child, [](float x) { return std::isfinite(x); }));
}

}  // namespace
}  // namespace cambrian
