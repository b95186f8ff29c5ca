#include "cambrian/launch/show/structure_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian::launch {
namespace {

std::string end_text(const Blueprint& blueprint, int end) {
    if (end == input_port) return "input";
    if (end == blueprint.grid.slots()) return "head";
    return fmt::format("slot {}", end);
}

/// Ten columns; numbers to the right.
std::string table_line(const std::vector<std::string>& cells) {
    std::string line = fmt::format(
        "  {:<20} {:<20} {:>8} {:>8} {:<10} {:<7} {:>10} {:>8} {:>8} {:>10}", cells[0], cells[1],
        cells[2], cells[3], cells[4], cells[5], cells[6], cells[7], cells[8], cells[9]);
    return line + "\n";
}

std::vector<std::string> with_counts(std::vector<std::string> cells, const ElementCounts& counts) {
    for (const std::int64_t number :
         {counts.parameters, counts.buffers, counts.state, counts.bytes()})
        cells.push_back(fmt::format("{}", number));
    return cells;
}

/// The line of a layer whose weights or rows have a format; others have none.
std::string formats_line(const LayerSummary& layer) {
    if (layer.formats.is_plain()) return "";
    // A layer without weights of its own may use those of another, in that one's format.
    const std::string weights = layer.formats.weights == Dtype::float32
                                    ? ""
                                    : fmt::format("weights in {} ({} bytes), ",
                                                  weights_text(layer.formats), layer.stored_bytes);
    return fmt::format("  {}: {}rows in {}\n", layer.place, weights,
                       name(layer.formats.activations));
}

/// The lines of a layer and of those in it, further to the right.
void append_lines(std::string& text, const LayerSummary& layer, int depth) {
    constexpr int indent = 2;
    std::string activations;
    // Those of the layers in it stand beside these.
    if (layer.inner.empty())
        for (const Activation activation : layer.activations)
            activations += (activations.empty() ? "" : " ") + std::string(name(activation));
    text += table_line(with_counts(
        {fmt::format("{:{}}{}", "", depth * indent, layer.place), layer.type,
         shape_text(layer.input), shape_text(layer.output), activations.empty() ? "-" : activations,
         depth > 0       ? ""
         : layer.enabled ? "yes"
                         : "no"},
        layer.counts));
    for (const LayerSummary& inner : layer.inner) append_lines(text, inner, depth + 1);
}

}  // namespace

std::string shape_text(const Shape& shape) {
    return fmt::format("{}", fmt::join(shape.extents(), "x"));
}

std::string structure_line(const Network& network) {
    const Blueprint& blueprint = network.blueprint();
    const GridSize& grid = blueprint.grid;
    const auto layers = 1 + std::ranges::count_if(
                                blueprint.slots, [](const auto& slot) { return slot.has_value(); });
    return fmt::format("{} inputs, {} outputs, grid {}x{}x{}x{}, {} layers, {} links, {} weights{}",
                       blueprint.input_features, blueprint.output_features, grid.depth, grid.rows,
                       grid.cols, grid.layers_per_cell, layers, blueprint.links.size(),
                       network.weight_count(), network.stateful() ? ", stateful" : "");
}

std::string structure_table(const Network& network) {
    const NetworkSummary report = summary(network);
    std::string text = table_line({"place", "type", "in", "out", "activation", "enabled",
                                   "parameters", "buffers", "state", "bytes"});
    for (const LayerSummary& layer : report.layers) append_lines(text, layer, 0);
    for (const LinkSummary& entry : report.links)
        text += fmt::format("  link {} -> {}, {}, {} parameters\n",
                            end_text(network.blueprint(), entry.link.source),
                            end_text(network.blueprint(), entry.link.target), name(entry.link.kind),
                            entry.counts.parameters);
    text += table_line(with_counts({"total", "", "", "", "", ""}, report.total));
    text += fmt::format("  products: {} multiplications a row\n", report.products);
    for (const LayerSummary& layer : report.layers) text += formats_line(layer);
    if (report.stored_bytes != report.total.bytes())
        text += fmt::format(
            "  stored: {} bytes, {:.3f} of float32\n", report.stored_bytes,
            static_cast<double>(report.stored_bytes) / static_cast<double>(report.total.bytes()));
    return text;
}

Json network_json(const distributed::NetworkFile& file) {
    const evolve::Genome& genome = file.genome;
    const auto gene = [](const evolve::Gene& g) {
        return Json{{"id", g.id.hex()}, {"born", g.born}};
    };
    Json json;
    json["generation"] = file.generation;
    json["birth"] = file.birth;
    json["fitness"] = std::isfinite(file.fitness) ? Json(file.fitness) : Json(nullptr);
    json["validated"] = file.validated ? Json(*file.validated) : Json(nullptr);
    json["weights"] = genome.weights.size();
    json["content_hash"] = evolve::content_hash(genome).hex();
    json["blueprint"] = to_json(genome.blueprint);
    json["telemetry"] = to_json(summary(Network(genome.blueprint)));
    json["slot_genes"] = Json::array();
    for (std::size_t slot = 0; slot < genome.slot_genes.size(); ++slot)
        if (genome.blueprint.slots[slot]) {
            Json entry = gene(genome.slot_genes[slot]);
            entry["slot"] = slot;
            json["slot_genes"].push_back(std::move(entry));
        }
    json["link_genes"] = Json::array();
    for (const evolve::Gene& g : genome.link_genes) json["link_genes"].push_back(gene(g));
    json["head_gene"] = gene(genome.head_gene);
    for (const evolve::NeuronGenes& genes : genome.neuron_genes) {
        Json layer{
            {"slot", genes.slot}, {"neurons", Json::array()}, {"connections", Json::array()}};
        for (const evolve::Gene& g : genes.neurons) layer["neurons"].push_back(gene(g));
        for (const evolve::Gene& g : genes.connections) layer["connections"].push_back(gene(g));
        json["neuron_genes"].push_back(std::move(layer));
    }
    json["preparation"] = file.preparation ? evolve::to_json(*file.preparation) : Json(nullptr);
    json["identity"] = distributed::identity_of(file);
    return json;
}

}  // namespace cambrian::launch
