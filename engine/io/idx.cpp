#include "cambrian/engine/io/idx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/compression.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian {
namespace {

constexpr std::size_t magic_bytes = 4;
constexpr std::size_t extent_bytes = 4;
constexpr std::size_t max_header_bytes =
    magic_bytes + extent_bytes * static_cast<std::size_t>(Shape::max_rank);

struct TypeCode {
    std::byte code{};
    StoredType type{};
};
constexpr std::array type_codes{
    TypeCode{std::byte{0x08}, StoredType::u8},  TypeCode{std::byte{0x09}, StoredType::i8},
    TypeCode{std::byte{0x0B}, StoredType::i16}, TypeCode{std::byte{0x0C}, StoredType::i32},
    TypeCode{std::byte{0x0D}, StoredType::f32}, TypeCode{std::byte{0x0E}, StoredType::f64},
};

[[noreturn]] void fail(std::string_view source, const std::string& why) {
    throw InputError(std::string(source) + " cannot be read as IDX (" + why +
                     ") get the file again or name another");
}

struct Header {
    StoredType type{};
    Shape shape;
    std::size_t bytes = 0;

    [[nodiscard]] std::uint64_t data_bytes() const {
        return static_cast<std::uint64_t>(shape.elements()) * (row(type).bits / 8);
    }
};

Header header_of(std::span<const std::byte> bytes, std::string_view source) {
    if (bytes.size() < magic_bytes || bytes[0] != std::byte{0} || bytes[1] != std::byte{0})
        fail(source, "it does not start with two zero bytes and two of type and rank");
    const auto* code = std::ranges::find(type_codes, bytes[2], &TypeCode::code);
    if (code == type_codes.end())
        fail(source, "its type code " + std::to_string(std::to_integer<int>(bytes[2])) +
                         " is none of 8, 9, 11, 12, 13 and 14");
    const auto rank = std::to_integer<std::size_t>(bytes[3]);
    Header header{.type = code->type, .shape = {}, .bytes = magic_bytes + rank * extent_bytes};
    if (rank > static_cast<std::size_t>(Shape::max_rank) || header.bytes > bytes.size())
        fail(source, "its " + std::to_string(rank) + " axes are more than " +
                         (header.bytes > bytes.size() ? "the file holds"
                                                      : std::to_string(Shape::max_rank)));
    std::vector<std::int64_t> extents;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        std::int64_t extent = 0;
        for (const std::byte byte : bytes.subspan(magic_bytes + axis * extent_bytes, extent_bytes))
            extent = extent << 8 | std::to_integer<std::int64_t>(byte);
        extents.push_back(extent);
    }
    try {
        header.shape = Shape(extents);
    } catch (const ShapeError& error) {
        fail(source, error.what());
    }
    return header;
}

/// Throws unless a packed file can hold what its header claims, and the host too.
void check_claim(const Header& header, std::size_t packed, std::int64_t memory,
                 std::string_view source) {
    // Deflate packs at most 258 bytes into two bits.
    constexpr double largest_expansion = 1032.0;
    // In floating point: in bytes the product of the extents may be beyond any integer.
    const auto elements = static_cast<double>(header.shape.elements());
    const double claimed = elements * static_cast<double>(row(header.type).bits) / 8.0;
    const std::string claim =
        header.shape.text() + " of " + std::string(row(header.type).name) + " in its header";
    if (claimed > largest_expansion * static_cast<double>(packed))
        fail(source, "its " + std::to_string(packed) + " packed bytes cannot hold " + claim);
    // Unpacked, as a tensor, and as doubles of a data set and of its parts.
    const double needed = 2.0 * claimed + 2.0 * sizeof(double) * elements;
    if (needed > static_cast<double>(memory)) {
        constexpr double gibibyte = 1024.0 * 1024.0 * 1024.0;
        throw InputError(fmt::format(
            "{} does not fit into memory ({} takes {:.3g} GiB as a data set, this host has {:.3g}) "
            "use a part of it, or a host with more",
            source, claim, needed / gibibyte, static_cast<double>(memory) / gibibyte));
    }
}

StoredTensor decode_plain(std::span<const std::byte> bytes, std::string_view source) {
    const Header header = header_of(bytes, source);
    const std::span<const std::byte> data = bytes.subspan(header.bytes);
    // Not multiplied: the product may be beyond any number.
    const std::size_t size = row(header.type).bits / 8;
    if (data.size() % size != 0 ||
        data.size() / size != static_cast<std::uint64_t>(header.shape.elements()))
        fail(source, header.shape.text() + " of " + std::string(row(header.type).name) +
                         " do not make " + std::to_string(data.size()) + " bytes");
    StoredTensor result{header.type, header.shape, {data.begin(), data.end()}};
    for (std::size_t at = 0; at < result.bytes.size(); at += size)
        std::ranges::reverse(std::span(result.bytes).subspan(at, size));
    return result;
}

}  // namespace

StoredTensor decode_idx(std::span<const std::byte> bytes, std::string_view source,
                        std::int64_t memory) {
    if (is_gzip(bytes)) {
        const Header header = header_of(gunzip(bytes, max_header_bytes, source), source);
        check_claim(header, bytes.size(), memory, source);
        // One more than there should be, to notice what is too much.
        return decode_plain(gunzip(bytes, header.bytes + header.data_bytes() + 1, source), source);
    }
    return decode_plain(bytes, source);
}

StoredTensor read_idx(const std::filesystem::path& path) {
    return decode_idx(read_file(path), path.string());
}

}  // namespace cambrian
