#include "cambrian/engine/layers/custom/custom_layer.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/guarded.hpp"
#include "cambrian/engine/layers/custom/layer_results.hpp"

namespace cambrian {
namespace {

/// Calls code of a layer. @param what it is asked for.
template <class F>
auto called(const Custom& custom, std::string_view what, const F& f) {
    CAMBRIAN_EXPECT(custom.layer != nullptr);
    const auto says_who = [&] {
        return "layer \"" + std::string(custom.layer->type()) + "\" of the plug-in \"" +
               custom.plugin + "\" fails in " + std::string(what);
    };
    return guarded(says_who, f);
}

/// Changes a copy, so that layers which share the old one keep it.
template <class F>
auto changed(Custom& custom, std::string_view what, const F& f) {
    return called(custom, what, [&] {
        std::shared_ptr<CustomLayer> copy = custom.layer->clone();
        custom.layer = copy;
        return f(*copy);
    });
}

nlohmann::ordered_json fields_of(const CustomLayer& layer) {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    layer.write_fields(json);
    return json;
}

std::optional<Custom> held(const Custom& like, std::unique_ptr<CustomLayer> layer) {
    if (layer == nullptr) return std::nullopt;
    return Custom{like.plugin, std::move(layer)};
}

CustomLayerTypes*& shared_types() {
    static CustomLayerTypes own;
    static CustomLayerTypes* types = &own;
    return types;
}

}  // namespace

void CustomLayerTypes::add(CustomLayerType type, std::span<const std::string_view> built_in) {
    const std::string name(type.initial->type());
    if (const CustomLayerType* old = find(name)) {
        if (old->plugin == type.plugin && old->content == type.content) return;
        throw ConfigError("layer type \"" + name + "\" of the plug-in \"" + type.plugin +
                          "\" cannot be added (the plug-in \"" + old->plugin +
                          "\" has one of that name) load one of them, or rename it");
    }
    if (std::ranges::find(built_in, name) != built_in.end())
        throw ConfigError("layer type \"" + name + "\" of the plug-in \"" + type.plugin +
                          "\" cannot be added (Cambrian has one of that name) rename it");
    static constexpr std::array<std::string_view, 10> others{
        "type",         "at",   "enabled", "clocked",   "dtype", "activation_dtype",
        "dtype_scales", "init", "decay",   "init_scale"};
    nlohmann::ordered_json fields;
    type.initial->describe_fields(fields);
    for (const std::string_view key : others)
        if (fields.contains(std::string(key)))
            throw ConfigError("layer type \"" + name + "\" of the plug-in \"" + type.plugin +
                              "\" cannot be added (\"" + std::string(key) +
                              "\" says something of every layer) rename the field");
    types_.push_back(std::move(type));
}

const CustomLayerType* CustomLayerTypes::find(std::string_view type) const {
    for (const CustomLayerType& known : types_)
        if (known.initial->type() == type) return &known;
    return nullptr;
}

std::vector<std::string_view> CustomLayerTypes::names() const {
    std::vector<std::string_view> result;
    for (const CustomLayerType& type : types_) result.push_back(type.initial->type());
    return result;
}

CustomLayerTypes& custom_layer_types() {
    return *shared_types();
}

void share_custom_layer_types(CustomLayerTypes& types) {
    shared_types() = &types;
}

std::optional<Custom> default_custom(std::string_view type) {
    const CustomLayerType* known = custom_layer_types().find(type);
    if (known == nullptr) return std::nullopt;
    return Custom{known->plugin, known->initial};
}

std::optional<Custom> Custom::fitted_between(const Shape& in, const Shape& out) const {
    return called(*this, "fitted", [&] { return held(*this, layer->fitted(in, out)); });
}

Custom Custom::own_example() const {
    return {plugin, called(*this, "example", [&] { return layer->example(); })};
}

std::string_view Custom::type() const {
    return layer == nullptr ? name : layer->type();
}

std::string_view Custom::fault() const {
    if (layer == nullptr) return "it is no layer";
    return called(*this, "fault", [&] { return layer->fault(); });
}

void Custom::infer_output(std::int64_t width) {
    changed(*this, "infer_output", [&](CustomLayer& own) { own.infer_output(width); });
}

void Custom::resolve(const Shape& input) {
    changed(*this, "resolve", [&](CustomLayer& own) { own.resolve(input); });
    called(*this, "parameters", [&] {
        for (const ParameterSpec& parameter : layer->parameters())
            if (parameter.initial == Initial::weight && parameter.fan_in < 1)
                throw std::logic_error("\"" + parameter.name +
                                       "\" starts as a weight and has no fan_in");
    });
}

Shape Custom::output_shape(const Shape& input) const {
    return called(*this, "output_shape", [&] { return layer->output_shape(input); });
}

std::vector<ParameterSpec> Custom::parameters() const {
    return called(*this, "parameters", [&] {
        std::vector<ParameterSpec> own = layer->parameters();
        // Files and other layers know them by their names.
        for (auto one = own.begin(); one != own.end(); ++one)
            if (std::find_if(own.begin(), one, [&](const ParameterSpec& before) {
                    return before.name == one->name;
                }) != one)
                throw std::logic_error("two are called \"" + one->name + "\"");
        return own;
    });
}

std::vector<StateSpec> Custom::state() const {
    return called(*this, "state", [&] { return layer->state(); });
}

StepResult Custom::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    return called(*this, state.empty() ? "build" : "step", [&] {
        const LayerResults results(*layer, x, operands);
        StepResult result = layer->step(x, state, operands);
        results.check(result.output, result.state);
        return result;
    });
}

std::optional<Var> Custom::own_sequence(Var x, const LayerOperands& operands) const {
    return called(*this, "sequence", [&] {
        const LayerResults results(*layer, x, operands);
        const std::optional<Var> output = layer->sequence(x, operands);
        if (output) results.check(*output);
        return output;
    });
}

bool Custom::prefers_sequence() const {
    return called(*this, "prefers_sequence", [&] { return layer->prefers_sequence(); });
}

std::vector<Activation*> Custom::activations() {
    return changed(*this, "activations", [](CustomLayer& own) { return own.activations(); });
}

std::vector<Activation> Custom::activations() const {
    return called(*this, "activations", [&] {
        const std::unique_ptr<CustomLayer> copy = layer->clone();
        std::vector<Activation> result;
        for (const Activation* activation : copy->activations()) result.push_back(*activation);
        return result;
    });
}

void Custom::write_fields(nlohmann::ordered_json& target) const {
    called(*this, "fields", [&] { layer->write_fields(target); });
}

void Custom::describe_fields(nlohmann::ordered_json& properties) const {
    called(*this, "fields", [&] { layer->describe_fields(properties); });
}

std::string Custom::text(bool genes) const {
    return called(*this, "fields", [&] {
        if (genes) return fields_of(*layer).dump();
        const std::unique_ptr<CustomLayer> copy = layer->clone();
        for (Activation* activation : copy->activations()) *activation = Activation::identity;
        return fields_of(*copy).dump();
    });
}

void Custom::read_fields(const nlohmann::json& source, std::string_view path,
                         std::span<const std::string_view> others) {
    changed(*this, "read_fields", [&](CustomLayer& own) { own.read_fields(source, path, others); });
}

void Custom::take_set(const Custom& given, bool reopens) {
    changed(*this, "fields", [&](CustomLayer& own) {
        const nlohmann::ordered_json plain = fields_of(*given.layer->initial());
        nlohmann::json patch = nlohmann::json::object();
        const nlohmann::ordered_json set = fields_of(*given.layer);
        for (const auto& [key, value] : set.items()) {
            if (!plain.contains(key) || plain[key] != value)
                patch[key] = value;
            else if (reopens && value.is_number_integer() && value == 0)
                patch[key] = 0;
        }
        own.read_fields(patch, own.type(), {});
    });
}

bool Custom::operator==(const Custom& other) const {
    if (layer == other.layer) return true;
    if (layer == nullptr || other.layer == nullptr) return false;
    return plugin == other.plugin && layer->type() == other.layer->type() &&
           called(*this, "==", [&] { return layer->equals(*other.layer); });
}

}  // namespace cambrian
