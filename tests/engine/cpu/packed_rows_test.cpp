#include "cambrian/engine/cpu/gemm/packed_rows.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/weights/quantised_matrix.hpp"

namespace cambrian {
namespace {

/// Every code of a format in one row, each in the place where its words have it.
TEST(PackedRows, EveryCodeIsItsDefinitionInEveryBit) {
    for (std::size_t i = 0; i < dtype_count; ++i) {
        const auto dtype = static_cast<Dtype>(i);
        if (!can_pack(dtype)) continue;
        SCOPED_TRACE(name(dtype));
        const DtypeRow& format = row(dtype);
        const std::uint32_t codes = 1U << format.bits;
        const PackedAttribute packed{.dtype = dtype, .length = std::int64_t{codes}};
        std::vector<std::uint32_t> words(static_cast<std::size_t>(packed_words(packed)));
        for (std::uint32_t code = 0; code < codes; ++code)
            words[code * format.bits / 32] |= code << code * format.bits % 32;
        const auto groups = static_cast<std::size_t>(scales_of_row(packed));
        const std::vector<float> scales(groups, 0.37F);
        // Every zero point is 3.
        std::vector<std::uint32_t> zero_points(static_cast<std::size_t>(zero_point_words(packed)));
        for (std::uint32_t& word : zero_points)
            for (std::uint32_t bit = 0; bit < 32; bit += format.bits) word |= 3U << bit;
        std::vector<float> numbers(codes);
        cpu::decode_rows(packed,
                         {.words = words.data(),
                          .scales = groups > 0 ? scales.data() : nullptr,
                          .zero_points = format.affine ? zero_points.data() : nullptr},
                         0, 1, numbers.data());
        Scaling scaling;
        if (groups > 0) scaling.scale = 0.37F;
        if (format.affine) scaling.zero_point = 3;
        for (std::uint32_t code = 0; code < codes; ++code) {
            const float expected = static_cast<float>(decoded(format, scaling, code));
            ASSERT_EQ(std::bit_cast<std::uint32_t>(numbers[code]),
                      std::bit_cast<std::uint32_t>(expected))
                << "code " << code << ": " << numbers[code] << " for " << expected;
        }
    }
}

}  // namespace
}  // namespace cambrian
