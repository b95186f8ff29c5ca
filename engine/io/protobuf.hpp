#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/core/little_endian.hpp"

namespace cambrian {

/// Writes one message in the wire format of Protocol Buffers: a field is a number and a kind, then
/// a varint, four or eight bytes, or a length and so many bytes. A message within a message is its
/// bytes. https://protobuf.dev/programming-guides/encoding
class ProtobufWriter {
  public:
    ProtobufWriter& integer(std::uint32_t field, std::int64_t value) {
        tag(field, varint_kind);
        varint(static_cast<std::uint64_t>(value));
        return *this;
    }
    /// A text, bytes, or a message.
    ProtobufWriter& bytes(std::uint32_t field, std::string_view value) {
        tag(field, length_kind);
        varint(value.size());
        content_ += value;
        return *this;
    }
    /// A text that may be left out where it is empty.
    ProtobufWriter& text(std::uint32_t field, std::string_view value) {
        return value.empty() ? *this : bytes(field, value);
    }
    ProtobufWriter& real32(std::uint32_t field, float value) {
        tag(field, four_bytes_kind);
        little_endian::append(content_, std::bit_cast<std::uint32_t>(value));
        return *this;
    }
    ProtobufWriter& real64(std::uint32_t field, double value) {
        tag(field, eight_bytes_kind);
        little_endian::append(content_, std::bit_cast<std::uint64_t>(value));
        return *this;
    }
    /// Fields that were written apart.
    ProtobufWriter& fields(const ProtobufWriter& others) {
        content_ += others.content_;
        return *this;
    }
    /// Repeated numbers in one field.
    ProtobufWriter& integers(std::uint32_t field, std::span<const std::int64_t> values) {
        ProtobufWriter packed;
        for (const std::int64_t value : values) packed.varint(static_cast<std::uint64_t>(value));
        return text(field, packed.content_);
    }

    [[nodiscard]] const std::string& content() const { return content_; }

  private:
    static constexpr std::uint32_t varint_kind = 0;
    static constexpr std::uint32_t eight_bytes_kind = 1;
    static constexpr std::uint32_t length_kind = 2;
    static constexpr std::uint32_t four_bytes_kind = 5;

    void tag(std::uint32_t field, std::uint32_t kind) { varint(field << 3U | kind); }
    /// Seven bits a byte, the lowest first; all but the last byte have their highest bit set.
    void varint(std::uint64_t value) {
        for (; value > 0x7FU; value >>= 7U) content_ += static_cast<char>((value & 0x7FU) | 0x80U);
        content_ += static_cast<char>(value);
    }

    std::string content_;
};

}  // namespace cambrian
