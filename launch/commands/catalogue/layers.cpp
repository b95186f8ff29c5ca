#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/layer_documentation.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/registry.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {
namespace {

/// The example's shapes, parameters and state: what a layer makes of its fields.
struct Example {
    Shape output;
    std::vector<ParameterSpec> parameters;
    std::vector<StateSpec> state;
};

Example example_of(const LayerDocumentation& layer) {
    return {.output = layer.example.output_shape(layer.row),
            .parameters = layer.example.parameters(),
            .state = layer.example.state()};
}

Json extents(const Shape& shape) {
    return std::vector<std::int64_t>(shape.extents().begin(), shape.extents().end());
}

Json json_of(const LayerDocumentation& layer) {
    const Example example = example_of(layer);
    Json fields = Json::array();
    for (const FieldDocumentation& field : layer.fields)
        fields.push_back({{"name", field.name},
                          {"type", field.type},
                          {"default", Json::parse(field.initial)},
                          {"allowed", field.allowed},
                          {"meaning", field.meaning}});
    Json parameters = Json::array();
    for (const ParameterSpec& parameter : example.parameters)
        parameters.push_back({{"name", parameter.name},
                              {"shape", extents(parameter.shape)},
                              {"buffer", parameter.buffer},
                              {"decays", parameter.decays()}});
    Json state = Json::array();
    for (const StateSpec& spec : example.state)
        state.push_back({{"name", spec.name}, {"shape", extents(spec.shape)}});
    return {{"name", layer.name},
            {"summary", layer.about.summary},
            {"formula", layer.about.formula},
            {"fields", std::move(fields)},
            {"example", to_json(layer.example)},
            {"input", extents(layer.row)},
            {"output", extents(example.output)},
            {"parameters", std::move(parameters)},
            {"state", std::move(state)},
            {"source", layer.about.source}};
}

/// A titled paragraph: further lines stand below the first.
std::string lines(std::string_view title, std::string text) {
    constexpr std::string_view indent = "\n              ";
    for (std::size_t at = text.find('\n'); at != std::string::npos;
         at = text.find('\n', at + indent.size()))
        text.replace(at, 1, indent);
    return fmt::format("  {:<10}  {}\n", title, text);
}

std::string field_lines(const LayerDocumentation& layer) {
    std::string text;
    for (const FieldDocumentation& field : layer.fields) {
        std::string line = fmt::format("{}: {}, default {}", field.name, field.type, field.initial);
        if (!field.allowed.empty()) line += fmt::format(", allowed {}", field.allowed);
        if (!field.meaning.empty()) line += fmt::format(" ({})", field.meaning);
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

/// "weight [5, 3], bias [5]"
template <class Spec>
std::string tensors(const std::vector<Spec>& specs) {
    std::string text;
    for (const Spec& spec : specs)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", spec.name, spec.shape.text());
    return text.empty() ? "none" : text;
}

/// Of the parameters, those that weight decay pulls toward zero.
std::vector<ParameterSpec> decaying(std::vector<ParameterSpec> parameters) {
    std::erase_if(parameters, [](const ParameterSpec& parameter) { return !parameter.decays(); });
    return parameters;
}

std::string text_of(const LayerDocumentation& layer) {
    const Example example = example_of(layer);
    return fmt::format("{}\n", layer.name) + lines("summary", std::string(layer.about.summary)) +
           lines("formula", std::string(layer.about.formula)) +
           lines("fields", field_lines(layer)) + lines("example", to_json(layer.example).dump()) +
           lines("shapes",
                 fmt::format("{} gives {}", rows_of(layer.row), rows_of(example.output))) +
           lines("parameters", tensors(example.parameters)) +
           lines("decay", tensors(decaying(example.parameters))) +
           lines("state", tensors(example.state)) +
           lines("source", std::string(layer.about.source));
}

int activations_command(const CommandContext& context, bool json) {
    if (json) {
        context.out << activations_json().dump(2) << '\n';
        return exit_done;
    }
    for (std::size_t code = 0; code < activation_table.size(); ++code)
        context.out << fmt::format("  {:>2}  {:<14} {}\n", code, activation_table[code].name,
                                   activation_table[code].formula);
    return exit_done;
}

}  // namespace

Json layers_json() {
    Json list = Json::array();
    for (const std::string_view name : known_layer_types())
        list.push_back(json_of(documentation(*default_layer(name))));
    return list;
}

Json activations_json() {
    Json list = Json::array();
    for (std::size_t code = 0; code < activation_table.size(); ++code) {
        const ActivationInfo& info = activation_table[code];
        list.push_back({{"name", info.name},
                        {"code", code},
                        {"formula", info.formula},
                        {"rectifier", info.rectifier},
                        {"keeps_zero", info.keeps_zero},
                        {"common", code < common_activations}});
    }
    return list;
}

int layers_command(const CommandContext& context, const LayersOptions& options) {
    if (options.activations) return activations_command(context, options.json);
    const std::string& type = options.type;
    if (!type.empty() && !default_layer(type)) throw ConfigError(unknown_layer_type(type));
    if (options.json) {
        const Json found =
            type.empty() ? layers_json() : json_of(documentation(*default_layer(type)));
        context.out << found.dump(2) << '\n';
        return exit_done;
    }
    for (const std::string_view name : known_layer_types())
        if (type.empty() || type == name)
            context.out << text_of(documentation(*default_layer(name)));
    return exit_done;
}

}  // namespace cambrian::launch
