#include "cambrian/engine/weights/quantised_matrix.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/tests/support/golden_directory.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::vector<Dtype> all_dtypes() {
    std::vector<Dtype> all;
    for (std::size_t i = 0; i < dtype_count; ++i) all.push_back(static_cast<Dtype>(i));
    return all;
}

std::vector<float> normal_numbers(std::int64_t count, std::uint64_t seed) {
    std::vector<float> numbers(static_cast<std::size_t>(count));
    RandomStream stream(random_key(seed, "numbers"), 0);
    for (float& number : numbers) number = stream.normal();
    return numbers;
}

std::vector<float> stored(Dtype dtype, MatrixExtents extents, const std::vector<float>& numbers) {
    std::vector<float> result(numbers.size());
    dequantise(quantise(QuantisationScheme(dtype), extents, numbers), result);
    return result;
}

/// All finite numbers of a small float, from their fields.
std::vector<double> small_floats(int exponent_bits, int fraction_bits, double largest) {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    std::vector<double> all;
    for (int exponent = 0; exponent < 1 << exponent_bits; ++exponent)
        for (int fraction = 0; fraction < 1 << fraction_bits; ++fraction) {
            const double significand = fraction + (exponent == 0 ? 0 : 1 << fraction_bits);
            const double number =
                std::ldexp(significand, std::max(exponent, 1) - bias - fraction_bits);
            if (number <= largest) all.push_back(number);
        }
    return all;  // Ascending; a number's place is even iff its fraction is.
}

double nearest(const std::vector<double>& magnitudes, double x) {
    x = std::clamp(x, -magnitudes.back(), magnitudes.back());
    std::size_t best = 0;
    for (std::size_t i = 1; i < magnitudes.size(); ++i) {
        const double before = std::fabs(std::fabs(x) - magnitudes[best]);
        const double now = std::fabs(std::fabs(x) - magnitudes[i]);
        if (now < before || (now == before && i % 2 == 0)) best = i;
    }
    return std::copysign(magnitudes[best], x);
}

/// The definition of each format, as plain as it can be said: what a group of numbers becomes.
std::vector<float> defined(Dtype dtype, const std::vector<float>& group) {
    double largest = 0.0, low = 0.0, high = 0.0, sum = 0.0;
    float first_largest = 0.0F;
    for (const float x : group) {
        if (std::fabs(x) > std::fabs(first_largest)) first_largest = x;
        largest = std::max(largest, static_cast<double>(std::fabs(x)));
        low = std::min(low, static_cast<double>(x));
        high = std::max(high, static_cast<double>(x));
        sum += static_cast<double>(std::fabs(x));
    }
    const auto with = [&](double scale, auto quantised) {
        const auto rounded = scale == 0.0 ? 1.0 : static_cast<double>(static_cast<float>(scale));
        std::vector<float> result;
        for (const float x : group)
            result.push_back(
                static_cast<float>(quantised(static_cast<double>(x) / rounded) * rounded));
        return result;
    };
    const auto symmetric = [&](double most) {
        return with(largest / most,
                    [=](double x) { return std::clamp(std::nearbyint(x), -most, most); });
    };
    const auto affine = [&](double most) {
        const double scale =
            high == low ? 1.0 : static_cast<double>(static_cast<float>((high - low) / most));
        const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, most);
        return with(scale, [=](double x) {
            return std::clamp(std::nearbyint(x) + zero, 0.0, most) - zero;
        });
    };
    const auto floating = [&](int exponent_bits, int fraction_bits, double most, double scale) {
        const std::vector<double> magnitudes = small_floats(exponent_bits, fraction_bits, most);
        return with(scale, [=](double x) { return nearest(magnitudes, x); });
    };
    const double mean = group.empty() ? 0.0 : sum / static_cast<double>(group.size());
    switch (dtype) {
        case Dtype::float64:
        case Dtype::float32:
            return group;
        case Dtype::float16:
            return floating(5, 10, 65504.0, 1.0);
        case Dtype::bfloat16: {
            std::vector<float> result;
            for (const float x : group) {
                const auto bits = std::bit_cast<std::uint32_t>(x);
                const std::uint32_t rounded = (bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U;
                result.push_back(std::bit_cast<float>(rounded << 16U));
            }
            return result;
        }
        case Dtype::float8_e4m3fn:
            return floating(4, 3, 448.0, largest / 448.0);
        case Dtype::float8_e5m2:
            return floating(5, 2, 57344.0, largest / 57344.0);
        case Dtype::int64:
            return symmetric(std::ldexp(1.0, 63));
        case Dtype::int32:
            return symmetric(2147483647.0);
        case Dtype::int16:
            return symmetric(32767.0);
        case Dtype::int8:
            return symmetric(127.0);
        case Dtype::int4:
            return symmetric(7.0);
        case Dtype::int2:
            return symmetric(1.0);
        case Dtype::uint64:
            return affine(std::ldexp(1.0, 64));
        case Dtype::uint32:
            return affine(4294967295.0);
        case Dtype::uint16:
            return affine(65535.0);
        case Dtype::uint8:
            return affine(255.0);
        case Dtype::uint4:
            return affine(15.0);
        case Dtype::uint2:
            return affine(3.0);
        case Dtype::float4_e2m1fn:
            return floating(2, 1, 6.0,
                            largest == 0.0 ? 1.0 : std::exp2(std::floor(std::log2(largest)) - 2.0));
        case Dtype::ternary:
            return with(mean, [](double x) { return std::clamp(std::nearbyint(x), -1.0, 1.0); });
        case Dtype::binary: {
            std::vector<float> result;
            for (const float x : group)
                result.push_back((x < 0.0F ? -1.0F : 1.0F) * static_cast<float>(mean));
            return result;
        }
        case Dtype::q4_0: {
            const double d = static_cast<double>(static_cast<float>(first_largest / -8.0F));
            const DtypeRow& half = row(Dtype::float16);
            const double kept = half.decode(half, half.encode(half, d, 0.0));
            std::vector<float> result;
            for (const float x : group)
                result.push_back(
                    d == 0.0
                        ? 0.0F
                        : static_cast<float>(
                              (std::clamp(std::floor(static_cast<double>(x) / d + 8.5), 0.0, 15.0) -
                               8.0) *
                              kept));
            return result;
        }
    }
    return {};
}

/// By groups of a format.
std::vector<float> defined(Dtype dtype, MatrixExtents extents, const std::vector<float>& numbers) {
    const bool blocks = row(dtype).group == ScaleGroup::block;
    std::vector<float> result;
    for (std::int64_t r = 0; r < extents.rows; ++r)
        for (std::int64_t at = 0; at < extents.columns; at += blocks ? 32 : extents.columns) {
            const std::int64_t count =
                std::min(blocks ? std::int64_t{32} : extents.columns, extents.columns - at);
            const auto first = numbers.begin() + (r * extents.columns + at);
            for (const float x : defined(dtype, std::vector<float>(first, first + count)))
                result.push_back(x);
        }
    return result;
}

TEST(QuantisedMatrix, EveryFormatIsItsDefinition) {
    for (const MatrixExtents extents :
         {MatrixExtents{1, 1}, MatrixExtents{3, 7}, MatrixExtents{2, 32}, MatrixExtents{5, 33},
          MatrixExtents{4, 100}, MatrixExtents{1, 257}})
        for (const Dtype dtype : all_dtypes()) {
            const std::vector<float> numbers =
                normal_numbers(extents.elements(), static_cast<std::uint64_t>(extents.columns));
            EXPECT_EQ(stored(dtype, extents, numbers), defined(dtype, extents, numbers))
                << name(dtype) << " of " << extents.rows << " x " << extents.columns;
        }
}

TEST(QuantisedMatrix, TiesSubnormalsAndExtremesAreAsDefined) {
    const float most = std::numeric_limits<float>::max();
    const std::vector<std::vector<float>> rows{
        {0.0F, -0.0F, 0.0F, 0.0F},           {127.0F, 0.5F, 1.5F, -2.5F},
        {7.0F, 3.5F, -0.5F, 2.5F},           {most, -most, 1.0F, 0.0F},
        {0x1p-149F, -0x1p-149F, 0.0F, 0.0F}, {1e-40F, 3e-41F, -2e-42F, 0.0F},
        {255.0F, 0.5F, 1.5F, 2.5F},          {-1.0F, -2.0F, -3.0F, -0.25F},
        {6.0F, 5.0F, 2.5F, 0.25F},           {448.0F, 1.0F, 17.0F, 19.0F}};
    for (const std::vector<float>& numbers : rows)
        for (const Dtype dtype : all_dtypes()) {
            // Halves saturate; scales below a float's least are told apart in the next test.
            if (dtype == Dtype::bfloat16 && numbers[0] == most) continue;
            if (numbers[0] < 1e-30F) continue;
            EXPECT_EQ(stored(dtype, {1, 4}, numbers), defined(dtype, {1, 4}, numbers))
                << name(dtype) << " of " << numbers[0] << ", " << numbers[1];
        }
    EXPECT_EQ(stored(Dtype::bfloat16, {1, 1}, {most})[0], 0x1.FEp127F);
}

TEST(QuantisedMatrix, RowsWithoutAScaleBecomeZeros) {
    for (const Dtype dtype : all_dtypes()) {
        const QuantisedMatrix zeros =
            quantise(QuantisationScheme(dtype), {2, 40}, std::vector<float>(80, 0.0F));
        std::vector<float> numbers(80, 1.0F);
        dequantise(zeros, numbers);
        EXPECT_THAT(numbers, ::testing::Each(0.0F)) << name(dtype);
        for (const float scale : zeros.scales)
            EXPECT_EQ(scale, dtype == Dtype::binary ? 0.0F : 1.0F) << name(dtype);
        if (row(dtype).group != ScaleGroup::none && dtype != Dtype::q4_0) {
            EXPECT_THAT(zeros.codes, ::testing::Each(0)) << name(dtype);
        }
    }
    // The scale of the least number is below every float.
    EXPECT_THAT(stored(Dtype::int8, {1, 2}, {0x1p-149F, 0.0F}), ElementsAre(0.0F, 0.0F));
    EXPECT_THAT(stored(Dtype::binary, {1, 3}, {0x1p-149F, 0.0F, 0.0F}), ::testing::Each(0.0F));
}

TEST(QuantisedMatrix, InfinitiesAreLimitedAndNaNIsToldOrZero) {
    for (const Dtype dtype : all_dtypes()) {
        const std::vector<float> numbers{1.0F, -0.5F, infinity, -infinity, not_a_number};
        const std::vector<float> result = stored(dtype, {1, 5}, numbers);
        const bool has_nan = row(dtype).bits >= 8 && name(dtype).find("float") != std::string::npos;
        EXPECT_EQ(std::isnan(result[4]), has_nan) << name(dtype);
        EXPECT_GE(result[2], 0.49F) << name(dtype);
        if (!row(dtype).affine && dtype != Dtype::q4_0) {
            EXPECT_EQ(result[3], -result[2]) << name(dtype);
        }
        EXPECT_EQ(std::isfinite(result[2]),
                  !(dtype == Dtype::float64 || dtype == Dtype::float32 || dtype == Dtype::float16 ||
                    dtype == Dtype::bfloat16 || dtype == Dtype::float8_e5m2))
            << name(dtype);
        // The others do not notice.
        const std::vector<float> finite = stored(dtype, {1, 2}, {1.0F, -0.5F});
        if (dtype != Dtype::ternary && dtype != Dtype::binary) {
            EXPECT_EQ(result[0], finite[0]) << name(dtype);
            EXPECT_EQ(result[1], finite[1]) << name(dtype);
        }
    }
}

TEST(QuantisedMatrix, RoundingInPlaceIsEncodingAndDecoding) {
    for (const Dtype dtype : all_dtypes()) {
        std::vector<float> numbers = normal_numbers(5 * 45, 3);
        const std::vector<float> expected = stored(dtype, {5, 45}, numbers);
        round_to_codes(QuantisationScheme(dtype), {5, 45}, numbers);
        EXPECT_EQ(numbers, expected) << name(dtype);
    }
}

TEST(QuantisedMatrix, CodesArePackedFromTheLowBitsAndRowsToWholeBytes) {
    const QuantisedMatrix four =
        quantise(QuantisationScheme(Dtype::int4), {2, 3}, std::vector<float>{7, -7, 1, 3, 7, -1});
    EXPECT_THAT(four.codes, ElementsAre(0x97, 0x01, 0x73, 0x0F));
    EXPECT_THAT(four.scales, ElementsAre(1.0F, 1.0F));
    const QuantisedMatrix one = quantise(QuantisationScheme(Dtype::binary), {1, 9},
                                         std::vector<float>{1, -1, -1, 1, 1, 1, 1, -1, -1});
    EXPECT_THAT(one.codes, ElementsAre(0x86, 0x01));
    const QuantisedMatrix sixteen =
        quantise(QuantisationScheme(Dtype::uint16), {1, 2}, std::vector<float>{0, 65535});
    EXPECT_THAT(sixteen.codes, ElementsAre(0x00, 0x00, 0xFF, 0xFF));
    EXPECT_EQ(four.code(1, 2), 0x0FU);
}

TEST(QuantisedMatrix, BytesAreCodesScalesAndZeroPoints) {
    const MatrixExtents extents{10, 100};
    const auto bytes = [&](Dtype dtype) {
        return stored_bytes(QuantisationScheme(dtype), extents);
    };
    EXPECT_EQ(bytes(Dtype::float64), 8000);
    EXPECT_EQ(bytes(Dtype::float32), 4000);
    EXPECT_EQ(bytes(Dtype::bfloat16), 2000);
    EXPECT_EQ(bytes(Dtype::float8_e5m2), 1000 + 40);
    EXPECT_EQ(bytes(Dtype::int64), 8000 + 40);
    EXPECT_EQ(bytes(Dtype::int8), 1000 + 40);
    EXPECT_EQ(bytes(Dtype::uint8), 1000 + 40 + 10);
    EXPECT_EQ(bytes(Dtype::uint32), 4000 + 40 + 40);
    EXPECT_EQ(bytes(Dtype::int4), 500 + 4 * 40);
    EXPECT_EQ(bytes(Dtype::uint4), 500 + 4 * 40 + 20);
    EXPECT_EQ(bytes(Dtype::q4_0), 500 + 2 * 40);
    EXPECT_EQ(bytes(Dtype::ternary), 250 + 40);
    EXPECT_EQ(bytes(Dtype::binary), 130 + 40);
    for (const Dtype dtype : all_dtypes()) {
        const QuantisedMatrix made =
            quantise(QuantisationScheme(dtype), extents, normal_numbers(1000, 1));
        EXPECT_EQ(static_cast<std::int64_t>(made.codes.size() + made.zero_points.size() +
                                            made.scales.size() * row(dtype).scale_bytes),
                  made.bytes())
            << name(dtype);
        EXPECT_EQ(made.bytes(), bytes(dtype)) << name(dtype);
    }
}

TEST(QuantisedMatrix, LargeMatricesTakeTheirShareOfFloat32) {
    const MatrixExtents extents{4096, 4096};
    const auto share = [&](Dtype dtype) {
        return static_cast<double>(stored_bytes(QuantisationScheme(dtype), extents)) /
               (4.0 * static_cast<double>(extents.elements()));
    };
    EXPECT_LE(share(Dtype::int8), 0.27);
    EXPECT_LE(share(Dtype::uint8), 0.27);
    EXPECT_LE(share(Dtype::float8_e4m3fn), 0.27);
    EXPECT_LE(share(Dtype::int4), 0.16);
    EXPECT_LE(share(Dtype::float4_e2m1fn), 0.16);
    EXPECT_LE(share(Dtype::q4_0), 0.16);
}

TEST(QuantisedMatrix, SchemesChooseGroupsClipsAndPowersOfTwo) {
    const std::vector<float> numbers{1.0F, 2.0F, -12.7F, 0.1F, 0.2F, 0.3F};
    const auto scales = [&](QuantisationScheme scheme) {
        return quantise(scheme, {2, 3}, numbers).scales;
    };
    EXPECT_THAT(scales({Dtype::int8, ScaleGroup::row}),
                ElementsAre(static_cast<float>(static_cast<double>(12.7F) / 127.0),
                            static_cast<float>(static_cast<double>(0.3F) / 127.0)));
    EXPECT_EQ(scales({Dtype::int8, ScaleGroup::tensor}).size(), 1U);
    EXPECT_EQ(scales({Dtype::int8, ScaleGroup::block}).size(), 2U);
    // The largest has the power 3, the largest code 6.
    EXPECT_EQ(scales({Dtype::int8, ScaleGroup::row, {.power_of_two = true}})[0], 0x1p-3F);
    EXPECT_EQ(scales({Dtype::float8_e4m3fn, ScaleGroup::row, {.power_of_two = true}})[0], 0x1p-5F);
    const float clipped = scales({Dtype::int8, ScaleGroup::row, {.clip = 0.5}})[0];
    EXPECT_EQ(clipped, static_cast<float>(static_cast<double>(12.7F) * 0.5 / 127.0));
    EXPECT_THAT([] { QuantisationScheme(Dtype::float16, ScaleGroup::row); },
                ThrowsMessage<ConfigError>(HasSubstr("the format has no scales")));
    EXPECT_THAT([] { QuantisationScheme(Dtype::int8, ScaleGroup::none); },
                ThrowsMessage<ConfigError>(HasSubstr("use tensor, row or block")));
    EXPECT_THAT([] { QuantisationScheme(Dtype::q4_0, ScaleGroup::row); },
                ThrowsMessage<ConfigError>(HasSubstr("a format of blocks")));
    EXPECT_THAT([] { QuantisationScheme(Dtype::int8, ScaleGroup::row, {.clip = 1.5}); },
                ThrowsMessage<ConfigError>(HasSubstr("no share of a range")));
}

TEST(QuantisedMatrix, CosinesOfNormalNumbersAreThoseOfTheFormats) {
    const MatrixExtents extents{16, 1024};
    const std::vector<float> numbers = normal_numbers(extents.elements(), 5);
    const auto cosine = [&](Dtype dtype) {
        return quantisation_error(numbers, stored(dtype, extents, numbers)).cosine;
    };
    EXPECT_GT(cosine(Dtype::int8), 0.9999);
    EXPECT_GT(cosine(Dtype::uint8), 0.9999);
    EXPECT_GT(cosine(Dtype::float8_e4m3fn), 0.999);
    EXPECT_GT(cosine(Dtype::int4), 0.99);
    EXPECT_GT(cosine(Dtype::q4_0), 0.99);
    EXPECT_GT(cosine(Dtype::float4_e2m1fn), 0.98);
    EXPECT_GT(cosine(Dtype::ternary), 0.88);
    EXPECT_NEAR(cosine(Dtype::binary), std::sqrt(2.0 / 3.14159265358979), 0.01);
    const QuantisationError known =
        quantisation_error(std::vector{3.0F, 4.0F, infinity}, std::vector{3.0F, 0.0F, 1.0F});
    EXPECT_DOUBLE_EQ(known.cosine, 0.6);
    EXPECT_EQ(known.largest, 4.0);
    EXPECT_DOUBLE_EQ(known.rms, std::sqrt(8.0));
    EXPECT_EQ(known.not_finite, 1);
}

TEST(QuantisedMatrix, NumbersBetweenTwoCodesAreRoundedOnce) {
    // As a float it lies in the middle of two codes, in the double it came from just above.
    const DtypeRow& format = row(Dtype::float8_e4m3fn);
    EXPECT_EQ(format.encode(format, 17.0, 0.0), format.encode(format, 16.0, 0.0));
    EXPECT_EQ(format.encode(format, 17.0 + 0x1p-40, 0.0), format.encode(format, 18.0, 0.0));
}

TEST(QuantisedMatrix, GoldenNumbersHaveTheirCodes) {
    const Safetensors file =
        read_safetensors(test::golden_directory() / "number_formats.safetensors");
    for (const std::string format_name : {"float16", "bfloat16", "fp8e4m3", "fp8e5m2", "fp4"}) {
        const DtypeRow& format = row(dtype_named(format_name).value());
        const Tensor values = file.at(format_name + ".value").tensor();
        const Tensor codes = file.at(format_name + ".code").tensor();
        const Tensor numbers = file.at(format_name + ".decoded").tensor();
        ASSERT_GT(values.elements.size(), 0U);
        for (std::size_t i = 0; i < values.elements.size(); ++i) {
            const std::uint64_t code = format.encode(format, values.elements[i], 0.0);
            EXPECT_EQ(static_cast<double>(code), codes.elements[i]) << format_name << " " << i;
            const auto number = static_cast<double>(decoded(format, {}, code));
            EXPECT_TRUE(number == numbers.elements[i] ||
                        (std::isnan(number) && std::isnan(numbers.elements[i])))
                << format_name << " " << i;
        }
    }
}

TEST(Dtypes, NamesAndShortNamesAreFound) {
    for (const Dtype dtype : all_dtypes()) {
        EXPECT_EQ(row(dtype).dtype, dtype);
        EXPECT_EQ(dtype_named(name(dtype)), dtype);
    }
    EXPECT_EQ(dtype_named("fp8e4m3"), Dtype::float8_e4m3fn);
    EXPECT_EQ(dtype_named("fp4"), Dtype::float4_e2m1fn);
    EXPECT_EQ(dtype_named(""), std::nullopt);
    EXPECT_EQ(dtype_named("int5"), std::nullopt);
}

}  // namespace
}  // namespace cambrian
