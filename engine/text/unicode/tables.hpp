#pragma once

#include <cstdint>
#include <span>

// The tables of the Unicode Standard that are used here, written by tables.py.
namespace cambrian::unicode::tables {

/// From this character on, up to the next run, a value holds.
struct ClassRun {
    char32_t from = 0;
    std::uint8_t value = 0;
};
/// A character as two others, or as one (second = 0).
struct Decomposition {
    char32_t code = 0;
    char32_t first = 0;
    char32_t second = 0;
};

[[nodiscard]] std::span<const ClassRun> class_runs();
[[nodiscard]] std::span<const ClassRun> combining_runs();
/// In the order of their characters.
[[nodiscard]] std::span<const Decomposition> decompositions();
/// Places in decompositions() of those that compose again, in the order of (first, second).
[[nodiscard]] std::span<const std::uint16_t> compositions();

}  // namespace cambrian::unicode::tables
