#include "cambrian/engine/cpu/gemm/gemm.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

namespace cambrian::cpu {

namespace {

// A panel of B of so many k stays in the first-level cache, and so many rows of A in the second.
constexpr std::int64_t block_depth = 256;
constexpr std::int64_t block_rows = 72;
constexpr std::int64_t block_columns = 1024;
/// Up to so many rows, panels of B are packed where they are used.
constexpr std::int64_t striped_rows = 96;
/// Up to so many rows, every word of B is used so rarely that packing it does not pay.
constexpr std::int64_t few_rows = 6;
/// Up to so many words, B is read where it is.
constexpr std::int64_t small_words = 4096;
constexpr std::int64_t widest_tile = 64;
/// Multiplications that are worth another thread.
constexpr std::int64_t part_multiplications = 262144;

constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}
constexpr std::int64_t whole(std::int64_t count, std::int64_t unit) {
    return divide_up(count, unit) * unit;
}

bool turns(const Gemm& gemm) {
    return gemm.n == 1 && gemm.c_row <= 1;
}

/// A matrix times a vector is the vector times the transpose: its sums then lie side by side.
Gemm by_rows(const Gemm& gemm) {
    if (!turns(gemm)) {
        return gemm;
    }
    Gemm turned = gemm;
    turned.m = 1;
    turned.n = gemm.m;
    turned.transpose_a = !gemm.transpose_b;
    turned.transpose_b = !gemm.transpose_a;
    turned.a_row = gemm.b_row;
    turned.b_row = gemm.a_row;
    return turned;
}

enum class Way : std::uint8_t { plain, striped, blocked };

/// @param gemm as by_rows gives it.
Way way_of(const Gemm& gemm) {
    if (gemm.m <= few_rows || (!gemm.transpose_b && gemm.n * gemm.k <= small_words)) {
        return Way::plain;
    }
    return gemm.m <= striped_rows ? Way::striped : Way::blocked;
}

/// A range of rows or columns cut into equal parts, the last one smaller.
struct Cut {
    std::int64_t extent = 0;
    std::int64_t size = 0;

    /// Parts whose lines, each of `work` multiplications, are worth a thread.
    static Cut by_work(std::int64_t extent, std::int64_t work, std::int64_t unit) {
        const std::int64_t lines = divide_up(part_multiplications, std::max<std::int64_t>(work, 1));
        return {extent, whole(lines, unit)};
    }
    [[nodiscard]] std::int64_t count() const { return divide_up(extent, size); }
    [[nodiscard]] std::int64_t first(std::int64_t part) const { return part * size; }
    [[nodiscard]] std::int64_t end(std::int64_t part) const {
        return std::min(extent, (part + 1) * size);
    }
};

/// A product with all strides known.
class Run {
  public:
    Run(const Gemm& gemm, const float* a, const float* b, float* c)
        : gemm_(gemm),
          a_(view(a, gemm.transpose_a, gemm.a_row, gemm.m, gemm.k)),
          b_(view(b, gemm.transpose_b, gemm.b_row, gemm.k, gemm.n)),
          c_(c),
          c_row_(gemm.c_row != 0 ? gemm.c_row : gemm.n) {}

    void plain(const Team& team) const {
        const auto [m, n, k] = std::array{gemm_.m, gemm_.n, gemm_.k};
        if (m > few_rows) {
            const Cut rows = Cut::by_work(m, n * k, GemmTile::max_rows);
            for_each_part(team, rows.count(), [&](std::int64_t part) {
                // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): references outlive the team.
                plain_part(rows.first(part), rows.end(part), 0, n);
            });
        } else {
            const Cut columns = Cut::by_work(n, m * k, widest_tile);
            for_each_part(team, columns.count(), [&](std::int64_t part) {
                // NOLINTNEXTLINE(clang-analyzer-core.NullDereference)
                plain_part(0, m, columns.first(part), columns.end(part));
            });
        }
    }

    /// Packs every panel of B where it is used.
    void striped(const Team& team) const {
        const Cut columns = Cut::by_work(gemm_.n, gemm_.m * gemm_.k, GemmTile::max_columns);
        for_each_part(team, columns.count(), [&](std::int64_t part, std::byte* scratch) {
            auto* packed = reinterpret_cast<float*>(scratch);
            for (std::int64_t p = 0; p < gemm_.k; p += block_depth) {
                for (std::int64_t column = columns.first(part); column < columns.end(part);
                     column += GemmTile::max_columns) {
                    stripe(p, column, packed);
                }
            }
        });
    }

    /// Packs blocks of B once for all rows, and of A for the rows of a part.
    void blocked(const Team& team, float* packed_b) const {
        for (std::int64_t column = 0; column < gemm_.n; column += block_columns) {
            const std::int64_t columns = std::min(block_columns, gemm_.n - column);
            for (std::int64_t p = 0; p < gemm_.k; p += block_depth) {
                pack_block(team, p, column, columns, packed_b);
                const Cut rows{gemm_.m, block_rows};
                for_each_part(team, rows.count(), [&](std::int64_t part, std::byte* scratch) {
                    block(rows.first(part), rows.end(part), column, columns, p, packed_b,
                          reinterpret_cast<float*>(scratch));
                });
            }
        }
    }

  private:
    static MatrixView view(const float* data, bool transposed, std::int64_t row_words,
                           std::int64_t rows, std::int64_t columns) {
        const std::int64_t row = row_words != 0 ? row_words : transposed ? rows : columns;
        return transposed ? MatrixView{data, 1, row} : MatrixView{data, row, 1};
    }
    [[nodiscard]] std::int64_t depth(std::int64_t p) const {
        return std::min(block_depth, gemm_.k - p);
    }
    [[nodiscard]] const float* a_at(std::int64_t row, std::int64_t p) const {
        return a_.data + row * a_.row + p * a_.column;
    }
    [[nodiscard]] const float* b_at(std::int64_t p, std::int64_t column) const {
        return b_.data + p * b_.row + column * b_.column;
    }
    [[nodiscard]] GemmTile tile(std::int64_t row, std::int64_t column, std::int64_t p,
                                std::int64_t columns) const {
        return {.a = a_at(row, p),
                .a_row = a_.row,
                .a_step = a_.column,
                .b = b_at(p, column),
                .b_step = b_.row,
                .depth = depth(p),
                .c = c_ + row * c_row_ + column,
                .c_row = c_row_,
                .columns = columns,
                .factor = gemm_.factor,
                .adds = gemm_.adds || p > 0};
    }

    void plain_part(std::int64_t first_row, std::int64_t end_row, std::int64_t first_column,
                    std::int64_t end_column) const {
        for (std::int64_t p = 0; p < gemm_.k; p += block_depth) {
            for (std::int64_t row = first_row; row < end_row; row += GemmTile::max_rows) {
                const std::int64_t rows = std::min(GemmTile::max_rows, end_row - row);
                if (gemm_.transpose_b) {
                    GemmTile own = tile(row, first_column, p, end_column - first_column);
                    own.b_step = b_.column;
                    transposed_kernel(rows)(own);
                    continue;
                }
                const std::int64_t width = GemmTile::plain_columns(rows);
                for (std::int64_t column = first_column; column < end_column; column += width) {
                    const std::int64_t columns = std::min(width, end_column - column);
                    plain_kernel(rows, columns)(tile(row, column, p, columns));
                }
            }
        }
    }

    void stripe(std::int64_t p, std::int64_t column, float* packed) const {
        const std::int64_t columns = std::min(GemmTile::max_columns, gemm_.n - column);
        pack_columns({b_at(p, column), b_.row, b_.column}, columns, depth(p), packed);
        for (std::int64_t row = 0; row < gemm_.m; row += GemmTile::max_rows) {
            GemmTile own = tile(row, column, p, columns);
            own.b = packed;
            half_packed_kernel(std::min(GemmTile::max_rows, gemm_.m - row), columns)(own);
        }
    }

    void pack_block(const Team& team, std::int64_t p, std::int64_t column, std::int64_t columns,
                    float* packed) const {
        constexpr std::int64_t panels = 4;
        const Cut cut{columns, panels * GemmTile::max_columns};
        for_each_part(team, cut.count(), [&](std::int64_t part) {
            const std::int64_t first = cut.first(part);
            pack_columns({b_at(p, column + first), b_.row, b_.column}, cut.end(part) - first,
                         depth(p), packed + first * depth(p));
        });
    }

    void block(std::int64_t first_row, std::int64_t end_row, std::int64_t first_column,
               std::int64_t columns, std::int64_t p, const float* packed_b, float* packed_a) const {
        pack_rows({a_at(first_row, p), a_.row, a_.column}, end_row - first_row, depth(p), packed_a);
        for (std::int64_t column = 0; column < columns; column += GemmTile::max_columns) {
            const std::int64_t width = std::min(GemmTile::max_columns, columns - column);
            for (std::int64_t row = first_row; row < end_row; row += GemmTile::max_rows) {
                GemmTile own = tile(row, first_column + column, p, width);
                own.a = packed_a + (row - first_row) * depth(p);
                own.b = packed_b + column * depth(p);
                packed_kernel(std::min(GemmTile::max_rows, end_row - row), width)(own);
            }
        }
    }

    const Gemm& gemm_;
    MatrixView a_;
    MatrixView b_;
    float* c_;
    std::int64_t c_row_;
};

}  // namespace

constinit const std::string_view Gemm::name =
    fuses_multiply_add ? "gemm of fused sums over blocks of 256"
                       : "gemm of rounded products over blocks of 256, without AVX2 and FMA";

std::int64_t Gemm::scratch_words() const {
    const Gemm gemm = by_rows(*this);
    if (way_of(gemm) != Way::blocked) {
        return 0;
    }
    return std::min(gemm.k, block_depth) *
               whole(std::min(gemm.n, block_columns), GemmTile::max_columns) +
           pack_overrun;
}

std::int64_t Gemm::part_words() const {
    const Gemm gemm = by_rows(*this);
    const Way way = way_of(gemm);
    if (way == Way::plain) {
        return 0;
    }
    const std::int64_t lines = way == Way::striped ? GemmTile::max_columns : block_rows;
    return std::min(gemm.k, block_depth) * lines + pack_overrun;
}

std::int64_t Gemm::enough_words() const {
    const std::int64_t lines =
        m <= striped_rows ? GemmTile::max_columns
                          : block_rows + whole(std::min(n, block_columns), GemmTile::max_columns);
    return std::min(k, block_depth) * lines + 2 * pack_overrun;
}

bool Gemm::is_one_tile() const {
    return m >= 1 && m <= GemmTile::max_rows && n >= 1 && k <= block_depth &&
           (transpose_b || n <= GemmTile::plain_columns(m));
}

void Gemm::operator()(const Team& team, float* scratch, const float* a, const float* b,
                      float* c) const {
    if (k == 0) {
        for (std::int64_t row = 0; row < (adds ? 0 : m); ++row) {
            std::fill_n(c + row * (c_row != 0 ? c_row : n), n, 0.0F);
        }
        return;
    }
    const Gemm gemm = by_rows(*this);
    const Run run(gemm, turns(*this) ? b : a, turns(*this) ? a : b, c);
    switch (way_of(gemm)) {
        case Way::plain:
            run.plain(team);
            break;
        case Way::striped:
            run.striped(team);
            break;
        case Way::blocked:
            run.blocked(team, scratch);
            break;
    }
}

void Gemm::operator()(float* scratch, const float* a, const float* b, float* c) const {
    std::byte* const parts[] = {reinterpret_cast<std::byte*>(scratch + scratch_words())};
    (*this)(Team{nullptr, parts}, scratch, a, b, c);
}

}  // namespace cambrian::cpu
