#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {

/// What recurrent layers of a row that goes in and a hidden state that comes out have in common:
/// all but their parameters and the step. `Own` is the layer that derives from it.
template <class Own>
struct RecurrentLayer {
    std::int64_t in = 0;
    std::int64_t hidden = 0;

    /// What the layer has as `fields`.
    [[nodiscard]] static constexpr auto recurrent_fields() {
        return FieldTable{
            Field<Own, std::int64_t>{"in", &RecurrentLayer::in, "0: all elements of a row"},
            Field<Own, std::int64_t>{"hidden", &RecurrentLayer::hidden,
                                     "width of the state; 0: told by what follows"},
        };
    }

    static Own example() { return {{.in = 3, .hidden = 2}}; }
    static std::optional<Own> fitted(const Shape& in, const Shape& out) {
        if (out.rank() != 1) return std::nullopt;
        return Own{{.in = in.elements(), .hidden = out.elements()}};
    }

    void resolve(const Shape& input) {
        resolve_whole_row(Own::name, "in", in, input);
        require_width(Own::name, "hidden", hidden);
    }
    /// Fills an output width left at 0.
    void infer_output(std::int64_t width) {
        if (hidden == 0) hidden = width;
    }
    [[nodiscard]] Shape output_shape(const Shape& /*input*/) const { return {hidden}; }

    [[nodiscard]] std::vector<StateSpec> state() const {
        return {{.name = "hidden", .shape = {hidden}}};
    }

    bool operator==(const RecurrentLayer&) const = default;
};

}  // namespace cambrian
