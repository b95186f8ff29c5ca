#include "cambrian/engine/graph/number_format.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct KnownCode {
    NumberFormat format;
    float number;
    std::uint32_t code;
};

TEST(NumberFormats, KnownNumbersHaveTheirCodes) {
    using enum NumberFormat;
    for (const auto& [format, number, code] : {
             KnownCode{f16, 1.0F, 0x3C00},
             KnownCode{f16, -2.0F, 0xC000},
             KnownCode{f16, 0.1F, 0x2E66},
             KnownCode{f16, -0.0F, 0x8000},
             KnownCode{f16, 65504.0F, 0x7BFF},
             KnownCode{f16, 65519.0F, 0x7BFF},
             KnownCode{f16, 65520.0F, 0x7BFF},
             KnownCode{f16, -1e30F, 0xFBFF},
             KnownCode{f16, -infinity, 0xFC00},
             KnownCode{f16, 0x1p-24F, 0x0001},
             KnownCode{f16, 0x1p-25F, 0x0000},
             KnownCode{f16, 0x1.8p-24F, 0x0002},
             KnownCode{f16, 0x1.000002p-25F, 0x0001},
             KnownCode{f16, 0x1.ff8p-15F, 0x03FF},
             KnownCode{f16, 0x1.fffp-15F, 0x0400},
             KnownCode{f16, not_a_number, 0x7E00},
             KnownCode{f16, 0x1p-149F, 0x0000},
             KnownCode{bf16, 1.0F, 0x3F80},
             KnownCode{bf16, 0.1F, 0x3DCD},
             KnownCode{bf16, 0x1.fffffep127F, 0x7F7F},
             KnownCode{bf16, 0x1p-133F, 0x0001},
             KnownCode{bf16, -infinity, 0xFF80},
             KnownCode{bf16, not_a_number, 0x7FC0},
             KnownCode{f8_e4m3, 1.0F, 0x38},
             KnownCode{f8_e4m3, 448.0F, 0x7E},
             KnownCode{f8_e4m3, -464.0F, 0xFE},
             KnownCode{f8_e4m3, 465.0F, 0x7E},
             KnownCode{f8_e4m3, -infinity, 0xFE},
             KnownCode{f8_e4m3, 0x1p-9F, 0x01},
             KnownCode{f8_e4m3, 0x1p-10F, 0x00},
             KnownCode{f8_e4m3, not_a_number, 0x7F},
             KnownCode{f8_e5m2, 1.0F, 0x3C},
             KnownCode{f8_e5m2, 57344.0F, 0x7B},
             KnownCode{f8_e5m2, 61439.0F, 0x7B},
             KnownCode{f8_e5m2, 61440.0F, 0x7B},
             KnownCode{f8_e5m2, -1e30F, 0xFB},
             KnownCode{f8_e5m2, -infinity, 0xFC},
             KnownCode{f8_e5m2, 0x1p-16F, 0x01},
             KnownCode{i8, 2.5F, 2},
             KnownCode{i8, 3.5F, 4},
             KnownCode{i8, -2.5F, 0xFE},
             KnownCode{i8, 1e30F, 127},
             KnownCode{i8, -infinity, 0x81},
             KnownCode{i8, -127.6F, 0x81},
             KnownCode{i8, not_a_number, 0},
             KnownCode{i8, -0.4F, 0},
         })
        EXPECT_EQ(row(format).encode(number), code) << name(format) << " of " << number;
}

/// Visits all codes of a format.
template <class Visit>
void for_each_code(const NumberFormatRow& format, Visit visit) {
    for (std::uint32_t code = 0; code < 1U << format.bits; ++code) visit(code);
}

TEST(NumberFormats, EveryNumberOfAFormatComesBackAsItsCode) {
    for (const NumberFormatRow& format : number_format_rows)
        for_each_code(format, [&](std::uint32_t code) {
            const float number = format.decode(code);
            const std::uint32_t again = format.encode(number);
            if (std::isnan(number)) {
                EXPECT_TRUE(std::isnan(format.decode(again))) << format.name << " " << code;
            } else if (format.format == NumberFormat::i8 && code == 0x80) {
                EXPECT_EQ(number, -128.0F);
                EXPECT_EQ(again, 0x81U) << "the limit is symmetric";
            } else {
                EXPECT_EQ(again, code) << format.name << " of " << number;
            }
        });
}

TEST(NumberFormats, DecodedSmallFloatsAreSignFractionAndExponent) {
    struct Layout {
        NumberFormat format;
        int bias;
        int fraction_bits;
    };
    for (const auto& [kind, bias, fraction_bits] :
         {Layout{NumberFormat::f16, 15, 10}, Layout{NumberFormat::bf16, 127, 7},
          Layout{NumberFormat::f8_e4m3, 7, 3}, Layout{NumberFormat::f8_e5m2, 15, 2}}) {
        const NumberFormatRow& format = row(kind);
        const std::uint32_t sign = 1U << (format.bits - 1U);
        for_each_code(format, [&](std::uint32_t code) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a structured binding.
            const int field = static_cast<int>((code & (sign - 1U)) >> fraction_bits);
            const std::uint32_t fraction = code & ((1U << fraction_bits) - 1U);
            const bool last = field == static_cast<int>((sign - 1U) >> fraction_bits);
            const bool has_infinity = kind != NumberFormat::f8_e4m3;
            const float number = format.decode(code);
            if (last && (has_infinity ? fraction != 0 : fraction == 7)) {
                EXPECT_TRUE(std::isnan(number)) << format.name << " " << code;
                return;
            }
            const double significand =
                static_cast<double>(fraction) + (field == 0 ? 0.0 : std::ldexp(1.0, fraction_bits));
            const double magnitude =
                last && has_infinity
                    ? HUGE_VAL
                    : std::ldexp(significand, std::max(field, 1) - bias - fraction_bits);
            EXPECT_EQ(static_cast<double>(std::fabs(number)), magnitude);
            EXPECT_EQ(std::signbit(number), (code & sign) != 0) << format.name << " " << code;
        });
    }
}

TEST(NumberFormats, NumbersBetweenTwoCodesGoToTheNearerOrTheEvenOne) {
    for (const NumberFormatRow& format : number_format_rows)
        for_each_code(format, [&](std::uint32_t code) {
            const float low = format.decode(code);
            const float high = format.decode(code + 1U);
            const bool neighbours = std::isfinite(low) && std::isfinite(high) && low < high &&
                                    code + 1U < 1U << (format.bits - 1U);
            if (!neighbours) return;
            const float middle = 0.5F * low + 0.5F * high;
            EXPECT_EQ(format.encode(middle), code + (code & 1U)) << format.name << " " << middle;
            EXPECT_EQ(format.encode(std::nextafter(middle, 0.0F)), code) << format.name;
            EXPECT_EQ(format.encode(std::nextafter(middle, infinity)), code + 1U) << format.name;
        });
}

TEST(NumberFormats, RowsArePackedFromTheLowBitsAndPaddedWithZeros) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {2, 3});
    const Var words = encode(x, NumberFormat::i8);
    graph.output(words);
    graph.output(encode(x, NumberFormat::f16));
    graph.output(decode(words, NumberFormat::i8, 3));
    const auto cpu = make_cpu_backend({});
    const Tensor values(ValueType::real, Shape{2, 3}, {1, 2, 3, -1, 0, 5});
    const auto results = evaluate(*cpu, graph, 1, std::array{values});
    EXPECT_EQ(results[0].shape, (Shape{2, 1}));
    EXPECT_THAT(results[0].elements, ElementsAre(0x030201, 0x0500FF));
    EXPECT_EQ(results[1].shape, (Shape{2, 2}));
    EXPECT_THAT(results[1].elements,
                ElementsAre(0x40003C00, 0x4200, static_cast<double>(0x0000BC00), 0x4500));
    EXPECT_EQ(results[2].elements, values.elements);
}

TEST(NumberFormats, WordsThatDoNotHoldTheRowsAreRejected) {
    Graph graph;
    const Var words = graph.input("words", ValueType::integer, {3, 2});
    EXPECT_THAT([&] { decode(words, NumberFormat::f16, 5); },
                ThrowsMessage<ShapeError>(HasSubstr("rows of 5 numbers in f16 have 3 elements")));
    EXPECT_THAT([&] { decode(graph.input("x", ValueType::real, {2}), NumberFormat::f16, 4); },
                ThrowsMessage<ShapeError>(HasSubstr("codes are words, not real")));
    EXPECT_THAT([&] { encode(words, NumberFormat::i8); },
                ThrowsMessage<ShapeError>(HasSubstr("not real")));
    EXPECT_THAT([&] { encode(graph.input("x", ValueType::real, {}), NumberFormat::i8); },
                ThrowsMessage<ShapeError>(HasSubstr("no last axis")));
}

}  // namespace
}  // namespace cambrian
