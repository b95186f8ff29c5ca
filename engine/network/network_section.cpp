#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/network.hpp"

// A network section that says all of a blueprint, both widths included.
namespace cambrian {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Elements of the row that the head gives after the other layers of the section.
std::int64_t head_width(const json& network, std::int64_t input_features) {
    json with_plain_head = network;
    json& layers = with_plain_head["layers"];
    // Beside its fields, and of no weight for its width.
    if (layers.back().is_object())
        for (const char* key : format_keys) layers.back().erase(key);
    AnyLayer head =
        layer_from_json(layers.back(), "network.layers[" + std::to_string(layers.size() - 1) + "]");
    layers.back() = {{"type", "dense"}};
    const Network before(blueprint_from_json(with_plain_head, input_features, 1));
    const Shape row = before.shape_before(before.blueprint().grid.slots());
    head.resolve(row);
    return head.output_shape(row).elements();
}

}  // namespace

Blueprint blueprint_from_json(const json& network) {
    const auto is_list = [&network](const char* key) {
        return network.is_object() && network.contains(key) && network[key].is_array() &&
               !network[key].empty();
    };
    if (!is_list("input"))
        json_read::fail("network.input", "is absent", "no task says how many inputs there are",
                        "write it, such as [4]");
    if (!is_list("layers"))
        json_read::fail("network.layers", "is absent", "no task says how many outputs there are",
                        "end it with a head whose width is written");
    std::int64_t features = 1;
    for (const json& extent : network["input"]) {
        features *= json_read::integer(extent, "network.input", 1, widest_layer);
        if (features > widest_layer)
            json_read::fail("network.input", "is too large",
                            "at most " + std::to_string(widest_layer) + " elements are possible",
                            "make it smaller");
    }
    return blueprint_from_json(network, features, head_width(network, features));
}

ordered_json network_section(const Blueprint& blueprint) {
    const ordered_json all = to_json(blueprint);
    ordered_json section;
    const Shape row = input_row(blueprint);
    section["input"] = std::vector<std::int64_t>(row.extents().begin(), row.extents().end());
    if (all.contains("mode")) section["mode"] = all["mode"];
    section["grid"] = all["grid"];
    section["layers"] = all["layers"];
    section["layers"].push_back(all["head"]);
    section["links"] = all["links"];
    return section;
}

}  // namespace cambrian
