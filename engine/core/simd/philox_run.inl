// philox_run for one width of vectors, from what is before the inclusion: CAMBRIAN_TARGET and `Lanes`
// (word_lanes.hpp). What a lane has beyond its word is never read.

using Vector = Lanes::Vector;
constexpr std::size_t lane_count = sizeof(Vector) / sizeof(std::uint64_t);
constexpr std::size_t at_once = 2 * lane_count;

struct Blocks {
    Vector c0, c1, c2, c3;
};

CAMBRIAN_TARGET [[gnu::always_inline]] inline void next_round(Blocks& blocks, std::uint64_t key_0,
                                                              std::uint64_t key_1) {
    const Vector product_0 = Lanes::products(Vector{} + multiplier_0, blocks.c0);
    const Vector product_1 = Lanes::products(Vector{} + multiplier_1, blocks.c2);
    blocks = {(product_1 >> 32U) ^ blocks.c1 ^ key_0, product_1,
              (product_0 >> 32U) ^ blocks.c3 ^ key_1, product_0};
}

/// philox_block for so many blocks in a row, a multiple of at_once.
CAMBRIAN_TARGET inline void philox_run(Words& words, std::size_t blocks, std::uint64_t first_block,
                                       std::uint64_t id, std::uint64_t key) {
    static_assert(run_blocks % at_once == 0);
    for (std::size_t i = 0; i < blocks; i += at_once) {
        Vector block;
        for (std::size_t lane = 0; lane < lane_count; ++lane) block[lane] = first_block + i + lane;
        const Vector next = block + lane_count;
        Blocks low{block, block >> 32U, Vector{} + id, Vector{} + (id >> 32U)};
        Blocks high{next, next >> 32U, low.c2, low.c3};
        std::uint32_t key_0 = low_word(key);
        std::uint32_t key_1 = high_word(key);
        for (int round = 0; round < rounds; ++round) {
            next_round(low, key_0, key_1);
            next_round(high, key_0, key_1);
            key_0 += weyl_0;
            key_1 += weyl_1;
        }
        Lanes::store(&words[0][i], low.c0, high.c0);
        Lanes::store(&words[1][i], low.c1, high.c1);
        Lanes::store(&words[2][i], low.c2, high.c2);
        Lanes::store(&words[3][i], low.c3, high.c3);
    }
}
