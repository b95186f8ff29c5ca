#pragma once

#include <optional>

#include "cambrian/engine/layers/custom/typed_layer.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian::test {

/// What layers of plug-ins in tests have in common, which have `features`: a row comes out as long
/// as it went in, and none is made to fit between others.
template <class L>
struct PluginLayer {
    static constexpr LayerText about{.summary = "a", .formula = "b", .source = "c"};

    static L example() {
        L layer;
        layer.features = 2;
        return layer;
    }
    static std::optional<L> fitted(const Shape&, const Shape&) { return std::nullopt; }
    void resolve(const Shape& input) {
        resolve_width(L::name, "features", static_cast<L&>(*this).features, input);
    }
    Shape output_shape(const Shape& input) const { return input; }
    bool operator==(const PluginLayer&) const = default;
};

}  // namespace cambrian::test
