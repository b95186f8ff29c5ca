#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace cambrian {

/// 128-bit content hash (XXH3-128). Names genes and genomes by what they are.
struct Hash128 {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    auto operator<=>(const Hash128&) const = default;
    /// 32 lower-case hexadecimal digits, high half first.
    [[nodiscard]] std::string hex() const;
};

/// What Hash128::hex() gave. Throws InputError for other texts.
[[nodiscard]] Hash128 hash_from_hex(std::string_view text);

[[nodiscard]] Hash128 hash128(std::span<const std::byte> bytes);
[[nodiscard]] std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);

/// Hashes a sequence of plain values in order, each in little-endian form with its width.
/// Strings are hashed with their length, so ("ab","c") and ("a","bc") differ.
class Hasher {
  public:
    Hasher& add(std::uint64_t value);
    Hasher& add(std::int64_t value) { return add(static_cast<std::uint64_t>(value)); }
    Hasher& add(std::uint32_t value) { return add(static_cast<std::uint64_t>(value)); }
    Hasher& add(std::int32_t value) { return add(static_cast<std::int64_t>(value)); }
    Hasher& add(bool value) { return add(static_cast<std::uint64_t>(value)); }
    Hasher& add(float value);
    Hasher& add(double value);
    Hasher& add(Hash128 value);
    Hasher& add(std::string_view text);
    Hasher& add(const char* text) { return add(std::string_view(text)); }
    Hasher& add(std::span<const float> values);

    [[nodiscard]] Hash128 hash128() const;
    [[nodiscard]] std::uint64_t hash64() const;

  private:
    std::string bytes_;
};

struct Hash128Hasher {
    std::size_t operator()(const Hash128& hash) const {
        return static_cast<std::size_t>(hash.low ^ hash.high);
    }
};

/// hash128 of bytes that come piece by piece, known after every piece.
class RunningHash {
  public:
    RunningHash();
    ~RunningHash();
    RunningHash(RunningHash&&) noexcept;
    RunningHash& operator=(RunningHash&&) noexcept;

    void add(std::span<const std::byte> bytes);
    /// Of all bytes so far.
    [[nodiscard]] Hash128 hash() const;
    /// Back to no bytes.
    void reset();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian
