#include "cambrian/engine/layers/layer_documentation.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {
namespace {

/// A type of fields: its name, its range, and values that a layer with limits of its own refuses.
template <class Value>
struct FieldType;

std::string integer_range() {
    return "0 to " + std::to_string(widest_layer);
}

std::string listed(std::span<const std::string_view> names) {
    std::string text;
    for (const std::string_view name : names)
        text += (text.empty() ? "" : ", ") + std::string(name);
    return text;
}

template <>
struct FieldType<std::int64_t> {
    static constexpr std::string_view name = "integer";
    static std::string allowed() { return integer_range(); }
    static std::int64_t refused() { return 0; }
};
template <>
struct FieldType<double> {
    static constexpr std::string_view name = "number";
    static std::string allowed() { return {}; }
    static double refused() { return std::numeric_limits<double>::quiet_NaN(); }
};
template <>
struct FieldType<float> {
    static constexpr std::string_view name = "number";
    static std::string allowed() { return {}; }
    static float refused() { return std::numeric_limits<float>::quiet_NaN(); }
};
template <>
struct FieldType<std::string> {
    static constexpr std::string_view name = "text";
    static std::string allowed() { return {}; }
    static std::string refused() { return "?"; }
};
template <>
struct FieldType<AxisValues> {
    static constexpr std::string_view name = "integer, or one for each axis";
    static std::string allowed() { return integer_range(); }
    static AxisValues refused() { return -1; }
};
template <>
struct FieldType<bool> {
    static constexpr std::string_view name = "boolean";
    static std::string allowed() { return "true, false"; }
};
template <>
struct FieldType<Activation> {
    static constexpr std::string_view name = "activation";
    static std::string allowed() { return listed(activation_names); }
};
template <>
struct FieldType<Discretization> {
    static constexpr std::string_view name = "discretization";
    static std::string allowed() { return listed(discretization_names); }
};
template <>
struct FieldType<InitRule> {
    static constexpr std::string_view name = "rule";
    static std::string allowed() { return listed(init_rule_names); }
};
template <>
struct FieldType<std::vector<Neurons::Neuron>> {
    static constexpr std::string_view name = "list of neurons";
    static std::string allowed() {
        return "activation " + listed(neuron_activation_names) + "; aggregation " +
               listed(neuron_aggregation_names);
    }
};
template <>
struct FieldType<std::vector<Neurons::Connection>> {
    static constexpr std::string_view name = "list of connections";
    static std::string allowed() {
        return "source -1 (the constant 1), 0 to in - 1 (inputs), in + n (neuron n); target a "
               "neuron; delay 0 to " +
               std::to_string(Neurons::longest_delay) +
               "; enabled true, false; plastic true, false";
    }
};
template <>
struct FieldType<std::vector<std::int64_t>> {
    static constexpr std::string_view name = "list of integers";
    static std::string allowed() { return integer_range(); }
};
template <>
struct FieldType<std::vector<bool>> {
    static constexpr std::string_view name = "list of booleans";
    static std::string allowed() { return {}; }
};
template <>
struct FieldType<std::vector<AnyLayer>> {
    static constexpr std::string_view name = "list of layers";
    static std::string allowed() { return {}; }
};
template <>
struct FieldType<OptionalLayer> {
    static constexpr std::string_view name = "layer or null";
    static std::string allowed() { return {}; }
};

/// What the layer says of a value that it refuses: "rate is 0 to below 1" of a field `rate`.
template <class L, class Value>
std::string allowed(const Field<L, Value>& field) {
    if constexpr (requires(const L& layer) {
                      FieldType<Value>::refused();
                      layer.fault();
                  }) {
        L layer = L::example();
        layer.*field.member = FieldType<Value>::refused();
        const std::string_view fault = layer.fault();
        const std::string subject = std::string(field.name) + " is ";
        if (fault.starts_with(subject)) return std::string(fault.substr(subject.size()));
    }
    return FieldType<Value>::allowed();
}

/// What a field is initialised with; JSON of a layer leaves out those that came later.
template <class L, class Value>
std::string initial(const Field<L, Value>& field, const nlohmann::ordered_json& defaults) {
    if constexpr (std::is_arithmetic_v<Value> || field_json::Choice<Value> ||
                  std::is_same_v<Value, std::string>) {
        if (field.addition > 0) {
            nlohmann::ordered_json json;
            field_json::write(json, L{}.*field.member);
            return json.dump();
        }
    }
    return defaults.at(std::string(field.name)).dump();
}

/// The fields that a layer's parameters are ruled by.
void add_rules(std::vector<FieldDocumentation>& result, const AnyLayer& layer) {
    const auto defaults = to_json(layer);
    const auto add_rule = [&]<class Value>(const Field<ParameterRules, Value>& field) {
        if (takes_rule(layer, field.name))
            result.push_back({.name = std::string(field.name),
                              .type = std::string(FieldType<Value>::name),
                              .initial = initial(field, defaults),
                              .allowed = FieldType<Value>::allowed(),
                              .meaning = std::string(field.meaning)});
    };
    ParameterRules::fields([&](const auto&... field) { (add_rule(field), ...); });
}

template <class L>
std::vector<FieldDocumentation> field_documentation() {
    const auto defaults = to_json(AnyLayer(L{}));
    std::vector<FieldDocumentation> result;
    const auto add = [&]<class Value>(const Field<L, Value>& field) {
        result.push_back({.name = std::string(field.name),
                          .type = std::string(FieldType<Value>::name),
                          .initial = initial(field, defaults),
                          .allowed = allowed(field),
                          .meaning = std::string(field.meaning)});
    };
    L::fields([&](const auto&... field) { (add(field), ...); });
    add_rules(result, AnyLayer(L{}));
    return result;
}

/// Of a layer of a plug-in: what the schema of its fields says.
std::vector<FieldDocumentation> field_documentation(const Custom& custom) {
    std::vector<FieldDocumentation> result;
    nlohmann::ordered_json properties;
    custom.describe_fields(properties);
    for (const auto& [name, node] : properties.items()) {
        const auto range = [&](const char* key, const char* words) {
            return node.contains(key) ? words + node[key].dump() : std::string();
        };
        std::string allowed = range("minimum", "from ") + range("exclusiveMinimum", "above ");
        for (const std::string& end :
             {range("maximum", "to "), range("exclusiveMaximum", "below ")})
            if (!end.empty()) allowed += (allowed.empty() ? "" : " ") + end;
        if (node.contains("enum"))
            for (const auto& value : node["enum"])
                allowed += (allowed.empty() ? "" : ", ") + value.get<std::string>();
        result.push_back({.name = name,
                          .type = node.value("type", std::string("object")),
                          .initial = node.contains("default") ? node["default"].dump() : "null",
                          .allowed = std::move(allowed),
                          .meaning = node.value("description", std::string())});
    }
    add_rules(result, AnyLayer(custom));
    return result;
}

}  // namespace

Shape example_row(const AnyLayer& layer) {
    const Shape own = std::visit(
        []<class L>(const L&) {
            if constexpr (requires { L::example_row(); }) {
                return L::example_row();
            } else {
                return Shape{};
            }
        },
        layer.variant());
    if (own.rank() > 0) return own;
    constexpr std::int64_t widest_example = 16;
    for (std::int64_t width = 1; width <= widest_example; ++width) {
        try {
            AnyLayer(layer).resolve({width});
            return {width};
        } catch (const ShapeError&) {
            continue;
        }
    }
    throw ContractViolation("no width fits the example of " + std::string(layer.type()));
}

LayerDocumentation documentation(const AnyLayer& layer) {
    if (const auto* custom = std::get_if<Custom>(&layer.variant())) {
        LayerDocumentation result{.name = custom->type(),
                                  .about = custom->layer->about(),
                                  .fields = field_documentation(*custom),
                                  .example = custom->own_example(),
                                  .row = {}};
        result.row = example_row(result.example);
        result.example.resolve(result.row);
        return result;
    }
    return std::visit(
        []<class L>(const L&) {
            LayerDocumentation result{.name = L::name,
                                      .about = L::about,
                                      .fields = field_documentation<L>(),
                                      .example = L::example(),
                                      .row = {}};
            result.row = example_row(result.example);
            result.example.resolve(result.row);
            return result;
        },
        layer.variant());
}

}  // namespace cambrian
