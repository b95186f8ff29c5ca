#include "cambrian/launch/show/structure_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

/// A larger grid shows filled slots only.
constexpr int small_grid = 64;

/// A text in the quotes of graphviz, which takes \n in it for a line's end.
std::string in_quotes(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '\n') {
            result += "\\n";
            continue;
        }
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + '"';
}

/// Place, type and own activation: those of layers in it stand beside these.
std::string label_of(const LayerSummary& layer) {
    std::string text = layer.place + "\n" + layer.type;
    if (layer.inner.empty())
        for (const Activation activation : layer.activations)
            text += "\n" + std::string(name(activation));
    return text;
}

/// What edges mean in a mesh.
std::string clock_text(const Blueprint& blueprint) {
    if (blueprint.mode == NetworkMode::chain) return {};
    std::string text = "\nmesh: every edge takes a step";
    for (int slot = 0; slot < blueprint.grid.slots(); ++slot) {
        const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (filled && !filled->clocked)
            text += fmt::format("\nbut from the chain to slot {}", slot);
    }
    return text;
}

/// Writes a graph line by line, indented by its depth.
class Writer {
  public:
    Writer(const Network& network, const std::string& title)
        : blueprint_(network.blueprint()), summary_(summary(network)), network_(network) {
        open("digraph network");
        line("label={};", in_quotes(title + clock_text(blueprint_)));
        line("rankdir=LR; compound=true; node [shape=box]; edge [fontsize=10];");
    }

    std::string run() {
        line("input [shape=ellipse, label=\"input\"];");
        write_grid(blueprint_.grid);
        write_layer(summary_.layers.back());
        line("output [shape=ellipse, label=\"output\"];");
        write_chain();
        for (std::size_t i = 0; i < blueprint_.links.size(); ++i) write_link(i);
        close();
        return std::move(text_);
    }

  private:
    /// The layer in a slot, or null.
    [[nodiscard]] const LayerSummary* layer_in(int slot) const {
        const auto found = std::ranges::lower_bound(summary_.layers, slot, {},
                                                    [](const auto& layer) { return layer.slot; });
        return found != summary_.layers.end() && found->slot == slot ? &*found : nullptr;
    }
    [[nodiscard]] std::string node(int end) const {
        if (end == input_port) return "input";
        return end == blueprint_.grid.slots() ? "head" : fmt::format("slot{}", end);
    }

    template <class... Parts>
    void line(fmt::format_string<Parts...> format, Parts&&... parts) {
        text_.append(2 * depth_, ' ');
        text_ += fmt::format(format, std::forward<Parts>(parts)...) + "\n";
    }
    void open(const std::string& what) {
        line("{} {{", what);
        ++depth_;
    }
    void open_cluster(const std::string& name, std::string_view label, std::string_view style) {
        open("subgraph " + in_quotes("cluster_" + name));
        line("label={}; style={};", in_quotes(label), style);
    }
    void close() {
        --depth_;
        line("}}");
    }

    /// Planes of cells of equal depth, where there are several.
    void write_grid(const GridSize& grid) {
        for (int z = 0; z < grid.depth; ++z) {
            if (grid.depth > 1)
                open_cluster(fmt::format("depth{}", z), fmt::format("depth {}", z),
                             "\"rounded,dotted\"");
            for (int y = 0; y < grid.rows; ++y)
                for (int x = 0; x < grid.cols; ++x) write_cell(grid, z, y, x);
            if (grid.depth > 1) close();
        }
    }

    void write_cell(const GridSize& grid, int z, int y, int x) {
        const int first = grid.index(z, y, x, 0);
        bool shown = grid.slots() <= small_grid;
        for (int l = 0; l < grid.layers_per_cell; ++l)
            shown = shown || blueprint_.slots[static_cast<std::size_t>(first + l)];
        if (!shown) return;
        open_cluster(fmt::format("cell{}", first / grid.layers_per_cell),
                     fmt::format("depth {}, row {}, column {}", z, y, x), "rounded");
        for (int slot = first; slot < first + grid.layers_per_cell; ++slot) {
            if (const LayerSummary* layer = layer_in(slot))
                write_layer(*layer);
            else if (grid.slots() <= small_grid)
                line("{} [label={}, style=dotted, fontcolor=gray, color=gray];", node(slot),
                     in_quotes(place_name(grid, slot) + "\nempty"));
        }
        close();
    }

    /// A node, in a cluster of its own with what is in it.
    void write_layer(const LayerSummary& layer) {
        const std::string id = node(layer.slot);
        if (!layer.inner.empty())
            open_cluster(id, layer.place, layer.enabled ? "rounded" : "\"rounded,dashed\"");
        line("{} [label={}{}];", id, in_quotes(label_of(layer)),
             layer.enabled ? "" : ", style=dashed");
        if (layer.inner.empty()) return;
        write_inner(id, layer);
        close();
    }

    /// The layers in a layer, and theirs; those of a list "layers" are a chain.
    void write_inner(const std::string& id, const LayerSummary& layer) {
        std::string previous = id;
        for (const LayerSummary& inner : layer.inner) {
            const std::string inner_id = id + "." + inner.place;
            line("{} [label={}, fontsize=10];", in_quotes(inner_id), in_quotes(label_of(inner)));
            line("{} -> {} [style=dotted, label={}];", in_quotes(previous), in_quotes(inner_id),
                 in_quotes(shape_text(inner.input)));
            write_inner(inner_id, inner);
            if (inner.place.starts_with("layers.")) previous = inner_id;
        }
    }

    void write_chain() {
        int previous = input_port;
        for (const LayerSummary& layer : summary_.layers) {
            line("{} -> {} [weight=10, label={}];", node(previous), node(layer.slot),
                 in_quotes(shape_text(layer.input)));
            previous = layer.slot;
        }
        line("head -> output [weight=10, label={}];",
             in_quotes(shape_text(summary_.layers.back().output)));
    }

    void write_link(std::size_t index) {
        const Link& link = blueprint_.links[index];
        std::string label(name(link.kind));
        for (const WeightRange& range : network_.weights())
            if (range.link == static_cast<int>(index))
                label +=
                    fmt::format("\n{} {}", range.parameter.name, shape_text(range.parameter.shape));
        line("{} -> {} [{}, label={}];", node(link.source), node(link.target),
             link.kind == LinkKind::forward ? "color=blue, weight=1"
                                            : "color=red, style=dashed, constraint=false",
             in_quotes(label));
    }

    const Blueprint& blueprint_;
    const NetworkSummary summary_;
    const Network& network_;
    std::string text_;
    std::size_t depth_ = 0;
};

}  // namespace

std::string graphviz_text(const Network& network, const std::string& title) {
    return Writer(network, title).run();
}

}  // namespace cambrian::launch
