#include "cambrian/engine/core/random.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/simd/word_lanes.hpp"

namespace cambrian {

namespace {

constexpr std::uint32_t multiplier_0 = 0xD2511F53U;
constexpr std::uint32_t multiplier_1 = 0xCD9E8D57U;
constexpr std::uint32_t weyl_0 = 0x9E3779B9U;
constexpr std::uint32_t weyl_1 = 0xBB67AE85U;
constexpr int rounds = 10;

constexpr std::uint32_t low_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

[[gnu::always_inline]] inline std::array<std::uint32_t, 4> philox_block(
    std::array<std::uint32_t, 4> c, std::uint64_t key) {
    std::uint32_t key_0 = low_word(key);
    std::uint32_t key_1 = high_word(key);
    for (int round = 0; round < rounds; ++round) {
        const std::uint64_t product_0 = std::uint64_t{multiplier_0} * c[0];
        const std::uint64_t product_1 = std::uint64_t{multiplier_1} * c[2];
        c = {high_word(product_1) ^ c[1] ^ key_0, low_word(product_1),
             high_word(product_0) ^ c[3] ^ key_1, low_word(product_0)};
        key_0 += weyl_0;
        key_1 += weyl_1;
    }
    return c;
}

// The words of a run of blocks, word by word in arrays of their own so that loops over blocks are
// vector code.
constexpr std::size_t run_blocks = 64;
using Words = std::array<std::array<std::uint32_t, run_blocks>, 4>;
using Values = std::array<std::array<float, run_blocks>, 4>;

namespace narrow {
using Lanes = WordLanes;
#define CAMBRIAN_TARGET
#include "cambrian/engine/core/simd/philox_run.inl"
#undef CAMBRIAN_TARGET
}  // namespace narrow

#ifdef __x86_64__
namespace wide {
using Lanes = WideWordLanes;
#define CAMBRIAN_TARGET [[gnu::target("avx512f")]]
#include "cambrian/engine/core/simd/philox_run.inl"
#undef CAMBRIAN_TARGET
}  // namespace wide
#endif

struct NormalPair {
    float cosine;
    float sine;
};

// In three steps, for whoever takes many pairs: the chain of operations of a pair is too long for a
// processor to have enough pairs in flight.
[[gnu::always_inline]] inline float squared_radius(std::uint32_t first) {
    const float open = 1.0F - uniform_from_bits(first);
    return 0.0F - 2.0F * elementary::log_inside(open);
}
[[gnu::always_inline]] inline float radius_of(float square) {
    // By a mask: a branch would keep loops from being vector code.
    const std::uint32_t kept = square > 0.0F ? ~0U : 0U;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(elementary::sqrt_inside(square)) &
                                kept);
}
[[gnu::always_inline]] inline NormalPair turned(float radius, std::uint32_t second) {
    const float turn = uniform_from_bits(second);
    return {radius * elementary::sin_of_turn(turn, 1U), radius * elementary::sin_of_turn(turn, 0U)};
}

/// How words become values.
enum class Distribution : std::uint8_t { uniform, normal };

[[gnu::always_inline]] inline void convert_run(Distribution distribution, Values& values,
                                               const Words& words, std::size_t blocks) {
    if (distribution == Distribution::uniform) {
        for (std::size_t word = 0; word < 4; ++word) {
            for (std::size_t i = 0; i < blocks; ++i) {
                values[word][i] = uniform_from_bits(words[word][i]);
            }
        }
        return;
    }
    for (std::size_t pair = 0; pair < 4; pair += 2) {
        std::array<float, run_blocks> radius;
        for (std::size_t i = 0; i < blocks; ++i) radius[i] = squared_radius(words[pair][i]);
        for (std::size_t i = 0; i < blocks; ++i) radius[i] = radius_of(radius[i]);
        for (std::size_t i = 0; i < blocks; ++i) {
            const NormalPair normals = turned(radius[i], words[pair + 1][i]);
            values[pair][i] = normals.cosine;
            values[pair + 1][i] = normals.sine;
        }
    }
}

/// What whole blocks and the rest of one have of `values`.
[[gnu::always_inline]] inline void put_in_order(const Values& values, std::span<float> out) {
    const std::size_t whole = out.size() / 4;
    for (std::size_t i = 0; i < whole; ++i)
        for (std::size_t word = 0; word < 4; ++word) out[4 * i + word] = values[word][i];
    for (std::size_t rest = 4 * whole; rest < out.size(); ++rest)
        out[rest] = values[rest % 4][whole];
}

/// @param run_of philox_run of one width, which takes multiples of `at_once` blocks.
template <std::size_t at_once, class RunOf>
[[gnu::always_inline]] inline void fill_all(Distribution distribution, std::span<float> out,
                                            std::uint64_t first_block, std::uint64_t id,
                                            std::uint64_t key, RunOf run_of) {
    constexpr std::size_t run = 4 * run_blocks;
    Words words;
    Values values;
    std::size_t done = 0;
    for (; done + run <= out.size(); done += run) {
        run_of(words, run_blocks, first_block + done / 4, id, key);
        convert_run(distribution, values, words, run_blocks);
        put_in_order(values, out.subspan(done, run));
    }
    const std::span<float> rest = out.subspan(done);
    if (rest.empty()) return;
    const std::size_t blocks = (rest.size() + 4 * at_once - 1) / (4 * at_once) * at_once;
    run_of(words, blocks, first_block + done / 4, id, key);
    convert_run(distribution, values, words, blocks);
    put_in_order(values, rest);
}

using Fill = void (*)(Distribution distribution, std::span<float> out, std::uint64_t first_block,
                      std::uint64_t id, std::uint64_t key);

void fill_plain(Distribution distribution, std::span<float> out, std::uint64_t first_block,
                std::uint64_t id, std::uint64_t key) {
    fill_all<narrow::at_once>(distribution, out, first_block, id, key, narrow::philox_run);
}

#ifdef __x86_64__
/// The same text in wider vectors: no operation of it is contracted, so the bits are the same.
[[gnu::target("avx512f")]] void fill_wide(Distribution distribution, std::span<float> out,
                                          std::uint64_t first_block, std::uint64_t id,
                                          std::uint64_t key) {
    fill_all<wide::at_once>(distribution, out, first_block, id, key, wide::philox_run);
}
#endif

Fill chosen_fill() {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") != 0) {
        return fill_wide;
    }
#endif
    return fill_plain;
}

void fill_runs(Distribution distribution, std::span<float> out, std::uint64_t first_block,
               std::uint64_t id, std::uint64_t key) {
    static const Fill fill = chosen_fill();
    fill(distribution, out, first_block, id, key);
}

void fill_field(Distribution distribution, const RandomField& field, std::uint64_t first,
                std::span<float> out) {
    const std::uint64_t block = std::uint64_t{field.lane} << 32U | first / 4;
    const auto skipped = static_cast<std::size_t>(first % 4);
    std::array<float, 4> edge{};
    std::size_t done = 0;
    if (skipped > 0) {
        fill_runs(distribution, edge, block, field.id, field.key.value);
        done = std::min(out.size(), 4 - skipped);
        std::copy_n(edge.begin() + static_cast<std::ptrdiff_t>(skipped), done, out.begin());
    }
    fill_runs(distribution, out.subspan(done), block + (skipped > 0 ? 1 : 0), field.id,
              field.key.value);
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::uint64_t key) {
    return philox_block(counter, key);
}

RandomKey random_key(std::uint64_t seed, std::string_view purpose, std::uint64_t island) {
    return {Hasher().add(seed).add(purpose).add(island).hash64()};
}

void RandomField::fill_uniform(std::uint64_t first, std::span<float> values) const {
    fill_field(Distribution::uniform, *this, first, values);
}

void RandomField::fill_normal(std::uint64_t first, std::span<float> values) const {
    fill_field(Distribution::normal, *this, first, values);
}

std::uint32_t RandomStream::bits() {
    const std::uint64_t block = draw_ / 4;
    if (block != cached_block_) {
        cached_ =
            philox({low_word(block), high_word(block), low_word(id_), high_word(id_)}, key_.value);
        cached_block_ = block;
    }
    return cached_[draw_++ % 4];
}

std::uint32_t RandomStream::index(std::uint32_t count) {
    CAMBRIAN_ASSERT(count > 0);
    // The high half of bits * count is uniform once the first 2^32 mod count low halves are
    // rejected.
    const std::uint32_t rejected = (0U - count) % count;
    for (;;) {
        const std::uint64_t product = std::uint64_t{bits()} * count;
        if (low_word(product) >= rejected) {
            return high_word(product);
        }
    }
}

float RandomStream::normal() {
    const std::uint32_t first = bits();
    const std::uint32_t second = bits();
    return turned(radius_of(squared_radius(first)), second).cosine;
}

void RandomStream::fill_uniform(std::span<float> values) {
    skip_to_block();
    fill_runs(Distribution::uniform, values, draw_ / 4, id_, key_.value);
    draw_ += values.size();
}

}  // namespace cambrian
