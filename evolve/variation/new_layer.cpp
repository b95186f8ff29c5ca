#include "cambrian/evolve/variation/new_layer.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <variant>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/identity.hpp"

namespace cambrian::evolve {

namespace {

/// Whether the numbers that a layer may leave open, and that are not given, stay as a default layer
/// has them in its place, or follow from those that are: head_dim from heads.
enum class OpenNumbers : std::uint8_t { stay, follow };

/// Sets the fields in which `given` differs from the default layer of its type, but for a gate,
/// which is no setting.
template <class L>
void set_fields(L& layer, const L& given, OpenNumbers open) {
    const L plain{};
    const auto set = [&]<class Value>(const Field<L, Value>& field) {
        if constexpr (!std::is_same_v<Value, OptionalLayer>) {
            if (given.*field.member != plain.*field.member) {
                layer.*field.member = given.*field.member;
            } else if constexpr (std::is_same_v<Value, std::int64_t>) {
                if (open == OpenNumbers::follow && plain.*field.member == 0) {
                    layer.*field.member = 0;
                }
            }
        }
    };
    L::fields([&](const auto&... field) { (set(field), ...); });
}

/// Applies what is given for types to a layer and to those in it.
void set_given(AnyLayer& layer, const std::vector<AnyLayer>& all, OpenNumbers open) {
    for (const AnyLayer& given : all) {
        auto* const custom = std::get_if<Custom>(&layer.variant());
        if (custom != nullptr && given.type() == layer.type()) {
            custom->take_set(std::get<Custom>(given.variant()), open == OpenNumbers::follow);
        }
        std::visit(
            [&]<class L>(L& own) {
                if (const auto* fields = std::get_if<L>(&given.variant())) {
                    set_fields(own, *fields, open);
                }
            },
            layer.variant());
        if (given.type() == layer.type() && !given.rules.plain()) {
            layer.rules = given.rules;
        }
    }
    std::visit(
        [&](auto& own) {
            if constexpr (requires { own.layers; }) {
                for (AnyLayer& inner : own.layers) {
                    set_given(inner, all, open);
                }
            }
        },
        layer.variant());
}

/// Whether a layer builds on rows of a shape and gives others.
bool joins(AnyLayer& layer, const Shape& input, const Shape& output) {
    if (!layer.fault().empty()) {
        return false;
    }
    try {
        layer.resolve(input);
        return layer.output_shape(input) == output;
    } catch (const ShapeError&) {
        return false;
    }
}

/// A layer with the fields given for its type, or nothing where it cannot join rows of two shapes.
std::optional<AnyLayer> with_given(const AnyLayer& layer, const Shape& input, const Shape& output,
                                   const std::vector<AnyLayer>& all) {
    for (const OpenNumbers open : {OpenNumbers::follow, OpenNumbers::stay}) {
        AnyLayer own = layer;
        set_given(own, all, open);
        if (own == layer) {
            return own;
        }
        own.infer_output(output.elements());
        if (joins(own, input, output)) {
            return own;
        }
    }
    return std::nullopt;
}

/// Whether a layer, or one in it, is of a type.
bool has_type(const AnyLayer& layer, std::string_view type) {
    bool result = layer.type() == type;
    layer.each_inner([&](const AnyLayer& inner) { result = result || has_type(inner, type); });
    return result;
}

/// Rows of every kind, whose extents have many divisors.
std::array<Shape, 4> usual_rows() {
    constexpr std::int64_t wide = 720720;  // the least number with all divisors up to 16
    return {Shape{wide}, Shape{16, wide}, Shape{16, 48, 48}, Shape{16, 48, 48, 48}};
}

}  // namespace

std::optional<AnyLayer> new_layer(std::string_view type, const Shape& input, const Shape& output,
                                  const MutationSettings& settings) {
    std::optional<AnyLayer> layer = fitted_layer(type, input, output);
    if (layer && !settings.layers.empty()) {
        layer = with_given(*layer, input, output, settings.layers);
    }
    if (layer) {
        add_rules(*layer, settings.rules);
    }
    return layer;
}

std::optional<AnyLayer> new_identity(std::string_view type, const Shape& row,
                                     const MutationSettings& settings) {
    std::optional<AnyLayer> layer = identity_layer(type, row);
    if (layer && !settings.layers.empty()) {
        layer = with_given(*layer, row, row, settings.layers);
        if (layer && !can_be_identity(*layer)) {
            return std::nullopt;
        }
    }
    if (layer) {
        add_rules(*layer, settings.rules);
    }
    return layer;
}

bool may_bring(const MutationSettings& settings, std::string_view type) {
    const auto has = [&](const std::optional<AnyLayer>& layer) {
        return layer && has_type(*layer, type);
    };
    return std::ranges::any_of(settings.custom,
                               [](const CustomMutation& added) { return added.rate > 0.0F; }) ||
           std::ranges::any_of(settings.layer_types, [&](const std::string& own) {
               return own == type || std::ranges::any_of(usual_rows(), [&](const Shape& row) {
                          return has(fitted_layer(own, row, row)) || has(identity_layer(own, row));
                      });
           });
}

void check_new_layers(const MutationSettings& settings) {
    for (auto given = settings.layers.begin(); given != settings.layers.end(); ++given) {
        const std::string type(given->type());
        const auto same = [&](const AnyLayer& other) { return other.type() == type; };
        if (std::find_if(settings.layers.begin(), given, same) != given) {
            throw ConfigError("mutation.layers gives fields to the type " + type +
                              " twice (a new layer has one set of them) merge the two");
        }
        const bool fits = std::ranges::any_of(usual_rows(), [&](const Shape& row) {
            return new_layer(type, row, row, settings).has_value();
        });
        if (!fits) {
            throw ConfigError("mutation.layers gives " + type +
                              " fields with which no new layer is possible (its place decides "
                              "the widths, and it gives rows like those that it takes) leave out "
                              "widths, or change the fields");
        }
    }
}

}  // namespace cambrian::evolve
