#include "cambrian/engine/network/observe/summary.hpp"

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <type_traits>

#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian {

namespace {

using nlohmann::ordered_json;

/// A layer in another, and the row that it takes there.
struct InnerLayer {
    std::string name;
    const AnyLayer* layer = nullptr;
    Shape row;
};

/// The layers directly in a layer, under the names that their parameters carry.
std::vector<InnerLayer> inner_layers(const AnyLayer& any, const Shape& row) {
    std::vector<InnerLayer> result;
    std::visit(
        [&]<class L>(const L& layer) {
            Shape current = row;
            const auto add = [&](std::string name, const AnyLayer& inner) {
                result.push_back({std::move(name), &inner, current});
                // Layers of a chain take what the one before gives, branches all the same.
                if constexpr (!std::is_same_v<L, Parallel>) current = inner.output_shape(current);
            };
            const auto field = [&](std::string_view name, const auto& value) {
                using Value = std::remove_cvref_t<decltype(value)>;
                if constexpr (std::is_same_v<Value, std::vector<AnyLayer>>)
                    for (std::size_t i = 0; i < value.size(); ++i)
                        add(std::string(name) + "." + std::to_string(i), value[i]);
                if constexpr (std::is_same_v<Value, OptionalLayer>)
                    for (const AnyLayer& inner : value) add(std::string(name), inner);
            };
            L::fields([&](const auto&... entry) { (field(entry.name, layer.*entry.member), ...); });
        },
        any.variant());
    return result;
}

void count(ElementCounts& counts, const ParameterSpec& parameter) {
    (parameter.buffer ? counts.buffers : counts.parameters) += parameter.shape.elements();
}

void count_state(ElementCounts& counts, std::span<const StateSpec> state, std::string_view prefix) {
    for (const StateSpec& spec : state)
        if (spec.name.starts_with(prefix)) counts.state += spec.shape.elements();
}

LayerSummary describe(std::string place, int slot, const AnyLayer& layer, const Shape& row,
                      const LayerFormats& formats) {
    LayerSummary result;
    result.place = std::move(place);
    result.slot = slot;
    result.type = layer.type();
    result.activations = layer.activations();
    result.input = row;
    result.output = layer.output_shape(row);
    result.formats = {.activations = formats.activations};
    for (const ParameterSpec& parameter : layer.parameters()) {
        count(result.counts, parameter);
        result.stored_bytes += stored_bytes(parameter, formats);
        if (parameter.encoded()) result.formats = formats;
    }
    for (InnerLayer& inner : inner_layers(layer, row))
        result.inner.push_back(
            describe(std::move(inner.name), slot, *inner.layer, inner.row, formats));
    return result;
}

/// States of the layers in a layer, whose names begin with theirs.
void count_inner_state(LayerSummary& layer, std::span<const StateSpec> state,
                       const std::string& prefix) {
    count_state(layer.counts, state, prefix);
    for (LayerSummary& inner : layer.inner)
        count_inner_state(inner, state, prefix + inner.place + ".");
}

/// A layer as a graph for a sequence of one row.
Graph one_row(const AnyLayer& layer, const Shape& row) {
    Graph graph;
    std::vector<std::int64_t> extents{1, 1};
    extents.insert(extents.end(), row.extents().begin(), row.extents().end());
    const Var x = graph.input("x", ValueType::real, Shape(std::span<const std::int64_t>(extents)));
    std::vector<Var> parameters;
    for (const ParameterSpec& parameter : layer.parameters())
        parameters.push_back(graph.input(parameter.name, ValueType::real, parameter.shape));
    // A tied weight is another layer's, and comes last.
    if (const auto* dense = std::get_if<Dense>(&layer.variant()); dense && !dense->tied.empty())
        parameters.push_back(graph.input("tied", ValueType::real, {dense->out, dense->in}));
    std::vector<Var> activations;
    for (std::size_t i = 0; i < layer.activations().size(); ++i)
        activations.push_back(graph.input("activation", ValueType::integer, Shape{}));
    graph.output(layer.sequence(x, {.parameters = parameters,
                                    .activations = activations,
                                    .row = row,
                                    .activation_set = layer.activation_set()}));
    return graph;
}

/// Of a graph without fused operations.
std::int64_t products_of(const Graph& graph) {
    std::int64_t total = 0;
    for (const Node& node : graph.nodes()) {
        if (const auto* loop = std::get_if<ScanAttribute>(&node.attributes)) {
            total += loop->length * products_of(*loop->body);
        } else if (const auto* product = std::get_if<MatmulAttribute>(&node.attributes)) {
            const Shape& left = graph.value(graph.operands(node)[0]).shape;
            const std::int64_t terms = left[left.rank() - (product->transpose_left ? 2 : 1)];
            total += terms * graph.value(ValueId{node.first_result}).shape.elements();
        }
    }
    return total;
}

/// Of the layers of neurons in a layer, for each vector of the row that they are applied to.
std::int64_t live_connections(const AnyLayer& layer, const Shape& row) {
    std::int64_t total = 0;
    if (const auto* neurons = std::get_if<Neurons>(&layer.variant())) {
        const NeuronPlan plan(*neurons);
        for (const std::int64_t neuron : plan.order)
            total += static_cast<std::int64_t>(plan.inputs(neuron).size());
        total *= row.elements() / neurons->in;
    }
    for (const InnerLayer& inner : inner_layers(layer, row))
        total += live_connections(*inner.layer, inner.row);
    return total;
}

ordered_json counts_json(const ElementCounts& counts, std::int64_t stored_bytes) {
    return {{"parameters", counts.parameters},
            {"buffers", counts.buffers},
            {"state", counts.state},
            {"bytes", counts.bytes()},
            {"stored_bytes", stored_bytes}};
}

ordered_json layer_json(const LayerSummary& layer, const GridSize& grid, bool nested) {
    ordered_json json;
    json["place"] = layer.place;
    if (!nested) {
        json["slot"] = layer.slot == grid.slots() ? ordered_json("head") : ordered_json(layer.slot);
        json["enabled"] = layer.enabled;
    }
    json["type"] = layer.type;
    json["activations"] = ordered_json::array();
    for (const Activation activation : layer.activations)
        json["activations"].push_back(name(activation));
    json["dtype"] = name(layer.formats.weights);
    json["dtype_scales"] = name(layer.formats.scales);
    json["activation_dtype"] = name(layer.formats.activations);
    json["input"] = layer.input.extents();
    json["output"] = layer.output.extents();
    json.update(counts_json(layer.counts, layer.stored_bytes));
    json["inner"] = ordered_json::array();
    for (const LayerSummary& inner : layer.inner)
        json["inner"].push_back(layer_json(inner, grid, true));
    return json;
}

}  // namespace

ElementCounts& ElementCounts::operator+=(const ElementCounts& other) {
    parameters += other.parameters;
    buffers += other.buffers;
    state += other.state;
    return *this;
}

std::string place_name(const GridSize& grid, int slot) {
    if (slot == grid.slots()) return "head";
    std::string place = "slot " + std::to_string(slot) + " [";
    for (const int coordinate : grid.coordinates(slot))
        place += (place.back() == '[' ? "" : " ") + std::to_string(coordinate);
    return place + "]";
}

NetworkSummary summary(const Network& network) {
    const Blueprint& blueprint = network.blueprint();
    NetworkSummary result{.grid = blueprint.grid, .layers = {}, .links = {}, .total = {}};
    const int head = blueprint.grid.slots();
    const auto add = [&](int slot, const AnyLayer& layer, bool enabled) {
        LayerSummary entry = describe(place_name(blueprint.grid, slot), slot, layer,
                                      network.shape_before(slot), formats_of(blueprint, slot));
        entry.enabled = enabled;
        // With what links and a mesh carry of it.
        count_inner_state(entry, network.state(),
                          slot == head ? "head." : "slot." + std::to_string(slot) + ".");
        result.total += entry.counts;
        result.stored_bytes += entry.stored_bytes;
        result.layers.push_back(std::move(entry));
    };
    for (int slot = 0; slot < head; ++slot)
        if (const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)])
            add(slot, filled->layer, filled->enabled);
    add(head, blueprint.head, true);
    for (const Link& link : blueprint.links) result.links.push_back({link, {}});
    for (const WeightRange& range : network.weights()) {
        if (range.link < 0) continue;
        LinkSummary& entry = result.links[static_cast<std::size_t>(range.link)];
        count(entry.counts, range.parameter);
        count(result.total, range.parameter);
        entry.stored_bytes +=
            stored_bytes(range.parameter, formats_of(blueprint, entry.link.target));
    }
    for (const LinkSummary& entry : result.links) result.stored_bytes += entry.stored_bytes;
    result.products = products(network);
    return result;
}

std::int64_t products(const AnyLayer& layer, const Shape& row) {
    // Most genomes of single neurons are one such layer: no graph is needed.
    if (std::holds_alternative<Neurons>(layer.variant())) return live_connections(layer, row);
    // What adds the input of the layer before it is no layer by itself.
    if (adds_preceding_input(layer)) return 0;
    const auto is_primitive = [](Op) { return false; };
    return products_of(lower(one_row(layer, row), is_primitive)) + live_connections(layer, row);
}

std::int64_t products(const Network& network) {
    const Blueprint& blueprint = network.blueprint();
    const int head = blueprint.grid.slots();
    std::int64_t total = products(blueprint.head, network.shape_before(head));
    for (int slot = 0; slot < head; ++slot)
        if (const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
            filled && filled->enabled)
            total += products(filled->layer, network.shape_before(slot));
    for (const WeightRange& range : network.weights())
        // Of links as wide as what they enter, a gain for each element is no product.
        if (range.link >= 0 && range.parameter.shape.rank() == 2)
            total += range.parameter.shape.elements();
    return total;
}

ordered_json to_json(const NetworkSummary& network) {
    ordered_json json;
    json["layers"] = ordered_json::array();
    for (const LayerSummary& layer : network.layers)
        json["layers"].push_back(layer_json(layer, network.grid, false));
    json["links"] = ordered_json::array();
    const auto end = [&](int place) -> ordered_json {
        if (place == input_port) return "input";
        return place == network.grid.slots() ? ordered_json("head") : ordered_json(place);
    };
    for (const LinkSummary& entry : network.links) {
        ordered_json link{{"source", end(entry.link.source)},
                          {"target", end(entry.link.target)},
                          {"kind", name(entry.link.kind)}};
        link.update(counts_json(entry.counts, entry.stored_bytes));
        json["links"].push_back(std::move(link));
    }
    json["total"] = counts_json(network.total, network.stored_bytes);
    json["total"]["products"] = network.products;
    return json;
}

}  // namespace cambrian
