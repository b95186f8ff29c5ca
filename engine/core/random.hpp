#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cambrian {

/// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3"): four random
/// words for a counter and a key (low word first). The same bits on every machine.
[[nodiscard]] std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                  std::uint64_t key);

/// Key of a family of streams: hash64(run seed, purpose path, island).
struct RandomKey {
    std::uint64_t value = 0;
    bool operator==(const RandomKey&) const = default;
};
[[nodiscard]] RandomKey random_key(std::uint64_t seed, std::string_view purpose,
                                   std::uint64_t island = 0);

/// A uniform in [0, 1) from the upper 24 bits of a random word.
[[nodiscard]] inline float uniform_from_bits(std::uint32_t bits) {
    return static_cast<float>(bits >> 8) * 0x1p-24F;
}

/// Random values that are addressed, not drawn one after another: value `n` comes from word n % 4
/// of philox({n / 4, lane, id low, id high}, key), so any part of them can be made anywhere.
struct RandomField {
    RandomKey key;
    std::uint64_t id = 0;
    std::uint32_t lane = 0;

    /// Uniforms in [0, 1) number `first` and up; below 2^34.
    void fill_uniform(std::uint64_t first, std::span<float> values) const;
    /// Standard normals: numbers 2k and 2k + 1 are the cosine and the sine half of the pair made
    /// from values 2k and 2k + 1.
    void fill_normal(std::uint64_t first, std::span<float> values) const;
    bool operator==(const RandomField&) const = default;
};

/// The stream of draws of one individual or birth: draw n is word n % 4 of
/// philox({n / 4 low, n / 4 high, id low, id high}, key), so a stream has no hidden state beyond
/// its position.
class RandomStream {
  public:
    RandomStream(RandomKey key, std::uint64_t id) : key_(key), id_(id) {}

    [[nodiscard]] std::uint32_t bits();
    /// Uniform in [0, 1).
    [[nodiscard]] float uniform() { return uniform_from_bits(bits()); }
    /// True with the given probability (one draw, also for 0 and 1).
    [[nodiscard]] bool chance(float probability) { return uniform() < probability; }
    /// Uniform in [0, count); count > 0. Unbiased (rejection).
    [[nodiscard]] std::uint32_t index(std::uint32_t count);
    /// Standard normal from two draws, uniforms u and v: sqrt(-2 ln(1 - u)) cos(2 pi v), with our
    /// own elementwise functions. The sine half is not used, so a call always costs two draws.
    [[nodiscard]] float normal();
    /// Fills with uniforms in [0, 1), one word each, from the next block of four words.
    void fill_uniform(std::span<float> values);
    /// Values beside those of the stream (one draw): other ones for every call.
    [[nodiscard]] RandomField field() { return {key_, id_, bits()}; }

  private:
    void skip_to_block() { draw_ = (draw_ + 3U) & ~std::uint64_t{3}; }

    RandomKey key_;
    std::uint64_t id_;
    std::uint64_t draw_ = 0;
    std::uint64_t cached_block_ = ~std::uint64_t{0};
    std::array<std::uint32_t, 4> cached_{};
};

}  // namespace cambrian
