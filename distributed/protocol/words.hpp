#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

// Internal to messages: numbers as little-endian bytes, and blocks of many of them.
namespace cambrian::distributed::detail {

/// Writes a number and moves after it.
template <typename T>
void put(std::byte*& at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        *at++ = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
    }
}

/// Reads a number and moves after it.
template <typename T>
T get(const std::byte*& at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<T>(std::to_integer<T>(*at++) << (8 * i));
    }
    return value;
}

/// Words of many small things, written as one block: an archive takes long over single values.
class WordWriter {
  public:
    /// @param words that will be written, or more.
    explicit WordWriter(std::size_t words)
        : bytes_(sizeof(std::uint64_t) * words), at_(bytes_.data()) {}

    void write(std::uint64_t word) {
        CAMBRIAN_EXPECT(at_ + sizeof word <= bytes_.data() + bytes_.size());
        put(at_, word);
    }
    void write(double value) { write(std::bit_cast<std::uint64_t>(value)); }
    void write(Hash128 hash) {
        write(hash.high);
        write(hash.low);
    }
    void write(std::span<const double> values) {
        write(static_cast<std::uint64_t>(values.size()));
        for (double value : values) {
            write(value);
        }
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), at_}; }

  private:
    std::vector<std::byte> bytes_;
    std::byte* at_;
};

/// Reads a block of words from an archive within its bounds.
class WordReader {
  public:
    explicit WordReader(ArchiveReader& archive) : archive_(archive) {
        archive.read(bytes_);
        rest_ = bytes_;
    }

    /// A count of things of at least `smallest` words each, checked against what is left.
    std::uint64_t count(std::uint64_t smallest) {
        const std::uint64_t things = word();
        if (things > rest_.size() / (sizeof(std::uint64_t) * smallest)) {
            archive_.fail("a count does not fit into the words that are left");
        }
        return things;
    }
    std::uint64_t word() {
        if (rest_.size() < sizeof(std::uint64_t)) {
            archive_.fail("a block of words ends too early");
        }
        const std::byte* at = rest_.data();
        rest_ = rest_.subspan(sizeof(std::uint64_t));
        return get<std::uint64_t>(at);
    }
    double real() { return std::bit_cast<double>(word()); }
    Hash128 hash() {
        const std::uint64_t high = word();
        return {high, word()};
    }
    void read(std::vector<double>& values) {
        values.resize(count(1));
        for (double& value : values) {
            value = real();
        }
    }
    void finish() const {
        if (!rest_.empty()) {
            archive_.fail("a block of words has words left over");
        }
    }
    [[noreturn]] void fail(std::string_view why) const { archive_.fail(why); }

  private:
    ArchiveReader& archive_;
    std::vector<std::byte> bytes_;
    std::span<const std::byte> rest_;
};

}  // namespace cambrian::distributed::detail
