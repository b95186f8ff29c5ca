#include "cambrian/engine/cpu/gemm/packed_product.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian::cpu {

namespace {

/// Columns that are decoded at once: those of a block of scales.
constexpr std::int64_t chunk = 32;
static_assert(scale_block == chunk && packed_strip % chunk == 0);
/// Rows of x that share a decoded strip.
constexpr std::int64_t rows_at_once = 16;
/// Rows of W that a thread takes at once.
constexpr std::int64_t rows_of_an_item = 16;

/// Codes of a chunk, in memory of their own, so that loops over them become vector code.
struct Chunk {
    std::array<std::uint8_t, chunk * 8> bytes{};
    float scale = 1.0F;
    std::int32_t zero = 0;  ///< Of formats of at most 16 bits.
    Scaling scaling;
    const DtypeRow* format = nullptr;
};

/// Codes of less than a byte come plane by plane: first the lowest of every byte, and so on. That
/// is the order of all chunks of the format, of x too.
template <std::uint32_t Bits, class Number>
void decode_planes(const Chunk& codes, Number number, float* numbers) {
    constexpr std::size_t bytes = chunk * Bits / 8;
    std::array<std::uint8_t, bytes> all;
    std::memcpy(all.data(), codes.bytes.data(), bytes);
    const float scale = codes.scale;
    for (std::uint32_t plane = 0; plane < 8 / Bits; ++plane)
        for (std::size_t i = 0; i < bytes; ++i) {
            const std::uint32_t code = all[i] >> (plane * Bits) & ((1U << Bits) - 1U);
            numbers[plane * bytes + i] = static_cast<float>(number(code)) * scale;
        }
}

template <std::uint32_t Bits>
void decode_two_complement(const Chunk& codes, float* numbers) {
    constexpr std::uint32_t sign = 1U << (Bits - 1U);
    decode_planes<Bits>(
        codes,
        [](std::uint32_t code) {
            return static_cast<std::int32_t>(code ^ sign) - static_cast<std::int32_t>(sign);
        },
        numbers);
}
template <std::uint32_t Bits>
void decode_natural(const Chunk& codes, float* numbers) {
    const std::int32_t zero = codes.zero;
    decode_planes<Bits>(
        codes, [zero](std::uint32_t code) { return static_cast<std::int32_t>(code) - zero; },
        numbers);
}
void decode_offset(const Chunk& codes, float* numbers) {
    decode_planes<4>(
        codes, [](std::uint32_t code) { return static_cast<std::int32_t>(code) - 8; }, numbers);
}
void decode_signs(const Chunk& codes, float* numbers) {
    decode_planes<1>(
        codes, [](std::uint32_t code) { return 1 - 2 * static_cast<std::int32_t>(code); }, numbers);
}
/// Twice the number is whole: 0 1 2 3 4 6 8 12.
void decode_f4(const Chunk& codes, float* numbers) {
    decode_planes<4>(
        codes,
        [](std::uint32_t code) {
            const auto magnitude = static_cast<std::int32_t>(code & 7U);
            const std::int32_t power = magnitude >> 1;
            const std::int32_t normal = (2 + (magnitude & 1)) << (power > 0 ? power - 1 : 0);
            const std::int32_t twice = magnitude < 2 ? magnitude : normal;
            return 0.5F * static_cast<float>((code & 8U) != 0 ? -twice : twice);
        },
        numbers);
}

template <class Code>
std::array<Code, chunk> codes_of(const Chunk& codes) {
    std::array<Code, chunk> result;
    std::memcpy(result.data(), codes.bytes.data(), sizeof result);
    return result;
}

/// Whole codes that a float holds.
template <class Code>
void decode_whole(const Chunk& codes, float* numbers) {
    const std::array<Code, chunk> all = codes_of<Code>(codes);
    const std::int32_t zero = codes.zero;
    const float scale = codes.scale;
    for (std::size_t i = 0; i < chunk; ++i)
        numbers[i] = static_cast<float>(std::int32_t{all[i]} - zero) * scale;
}

template <class Code, float (*Decode)(std::uint32_t)>
void decode_floats(const Chunk& codes, float* numbers) {
    const std::array<Code, chunk> all = codes_of<Code>(codes);
    const float scale = codes.scale;
    for (std::size_t i = 0; i < chunk; ++i) numbers[i] = Decode(all[i]) * scale;
}

void decode_f32(const Chunk& codes, float* numbers) {
    std::memcpy(numbers, codes.bytes.data(), chunk * sizeof(float));
}

/// By the row of the table of formats, for codes that no float holds.
template <class Code>
void decode_wide(const Chunk& codes, float* numbers) {
    const std::array<Code, chunk> all = codes_of<Code>(codes);
    for (std::size_t i = 0; i < chunk; ++i)
        numbers[i] = decoded(*codes.format, codes.scaling, all[i]);
}

/// Chunks of a row.
struct Strip {
    const QuantisedMatrix& weights;
    std::int64_t row = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
};

/// The numbers of a strip in the order of the format; zeros after the last column.
template <std::uint32_t Bits, void (*DecodeChunk)(const Chunk&, float*)>
void decode_strip(const Strip& strip, float* numbers) {
    const QuantisedMatrix& weights = strip.weights;
    const ScaleGroup group = weights.scheme.group;
    const std::int64_t row_bytes = weights.row_bytes();
    const std::int64_t blocks = (weights.extents.columns + scale_block - 1) / scale_block;
    Chunk codes;
    codes.format = &row(weights.scheme.dtype);
    constexpr std::int64_t bytes = chunk * Bits / 8;
    const auto scale_by = [&](std::int64_t index) {
        codes.scaling = weights.scaling(index);
        codes.scale = codes.scaling.scale;
        codes.zero = static_cast<std::int32_t>(codes.scaling.zero_point);
    };
    if (group != ScaleGroup::block) scale_by(group == ScaleGroup::row ? strip.row : 0);
    const std::uint8_t* from = weights.codes.data() + strip.row * row_bytes;
    for (std::int64_t c = strip.first; c < strip.first + strip.count; ++c, numbers += chunk) {
        if (group == ScaleGroup::block) scale_by(strip.row * blocks + c);
        if (const std::int64_t there = row_bytes - c * bytes; there >= bytes) {
            std::memcpy(codes.bytes.data(), from + c * bytes, bytes);
        } else {
            codes.bytes.fill(0);
            std::memcpy(codes.bytes.data(), from + c * bytes, static_cast<std::size_t>(there));
        }
        DecodeChunk(codes, numbers);
    }
}

namespace nf = number_formats;
using DecodeStrip = void (*)(const Strip&, float*);
/// In the order of the formats.
constexpr std::array<DecodeStrip, dtype_count> strip_decoders{
    decode_strip<64, decode_wide<std::uint64_t>>,                      // float64
    decode_strip<32, decode_f32>,                                      // float32
    decode_strip<16, decode_floats<std::uint16_t, nf::decode_f16>>,    // float16
    decode_strip<16, decode_floats<std::uint16_t, nf::decode_bf16>>,   // bfloat16
    decode_strip<8, decode_floats<std::uint8_t, nf::decode_f8_e4m3>>,  // float8_e4m3fn
    decode_strip<8, decode_floats<std::uint8_t, nf::decode_f8_e5m2>>,  // float8_e5m2
    decode_strip<64, decode_wide<std::uint64_t>>,                      // int64
    decode_strip<32, decode_wide<std::uint32_t>>,                      // int32
    decode_strip<16, decode_whole<std::int16_t>>,                      // int16
    decode_strip<8, decode_whole<std::int8_t>>,                        // int8
    decode_strip<64, decode_wide<std::uint64_t>>,                      // uint64
    decode_strip<32, decode_wide<std::uint32_t>>,                      // uint32
    decode_strip<16, decode_whole<std::uint16_t>>,                     // uint16
    decode_strip<8, decode_whole<std::uint8_t>>,                       // uint8
    decode_strip<4, decode_two_complement<4>>,                         // int4
    decode_strip<4, decode_natural<4>>,                                // uint4
    decode_strip<4, decode_f4>,                                        // float4_e2m1fn
    decode_strip<2, decode_two_complement<2>>,                         // int2
    decode_strip<2, decode_natural<2>>,                                // uint2
    decode_strip<2, decode_two_complement<2>>,                         // ternary
    decode_strip<1, decode_signs>,                                     // binary
    decode_strip<4, decode_offset>,                                    // q4_0
};

/// Where column `i` of a chunk lies in the order of its format.
std::size_t place_in_chunk(const DtypeRow& format, std::size_t i) {
    const std::size_t in_byte = format.bits < 8 ? 8 / format.bits : 1;
    return i % in_byte * (chunk / in_byte) + i / in_byte;
}

/// Rows of x in whole chunks, each in the order of a format, with zeros at the end.
std::vector<float> in_order(const DtypeRow& format, std::span<const float> x, std::int64_t batch,
                            std::int64_t columns, std::int64_t padded) {
    std::vector<float> result(static_cast<std::size_t>(batch * padded));
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t c = 0; c < columns; ++c) {
            const auto place = static_cast<std::int64_t>(
                place_in_chunk(format, static_cast<std::size_t>(c % chunk)));
            result[static_cast<std::size_t>(b * padded + c / chunk * chunk + place)] =
                x[static_cast<std::size_t>(b * columns + c)];
        }
    return result;
}

using Chains = std::array<float, chunk>;

void add_products(const float* x, const float* w, std::int64_t count, Chains& sums) {
    Chains own = sums;
    for (std::int64_t i = 0; i < count; i += chunk)
        for (std::int64_t j = 0; j < chunk; ++j)
            own[static_cast<std::size_t>(j)] += x[i + j] * w[i + j];
    sums = own;
}

/// In halves, by columns.
float added(const DtypeRow& format, const Chains& sums) {
    Chains left;
    for (std::size_t i = 0; i < chunk; ++i) left[i] = sums[place_in_chunk(format, i)];
    for (std::size_t width = chunk / 2; width > 0; width /= 2)
        for (std::size_t j = 0; j < width; ++j) left[j] += left[j + width];
    return left[0];
}

}  // namespace

void packed_product(const QuantisedMatrix& weights, std::span<const float> x, std::int64_t batch,
                    std::span<float> y, ThreadPool& threads) {
    const std::int64_t rows = weights.extents.rows;
    const std::int64_t columns = weights.extents.columns;
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(x.size()) == batch * columns);
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(y.size()) == batch * rows);
    const DtypeRow& format = row(weights.scheme.dtype);
    const DecodeStrip decode = strip_decoders[static_cast<std::size_t>(weights.scheme.dtype)];
    const std::int64_t padded = (columns + chunk - 1) / chunk * chunk;
    const std::vector<float> ordered = in_order(format, x, batch, columns, padded);
    threads.for_each((rows + rows_of_an_item - 1) / rows_of_an_item, [&](std::int64_t item, int) {
        std::array<float, packed_strip> strip;
        std::array<Chains, rows_at_once> sums;
        const std::int64_t end = std::min((item + 1) * rows_of_an_item, rows);
        for (std::int64_t r = item * rows_of_an_item; r < end; ++r)
            for (std::int64_t b = 0; b < batch; b += rows_at_once) {
                const std::int64_t some = std::min(rows_at_once, batch - b);
                for (std::int64_t i = 0; i < some; ++i) sums[static_cast<std::size_t>(i)] = {};
                for (std::int64_t first = 0; first < padded; first += packed_strip) {
                    const std::int64_t count = std::min(packed_strip, padded - first);
                    decode({weights, r, first / chunk, count / chunk}, strip.data());
                    for (std::int64_t i = 0; i < some; ++i)
                        add_products(ordered.data() + (b + i) * padded + first, strip.data(), count,
                                     sums[static_cast<std::size_t>(i)]);
                }
                for (std::int64_t i = 0; i < some; ++i)
                    y[static_cast<std::size_t>((b + i) * rows + r)] =
                        added(format, sums[static_cast<std::size_t>(i)]);
            }
    });
}

}  // namespace cambrian::cpu
