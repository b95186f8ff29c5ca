#pragma once

#include <cstdint>
#include <tuple>

#include "cambrian/engine/core/json/field.hpp"

namespace cambrian::launch {

/// Which steps of a training are watched, and who is told.
struct WatchSettings {
    std::int64_t every = 0;   ///< Steps; 0: none is.
    std::int64_t window = 1;  ///< Watched steps that are told of together.
    bool to_file = false;     ///< Into observations.jsonl of the run directory, else the console.

    static constexpr auto fields = std::tuple{
        Field{"every", &WatchSettings::every, FieldRange{0.0, 1e9}},
        Field{"window", &WatchSettings::window, FieldRange{1.0, 1e9}},
    };
};

}  // namespace cambrian::launch
