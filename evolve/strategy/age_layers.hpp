#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"

namespace cambrian::evolve {

/// How age limits grow from layer to layer, in gaps: 1 2 3 4 5, 1 2 3 5 8, 1 2 4 9 16, 1 2 4 8 16.
enum class AgeScheme : std::uint8_t { linear, fibonacci, polynomial, exponential };
inline constexpr std::array<std::string_view, 4> age_scheme_names{"linear", "fibonacci",
                                                                  "polynomial", "exponential"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(AgeScheme) {
    return age_scheme_names;
}

/// Layers by the age of genomes (Hornby 2006). `fields` are the keys of the section "age_layers".
struct AgeLayerSettings {
    std::uint64_t count = 5;
    std::uint64_t gap = 10;
    AgeScheme scheme = AgeScheme::polynomial;

    static constexpr auto fields = FieldTable{
        Field{"count", &AgeLayerSettings::count, FieldRange{1.0, 40.0},
              "Layers, of equal shares of the population. In the last one any age may live."},
        Field{"gap", &AgeLayerSettings::gap, FieldRange{1.0, 1e6},
              "Generations from one set of founders in the lowest layer to the next, and the age "
              "limit there."},
        Field{"scheme", &AgeLayerSettings::scheme,
              "Age limits in gaps: linear 1 2 3 4, fibonacci 1 2 3 5, polynomial 1 2 4 9, "
              "exponential 1 2 4 8."},
    };
};

/// Ages of each layer from which on one lives above it, in generations.
[[nodiscard]] std::vector<std::uint64_t> age_limits(const AgeLayerSettings& settings);

}  // namespace cambrian::evolve
