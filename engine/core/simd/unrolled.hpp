#pragma once

#include <cstddef>
#include <utility>

namespace cambrian::cpu {

/// Calls body(index) for every constant index below `count`. An array that is only indexed by them
/// stays in registers; in a loop the compiler writes it to memory at every step.
template <std::size_t count, class Body>
[[gnu::always_inline]] inline void unrolled(const Body& body) {
    [&]<std::size_t... index>(std::index_sequence<index...>) __attribute__((always_inline)) {
        (body(std::integral_constant<std::size_t, index>{}), ...);
    }
    (std::make_index_sequence<count>{});
}

}  // namespace cambrian::cpu
