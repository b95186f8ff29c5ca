#pragma once

#include <algorithm>
#include <bit>
#include <cereal/cereal.hpp>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

// cereal's portable binary format (little endian) over bytes in memory: what its own archives do
// through streams, whose making and virtual calls cost a small message more than its numbers do.
namespace cambrian {

/// Says that what follows is little endian: the first byte of an archive.
inline constexpr std::byte little_endian_mark{1};

namespace detail {

/// Numbers of so many bytes each, to little endian or back.
template <std::size_t width>
void move_numbers(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 0) return;
    if constexpr (width == 1 || std::endian::native == std::endian::little) {
        std::memcpy(to, from, bytes);
    } else {
        for (std::size_t first = 0; first < bytes; first += width)
            std::reverse_copy(from + first, from + first + width, to + first);
    }
}

}  // namespace detail

/// Appends to bytes.
class ByteOutputArchive
    : public cereal::OutputArchive<ByteOutputArchive, cereal::AllowEmptyClassElision> {
  public:
    ByteOutputArchive()
        : cereal::OutputArchive<ByteOutputArchive, cereal::AllowEmptyClassElision>(this) {}

    template <std::size_t width>
    void save(const void* numbers, std::size_t bytes) {
        begin();
        const std::size_t before = bytes_.size();
        bytes_.resize(before + bytes);
        detail::move_numbers<width>(bytes_.data() + before, static_cast<const std::byte*>(numbers),
                                    bytes);
    }
    /// What follows is another archive.
    [[nodiscard]] std::vector<std::byte> take() {
        begin();
        return std::exchange(bytes_, {});
    }

  private:
    void begin() {
        if (bytes_.empty()) bytes_.push_back(little_endian_mark);
    }

    std::vector<std::byte> bytes_;
};

/// Reads from bytes that belong to the caller, the mark already taken off. Contract: no read asks
/// for more than remaining().
class ByteInputArchive
    : public cereal::InputArchive<ByteInputArchive, cereal::AllowEmptyClassElision> {
  public:
    explicit ByteInputArchive(std::span<const std::byte> bytes)
        : cereal::InputArchive<ByteInputArchive, cereal::AllowEmptyClassElision>(this),
          rest_(bytes) {}

    [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
    template <std::size_t width>
    void load(void* numbers, std::size_t bytes) {
        detail::move_numbers<width>(static_cast<std::byte*>(numbers), rest_.data(), bytes);
        rest_ = rest_.subspan(bytes);
    }

  private:
    std::span<const std::byte> rest_;
};

/// What cereal calls for each number.
template <class Number>
requires std::is_arithmetic_v<Number>
void CEREAL_SAVE_FUNCTION_NAME(ByteOutputArchive& archive, const Number& number) {
    archive.save<sizeof number>(&number, sizeof number);
}
template <class Number>
requires std::is_arithmetic_v<Number>
void CEREAL_LOAD_FUNCTION_NAME(ByteInputArchive& archive, Number& number) {
    archive.load<sizeof number>(&number, sizeof number);
}

}  // namespace cambrian

CEREAL_SETUP_ARCHIVE_TRAITS(cambrian::ByteInputArchive, cambrian::ByteOutputArchive)
