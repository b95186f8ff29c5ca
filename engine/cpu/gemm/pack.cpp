#include "cambrian/engine/cpu/gemm/tile.hpp"

#include <algorithm>

#include "cambrian/engine/core/simd/lanes.hpp"

namespace cambrian::cpu {

namespace {

/// A panel: `width` lines of a matrix, of which `lines` are there, as to[p × width + line].
struct Panel {
    MatrixView from;  ///< Element (line, p).
    std::int64_t lines = 0;
    std::int64_t depth = 0;
    float* to = nullptr;
};

template <std::int64_t width>
void pack_words(const Panel& panel, std::int64_t first) {
    for (std::int64_t p = first; p < panel.depth; ++p) {
        for (std::int64_t line = 0; line < width; ++line) {
            panel.to[p * width + line] =
                line < panel.lines ? panel.from.data[line * panel.from.row + p * panel.from.column]
                                   : 0.0F;
        }
    }
}

/// Eight lines from `line` on, for eight p.
template <std::int64_t width>
[[gnu::always_inline]] inline void pack_square(const Panel& panel, std::int64_t line,
                                               std::int64_t p) {
    constexpr std::int64_t half = 4;
    float* to = panel.to + p * width + line;
    for (std::int64_t first = 0; first < lanes; first += half) {
        const auto columns = load_transposed([&](std::int64_t r) {
            return panel.from.data + std::min(line + r, width - 1) * panel.from.row + p + first;
        });
        unrolled<static_cast<std::size_t>(half)>(
            [&](auto i) { store(to + (first + std::int64_t{i}) * width, columns.vectors[i]); });
    }
}

/// Of lines whose words for successive p are neighbours. Where a vector is wider than the panel, it
/// reaches into the words of the next p, which are written after it.
template <std::int64_t width>
void pack_along(const Panel& panel) {
    constexpr std::int64_t line_words =
        16;  // Of the cache: lines far apart may push each other out.
    const std::int64_t whole = panel.lines == width ? panel.depth / lanes * lanes : 0;
    for (std::int64_t first = 0; first < whole; first += line_words) {
        for (std::int64_t line = 0; line < width; line += lanes) {
            for (std::int64_t p = first; p < std::min(first + line_words, whole); p += lanes) {
                pack_square<width>(panel, line, p);
            }
        }
    }
    pack_words<width>(panel, whole);
}

/// Of lines that are neighbours for every p.
template <std::int64_t width>
void pack_across(const Panel& panel) {
    constexpr auto vectors = static_cast<std::size_t>((width + lanes - 1) / lanes);
    IntVector masks[vectors];
    for (std::size_t v = 0; v < vectors; ++v) {
        masks[v] = lane_mask(panel.lines - lane(v));
    }
    const bool whole = panel.lines == width && width % lanes == 0;
    for (std::int64_t p = 0; p < panel.depth; ++p) {
        const float* from = panel.from.data + p * panel.from.column;
        float* to = panel.to + p * width;
        for (std::size_t v = 0; v < vectors; ++v) {
            const FloatVector words =
                whole ? load(from + lane(v)) : load_masked(from + lane(v), masks[v]);
            store(to + lane(v), words);
        }
    }
}

template <std::int64_t width>
void pack(const MatrixView& lines, std::int64_t count, std::int64_t depth, float* to) {
    for (std::int64_t first = 0; first < count; first += width) {
        const Panel panel{{lines.data + first * lines.row, lines.row, lines.column},
                          std::min(width, count - first),
                          depth,
                          to + first * depth};
        if (lines.column == 1) {
            pack_along<width>(panel);
        } else {
            pack_across<width>(panel);
        }
    }
}

}  // namespace

void pack_rows(const MatrixView& a, std::int64_t rows, std::int64_t depth, float* to) {
    pack<GemmTile::max_rows>(a, rows, depth, to);
}

void pack_columns(const MatrixView& b, std::int64_t columns, std::int64_t depth, float* to) {
    pack<GemmTile::max_columns>({b.data, b.column, b.row}, columns, depth, to);
}

}  // namespace cambrian::cpu
