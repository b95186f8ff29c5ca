#include "cambrian/engine/io/packed_column.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/little_endian.hpp"

namespace cambrian {

namespace {

constexpr std::size_t column_header = 9;
constexpr unsigned max_planes = 8;

}  // namespace

void pack_column(std::vector<std::byte>& bytes, std::span<const std::uint64_t> values) {
    const auto [smallest, largest] = std::ranges::minmax_element(values);
    const std::uint64_t base = values.empty() ? 0 : *smallest;
    const std::uint64_t range = values.empty() ? 0 : *largest - base;
    const auto planes = static_cast<unsigned>((std::bit_width(range) + 7) / 8);
    const std::size_t before = bytes.size();
    bytes.resize(before + column_header + planes * values.size());
    std::byte* at = bytes.data() + before;
    little_endian::put(at, base);
    little_endian::put(at, static_cast<std::uint8_t>(planes));
    for (unsigned plane = 0; plane < planes; ++plane) {
        for (const std::uint64_t value : values)
            *at++ = static_cast<std::byte>(((value - base) >> (8 * plane)) & 0xFFU);
    }
}

std::optional<std::vector<std::uint64_t>> unpack_column(std::span<const std::byte>& bytes,
                                                        std::size_t count) {
    if (bytes.size() < column_header) return std::nullopt;
    const std::byte* at = bytes.data();
    const auto base = little_endian::get<std::uint64_t>(at);
    const unsigned planes = little_endian::get<std::uint8_t>(at);
    const std::size_t rest = bytes.size() - column_header;
    if (planes > max_planes || (planes > 0 && count > rest / planes)) return std::nullopt;
    std::vector<std::uint64_t> values(count, 0);
    for (unsigned plane = 0; plane < planes; ++plane) {
        for (std::uint64_t& value : values)
            value |= std::to_integer<std::uint64_t>(*at++) << (8 * plane);
    }
    for (std::uint64_t& value : values) value += base;
    bytes = bytes.subspan(column_header + planes * count);
    return values;
}

}  // namespace cambrian
