#pragma once

#include <cstdint>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/evolve/genome/genome.hpp"

namespace cambrian::evolve {

/// How many genes a genome has: its neurons and connections where these are genes, else its layers
/// and links.
[[nodiscard]] std::uint32_t complexity(const Genome& genome);

/// A search that goes through phases (Green 2004): children gain genes until their mean complexity
/// is too far above a floor, and then lose genes until it no longer falls, where the next floor is.
/// `fields` are the keys of the section "complexity".
struct ComplexitySettings {
    double ceiling = 0.0;
    bool relative = false;
    std::uint64_t patience = 10;
    float delete_rate = 0.2F;
    bool splice = true;

    [[nodiscard]] bool on() const { return ceiling > 0.0; }
    static constexpr auto fields = FieldTable{
        Field{"ceiling", &ComplexitySettings::ceiling, FieldRange{0.0, 1e9},
              "Genes (neurons and connections, or layers and links) that the mean of a "
              "generation's children may have above the floor, which is the first generation's "
              "mean, and then that where genes last ceased to be lost. Above it children lose "
              "genes. 0: never."},
        Field{"relative", &ComplexitySettings::relative,
              "The ceiling is a share of the floor: 0.5 is half as many genes again."},
        Field{"patience", &ComplexitySettings::patience, FieldRange{1.0, 1e9},
              "Generations without a new least mean after which children gain genes again."},
        Field{"delete_rate", &ComplexitySettings::delete_rate, from_zero_to_one,
              "Per child that loses genes: rate of each kind of deletion (neurons, connections; "
              "layers, links), where its own is lower. Nothing is added, and mutations of plug-ins "
              "rest."},
        Field{"splice", &ComplexitySettings::splice,
              "Children that lose genes may have two parents; else the fitter one alone."},
    };
};

}  // namespace cambrian::evolve
