#include "cambrian/engine/cpu/gemm/packed_rows.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian::cpu {

namespace {

/// What the numbers of a group share.
struct Group {
    float scale = 1.0F;
    std::int32_t zero_point = 0;
};

// What a code stands for before it is scaled.
template <std::uint32_t Bits>
struct TwoComplement {
    static constexpr std::uint32_t bits = Bits;
    static constexpr std::int32_t sign = 1 << (Bits - 1U);
    static float number(std::int32_t code, std::int32_t) {
        return static_cast<float>((code ^ sign) - sign);
    }
};
template <std::uint32_t Bits>
struct Natural {
    static constexpr std::uint32_t bits = Bits;
    static float number(std::int32_t code, std::int32_t zero_point) {
        return static_cast<float>(code - zero_point);
    }
};
/// Floats of few bits.
template <std::uint32_t Bits, float (*Decode)(std::uint32_t)>
struct SmallFloat {
    static constexpr std::uint32_t bits = Bits;
    static float number(std::int32_t code, std::int32_t) {
        return Decode(static_cast<std::uint32_t>(code));
    }
};
struct Sign {
    static constexpr std::uint32_t bits = 1;
    static float number(std::int32_t code, std::int32_t) {
        return static_cast<float>(1 - 2 * code);
    }
};
/// Of q4_0.
struct Offset {
    static constexpr std::uint32_t bits = 4;
    static float number(std::int32_t code, std::int32_t) { return static_cast<float>(code - 8); }
};

/// The codes of every byte, a byte each.
template <std::uint32_t Bits>
struct ByteCodes {
    static constexpr std::size_t count = 8 / Bits;
    std::array<std::array<std::uint8_t, count>, 256> of{};
    constexpr ByteCodes() {
        for (std::size_t byte = 0; byte < of.size(); ++byte)
            for (std::size_t i = 0; i < count; ++i)
                of[byte][i] = static_cast<std::uint8_t>(byte >> (i * Bits) & ((1U << Bits) - 1U));
    }
};
template <std::uint32_t Bits>
constexpr ByteCodes<Bits> byte_codes{};

/// Half of a word, wherever it lies.
using HalfWord [[gnu::may_alias]] = std::uint16_t;

/// Calls part(codes, first, count) for codes that lie apart from the numbers: as they are, or of
/// less than a byte, some at a time, a byte each.
template <std::uint32_t Bits, class Part>
void for_each_code(const std::uint32_t* words, std::int64_t length, const Part& part) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
    if constexpr (Bits == 16) {
        part(reinterpret_cast<const HalfWord*>(words), 0, length);
    } else if constexpr (Bits == 8) {
        part(bytes, 0, length);
    } else {
        constexpr std::int64_t in_byte = 8 / Bits;
        constexpr std::int64_t at_once = 256;
        std::array<std::uint8_t, at_once> codes;
        for (std::int64_t first = 0; first < length; first += at_once) {
            const std::int64_t some = std::min(at_once, length - first);
            for (std::int64_t i = 0; i < (some + in_byte - 1) / in_byte; ++i)
                std::memcpy(codes.data() + i * in_byte,
                            byte_codes<Bits>.of[bytes[first / in_byte + i]].data(), in_byte);
            part(codes.data(), first, some);
        }
    }
}

template <class Code, class Codes>
[[gnu::always_inline]] inline void scale(const Group& group, const Codes* codes, std::int64_t count,
                                         float* __restrict numbers) {
    for (std::int64_t i = 0; i < count; ++i)
        numbers[i] = Code::number(codes[i], group.zero_point) * group.scale;
}

/// One row; groups of a row or of blocks.
template <class Code>
void decode_row(const PackedAttribute& packed, const PackedRows& rows, std::int64_t row_index,
                float* numbers) {
    const std::int64_t groups = scales_of_row(packed);
    const std::int64_t zero_words = zero_point_words(packed);
    constexpr std::int64_t in_word = 32 / Code::bits;
    constexpr std::uint32_t mask = (1U << Code::bits) - 1U;
    const auto group_at = [&](std::int64_t index) {
        Group group;
        if (rows.scales != nullptr) group.scale = rows.scales[row_index * groups + index];
        if (rows.zero_points != nullptr) {
            const std::uint32_t word = rows.zero_points[row_index * zero_words + index / in_word];
            const auto shift = static_cast<std::uint32_t>(index % in_word) * Code::bits;
            group.zero_point = static_cast<std::int32_t>(word >> shift & mask);
        }
        return group;
    };
    const std::uint32_t* words = rows.words + row_index * packed_words(packed);
    for_each_code<Code::bits>(
        words, packed.length, [&](const auto* codes, std::int64_t first, std::int64_t count) {
            if (scale_group(packed) != ScaleGroup::block) {
                scale<Code>(group_at(0), codes, count, numbers + first);
                return;
            }
            const std::int64_t whole = count / scale_block;
            const std::int64_t block = first / scale_block;
            for (std::int64_t i = 0; i < whole; ++i)
                scale<Code>(group_at(block + i), codes + i * scale_block, scale_block,
                            numbers + first + i * scale_block);
            if (const std::int64_t rest = count - whole * scale_block; rest > 0)
                scale<Code>(group_at(block + whole), codes + whole * scale_block, rest,
                            numbers + first + whole * scale_block);
        });
}

namespace nf = number_formats;
using DecodeRow = void (*)(const PackedAttribute&, const PackedRows&, std::int64_t, float*);
/// In the order of the formats; null for those that are not packed.
constexpr std::array<DecodeRow, dtype_count> decoders{
    nullptr,                                        // float64
    nullptr,                                        // float32
    decode_row<SmallFloat<16, nf::decode_f16>>,     // float16
    decode_row<SmallFloat<16, nf::decode_bf16>>,    // bfloat16
    decode_row<SmallFloat<8, nf::decode_f8_e4m3>>,  // float8_e4m3fn
    decode_row<SmallFloat<8, nf::decode_f8_e5m2>>,  // float8_e5m2
    nullptr,                                        // int64
    nullptr,                                        // int32
    decode_row<TwoComplement<16>>,                  // int16
    decode_row<TwoComplement<8>>,                   // int8
    nullptr,                                        // uint64
    nullptr,                                        // uint32
    decode_row<Natural<16>>,                        // uint16
    decode_row<Natural<8>>,                         // uint8
    decode_row<TwoComplement<4>>,                   // int4
    decode_row<Natural<4>>,                         // uint4
    decode_row<SmallFloat<4, nf::decode_f4_e2m1>>,  // float4_e2m1fn
    decode_row<TwoComplement<2>>,                   // int2
    decode_row<Natural<2>>,                         // uint2
    decode_row<TwoComplement<2>>,                   // ternary
    decode_row<Sign>,                               // binary
    decode_row<Offset>,                             // q4_0
};

}  // namespace

void decode_rows(const PackedAttribute& packed, const PackedRows& rows, std::int64_t first,
                 std::int64_t count, float* numbers) {
    const DecodeRow decode = decoders[static_cast<std::size_t>(packed.dtype)];
    CAMBRIAN_EXPECT(decode != nullptr);
    for (std::int64_t r = 0; r < count; ++r)
        decode(packed, rows, first + r, numbers + r * packed.length);
}

}  // namespace cambrian::cpu
