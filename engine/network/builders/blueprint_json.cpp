#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

// Blueprints from and to JSON.
namespace cambrian {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> mode_names{"chain", "mesh"};

/// The extents of the input; empty where there is no key, or only a vector of the features.
Shape read_input(const json* source, std::int64_t features) {
    if (source == nullptr) return {};
    json_read::list(*source, "network.input");
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < source->size(); ++i)
        extents.push_back(json_read::integer((*source)[i], json_read::element("network.input", i),
                                             1, widest_layer));
    constexpr std::size_t max_axes = 4;
    if (extents.empty() || extents.size() > max_axes)
        json_read::fail("network.input", "has " + std::to_string(extents.size()) + " extents",
                        "a row is [f], [C, L], [C, H, W] or [C, D, H, W]", "write one to four");
    if (extents.size() == 1 && extents[0] == features) return {};
    return Shape(std::span<const std::int64_t>(extents));
}

GridSize read_grid(const json* source, std::size_t slots_wanted) {
    if (slots_wanted > static_cast<std::size_t>(largest_grid))
        json_read::fail("network.layers", "has " + std::to_string(slots_wanted + 1) + " layers",
                        "a grid has at most " + std::to_string(largest_grid) + " slots and a head",
                        "use fewer");
    GridSize grid = one_cell(slots_wanted);
    if (source == nullptr) return grid;
    static constexpr std::array<std::string_view, 4> keys{"depth", "rows", "cols",
                                                          "layers_per_cell"};
    json_read::object(*source, "network.grid", keys);
    const std::array extents{&grid.depth, &grid.rows, &grid.cols, &grid.layers_per_cell};
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (const json* value = json_read::find(*source, keys[i]))
            *extents[i] = static_cast<int>(json_read::integer(
                *value, json_read::member("network.grid", keys[i]), 1, largest_grid));
    }
    try {
        check(grid);
    } catch (const ShapeError& error) {
        throw ConfigError(std::string("network.grid: ") + error.what());
    }
    return grid;
}

/// Slot index of coordinates [z, y, x, l].
int read_place(const json& source, const std::string& path, const GridSize& grid) {
    json_read::list(source, path);
    if (source.size() != 4)
        json_read::fail(path, "has " + std::to_string(source.size()) + " numbers",
                        "a place is [z, y, x, l]", "write four numbers");
    const std::array extents{grid.depth, grid.rows, grid.cols, grid.layers_per_cell};
    std::array<int, 4> place{};
    for (std::size_t i = 0; i < place.size(); ++i)
        place[i] = static_cast<int>(
            json_read::integer(source[i], json_read::element(path, i), 0, extents[i] - 1));
    return grid.index(place[0], place[1], place[2], place[3]);
}

/// A flag that stands beside the fields of a layer, taken out of it; true where there is none.
bool take_flag(json& layer, const std::string& path, const char* key) {
    if (!layer.is_object() || !layer.contains(key)) return true;
    const bool flag = json_read::boolean(layer[key], json_read::member(path, key));
    layer.erase(key);
    return flag;
}

/// A format that stands under a key of an object; `otherwise` where there is none.
Dtype read_dtype(const json& object, const std::string& path, const char* key, Dtype otherwise) {
    const json* value = object.is_object() ? json_read::find(object, key) : nullptr;
    if (value == nullptr) return otherwise;
    const std::string place = json_read::member(path, key);
    if (value->is_string())
        if (const auto named = dtype_named(value->get<std::string>())) return *named;
    return static_cast<Dtype>(json_read::choice(*value, place, dtype_names));
}

/// The scales that stand in an object. They mean something where its format has scales.
Scales read_scales(const json& object, const std::string& path, Scales otherwise) {
    const json* value = object.is_object() ? json_read::find(object, "dtype_scales") : nullptr;
    if (value == nullptr) return otherwise;
    const std::string place = json_read::member(path, "dtype_scales");
    return static_cast<Scales>(json_read::choice(*value, place, scales_names));
}

LayerFormats read_formats(const json& object, const std::string& path,
                          LayerFormats otherwise = {}) {
    return {.weights = read_dtype(object, path, "dtype", otherwise.weights),
            .activations = read_dtype(object, path, "activation_dtype", otherwise.activations),
            .scales = read_scales(object, path, otherwise.scales)};
}

/// The formats beside the fields of a layer, taken out of it.
LayerFormats take_formats(json& layer, const std::string& path, LayerFormats otherwise) {
    const LayerFormats formats = read_formats(layer, path, otherwise).settled();
    if (layer.is_object())
        for (const char* key : format_keys) layer.erase(key);
    return formats;
}

void write_formats(ordered_json& layer, LayerFormats formats) {
    if (formats.weights != Dtype::float32) layer["dtype"] = name(formats.weights);
    if (formats.scales != Scales::format) layer["dtype_scales"] = name(formats.scales);
    if (formats.activations != Dtype::float32)
        layer["activation_dtype"] = name(formats.activations);
}

/// Puts all layers but the last into slots.
void place_layers(Blueprint& blueprint, const json& layers, LayerFormats formats,
                  const ParameterRules& rules) {
    const std::vector<int> slots = slots_of_layers(layers, blueprint.grid);
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
        const std::string path = json_read::element("network.layers", i);
        json layer = layers[i];
        if (layer.is_object()) layer.erase("at");
        const bool enabled = take_flag(layer, path, "enabled");
        const bool clocked = take_flag(layer, path, "clocked");
        const LayerFormats own = take_formats(layer, path, formats);
        auto& slot = blueprint.slots[static_cast<std::size_t>(slots[i])];
        if (slot)
            json_read::fail(path, "falls on slot " + std::to_string(slots[i]),
                            "another layer is there", "give it another place with \"at\"");
        slot = Slot{.layer = layer_from_json(layer, path, rules),
                    .enabled = enabled,
                    .clocked = clocked,
                    .formats = own};
    }
}

int read_end(const json& source, const std::string& path, const GridSize& grid) {
    if (source.is_array()) return read_place(source, path, grid);
    if (!source.is_string())
        return static_cast<int>(json_read::integer(source, path, input_port, grid.slots()));
    static constexpr std::array<std::string_view, 2> names{"input", "head"};
    return json_read::choice(source, path, names) == 0 ? input_port : grid.slots();
}

/// An end of a link under either of its two names.
int read_end(const json& link, const std::string& path, std::string_view key,
             std::string_view short_key, const GridSize& grid) {
    const json* value = json_read::find(link, key);
    const json* other = json_read::find(link, short_key);
    if ((value == nullptr) == (other == nullptr))
        json_read::fail(
            path, value == nullptr ? "lacks an end" : "names an end twice",
            "\"" + std::string(key) + "\" or \"" + std::string(short_key) + "\" is needed",
            "write one of them");
    return value != nullptr ? read_end(*value, json_read::member(path, key), grid)
                            : read_end(*other, json_read::member(path, short_key), grid);
}

std::vector<Link> read_links(const json* source, const GridSize& grid) {
    std::vector<Link> links;
    std::set<std::tuple<int, int, LinkKind>> known;
    if (source == nullptr) return links;
    json_read::list(*source, "network.links");
    static constexpr std::array<std::string_view, 5> keys{"source", "target", "from", "to", "kind"};
    for (std::size_t i = 0; i < source->size(); ++i) {
        const json& entry = (*source)[i];
        const std::string path = json_read::element("network.links", i);
        json_read::object(entry, path, keys);
        Link link{.source = read_end(entry, path, "source", "from", grid),
                  .target = read_end(entry, path, "target", "to", grid),
                  .kind = LinkKind::forward};
        if (const json* kind = json_read::find(entry, "kind"))
            link.kind = static_cast<LinkKind>(
                json_read::choice(*kind, json_read::member(path, "kind"), link_kind_names));
        if (!known.emplace(link.source, link.target, link.kind).second)
            json_read::fail(path, "repeats a link", "two links would have equal ends and kind",
                            "remove it");
        links.push_back(link);
    }
    std::ranges::sort(links, {}, [](const Link& link) {
        return std::tuple(link.source, link.target, link.kind);
    });
    return links;
}

std::optional<NetworkMode> read_mode(const json& network) {
    const json* mode = json_read::find(network, "mode");
    if (mode == nullptr) return std::nullopt;
    return static_cast<NetworkMode>(json_read::choice(*mode, "network.mode", mode_names));
}

/// The network that a builder makes, which no other key describes.
Blueprint built(const json& network, NetworkEnds ends) {
    for (const char* key : {"layers", "links"})
        if (network.contains(key))
            json_read::fail(json_read::member("network", key), "is given beside network.build",
                            "a builder makes layers and links", "keep one of the two");
    if (const json* grid = json_read::find(network, "grid")) ends.grid = read_grid(grid, 0);
    Blueprint blueprint = build(builder_from_json(network["build"], "network.build"), ends);
    apply_formats(blueprint, network);
    return blueprint;
}

ordered_json end_to_json(int end, const GridSize& grid) {
    if (end == input_port) return "input";
    if (end == grid.slots()) return "head";
    return grid.coordinates(end);
}

/// Gives the rule of the network to the layers that say nothing themselves.
Blueprint with_init(Blueprint blueprint, const ParameterRules& rules) {
    if (rules.plain()) return blueprint;
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) add_rules(slot->layer, rules);
    add_rules(blueprint.head, rules);
    return blueprint;
}

}  // namespace

std::vector<int> slots_of_layers(const json& layers, const GridSize& grid) {
    std::vector<int> slots;
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
        const std::string path = json_read::element("network.layers", i);
        const json& layer = layers[i];
        const int slot = layer.is_object() && layer.contains("at")
                             ? read_place(layer["at"], json_read::member(path, "at"), grid)
                         : slots.empty() ? 0
                                         : slots.back() + 1;
        if (slot >= grid.slots())
            json_read::fail(path, "has no slot",
                            "the grid has " + std::to_string(grid.slots()) + " slots",
                            "make the grid larger");
        slots.push_back(slot);
    }
    slots.push_back(grid.slots());
    return slots;
}

ParameterRules network_rules(const json& network) {
    static constexpr std::array<std::string_view, 2> names{"init", "init_scale"};
    return rules_from_json(network, "network", names);
}

void add_rules(AnyLayer& layer, const ParameterRules& rules) {
    if (takes_init(layer)) layer.rules = layer.rules.within(rules);
}

LayerFormats network_formats(const json& network) {
    return read_formats(network, "network");
}

Blueprint blueprint_from_json(const json& network, std::int64_t input_features,
                              std::int64_t output_features, bool time, std::int64_t steps) {
    static constexpr std::array<std::string_view, 12> keys{
        "layers", "grid",      "links", "input",        "mode",
        "build",  "initial",   "dtype", "dtype_scales", "activation_dtype",
        "init",   "init_scale"};
    json_read::object(network, "network", keys);
    const ParameterRules rules = network_rules(network);
    if (network.contains("build"))
        return with_init(built(network, {.input_features = input_features,
                                         .output_features = output_features,
                                         .input_shape = read_input(
                                             json_read::find(network, "input"), input_features),
                                         .time = time,
                                         .steps = steps,
                                         .grid = {},
                                         .mode = read_mode(network)}),
                         rules);
    const json default_layers = json::array({{{"type", "dense"}}});
    const json* given = json_read::find(network, "layers");
    const json& layers = given != nullptr ? *given : default_layers;
    json_read::list(layers, "network.layers");
    if (layers.empty())
        json_read::fail("network.layers", "is empty", "the last layer is the head",
                        "add a layer such as {\"type\": \"dense\"}");

    Blueprint blueprint;
    blueprint.input_features = input_features;
    blueprint.output_features = output_features;
    blueprint.input_shape = read_input(json_read::find(network, "input"), input_features);
    blueprint.mode = read_mode(network).value_or(NetworkMode::chain);
    blueprint.grid = read_grid(json_read::find(network, "grid"), layers.size() - 1);
    blueprint.slots.resize(static_cast<std::size_t>(blueprint.grid.slots()));
    const LayerFormats formats = network_formats(network);
    place_layers(blueprint, layers, formats, rules);
    const std::string head_path = json_read::element("network.layers", layers.size() - 1);
    if (layers.back().is_object() && layers.back().contains("at"))
        json_read::fail(head_path, "has a place", "the last layer is the head, outside the grid",
                        "remove \"at\"");
    json head = layers.back();
    blueprint.head_formats = take_formats(head, head_path, formats);
    blueprint.head = layer_from_json(head, head_path, rules);
    blueprint.head.infer_output(output_features);
    blueprint.links = read_links(json_read::find(network, "links"), blueprint.grid);
    return with_init(Network(std::move(blueprint)).blueprint(), rules);
}

void apply_formats(Blueprint& blueprint, const json& network) {
    const LayerFormats formats = network_formats(network);
    for_each_formats(blueprint, [&](LayerFormats& own) {
        if (own.activations == Dtype::float32) own.activations = formats.activations;
        // Weights in a format keep its scales: others would make other numbers of them.
        if (own.weights != Dtype::float32) return;
        own.weights = formats.weights;
        if (formats.scales != Scales::format) own.scales = formats.scales;
        own = own.settled();
    });
}

ordered_json to_json(const Blueprint& blueprint) {
    const GridSize& grid = blueprint.grid;
    ordered_json result;
    result["input_features"] = blueprint.input_features;
    result["output_features"] = blueprint.output_features;
    if (blueprint.input_shape.rank() > 0) result["input"] = blueprint.input_shape.extents();
    if (blueprint.mode != NetworkMode::chain)
        result["mode"] = mode_names[static_cast<std::size_t>(blueprint.mode)];
    result["grid"] = {{"depth", grid.depth},
                      {"rows", grid.rows},
                      {"cols", grid.cols},
                      {"layers_per_cell", grid.layers_per_cell}};
    result["layers"] = ordered_json::array();
    for (std::size_t i = 0; i < blueprint.slots.size(); ++i) {
        if (!blueprint.slots[i]) continue;
        ordered_json layer = to_json(blueprint.slots[i]->layer);
        layer["at"] = grid.coordinates(static_cast<int>(i));
        layer["enabled"] = blueprint.slots[i]->enabled;
        if (!blueprint.slots[i]->clocked) layer["clocked"] = false;
        write_formats(layer, blueprint.slots[i]->formats);
        result["layers"].push_back(std::move(layer));
    }
    result["head"] = to_json(blueprint.head);
    write_formats(result["head"], blueprint.head_formats);
    result["links"] = ordered_json::array();
    for (const Link& link : blueprint.links)
        result["links"].push_back({{"source", end_to_json(link.source, grid)},
                                   {"target", end_to_json(link.target, grid)},
                                   {"kind", name(link.kind)}});
    return result;
}

}  // namespace cambrian
