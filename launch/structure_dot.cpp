#include "cambrian/launch/structure_dot.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/launch/json.hpp"
#include "cambrian/launch/structure_text.hpp"

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

std::string activation_of(const Json& layer) {
    const auto found = layer.find("activation");
    return found == layer.end() ? "" : "\n" + found->get<std::string>();
}

/// Writes a graph line by line, indented by its depth.
class Writer {
  public:
    Writer(const Network& network, const std::string& title) : network_(network) {
        open("digraph network");
        line("label={};", in_quotes(title + (mesh() ? "\nmesh: every edge takes a step" : "")));
        line("rankdir=LR; compound=true; node [shape=box]; edge [fontsize=10];");
    }

    std::string run() {
        const Blueprint& blueprint = network_.blueprint();
        line("input [shape=ellipse, label=\"input\"];");
        write_grid(blueprint.grid);
        write_layer(blueprint.grid.slots(), blueprint.head, "head", true);
        line("output [shape=ellipse, label=\"output\"];");
        write_chain();
        for (std::size_t i = 0; i < blueprint.links.size(); ++i) write_link(i);
        close();
        return std::move(text_);
    }

  private:
    [[nodiscard]] bool mesh() const { return network_.blueprint().mode == NetworkMode::mesh; }
    [[nodiscard]] const std::optional<Slot>& slot(int index) const {
        return network_.blueprint().slots[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] std::string node(int end) const {
        if (end == input_port) return "input";
        return end == network_.blueprint().grid.slots() ? "head" : fmt::format("slot{}", end);
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
        for (int l = 0; l < grid.layers_per_cell; ++l) shown = shown || slot(first + l);
        if (!shown) return;
        open_cluster(fmt::format("cell{}", first / grid.layers_per_cell),
                     fmt::format("depth {}, row {}, column {}", z, y, x), "rounded");
        for (int l = 0; l < grid.layers_per_cell; ++l) {
            const int index = first + l;
            const std::string place = fmt::format("slot {} [{} {} {} {}]", index, z, y, x, l);
            if (slot(index))
                write_layer(index, slot(index)->layer, place, slot(index)->enabled);
            else if (grid.slots() <= small_grid)
                line("{} [label={}, style=dotted, fontcolor=gray, color=gray];", node(index),
                     in_quotes(place + "\nempty"));
        }
        close();
    }

    /// A node, in a cluster of its own with what is in it.
    void write_layer(int end, const AnyLayer& layer, const std::string& place, bool enabled) {
        const Json json = to_json(layer);
        bool holds = false;
        layer.each_inner([&holds](const AnyLayer&) { holds = true; });
        if (holds) open_cluster(node(end), place, enabled ? "filled" : "\"filled,dashed\"");
        if (holds) line("color=gray95;");
        line("{} [label={}{}];", node(end),
             in_quotes(fmt::format("{}\n{}{}", place, layer.type(), activation_of(json))),
             enabled ? "" : ", style=dashed");
        if (!holds) return;
        write_inner(node(end), "", json);
        close();
    }

    /// The layers in a layer, and theirs; those of a list of `layers` are a chain.
    void write_inner(const std::string& parent, const std::string& path, const Json& json) {
        for (const auto& [key, value] : json.items()) {
            const bool one = value.is_object() && value.contains("type");
            if (!one && !(value.is_array() && !value.empty() && value[0].is_object())) continue;
            std::string previous = parent + path;
            for (std::size_t i = 0; i < (one ? 1 : value.size()); ++i) {
                const std::string inner = path + "." + key + (one ? "" : "." + std::to_string(i));
                write_inner_layer(parent, inner, one ? value : value[i]);
                line("{} -> {} [style=dotted, arrowhead=none];", in_quotes(previous),
                     in_quotes(parent + inner));
                if (key == "layers") previous = parent + inner;
            }
        }
    }

    void write_inner_layer(const std::string& parent, const std::string& path, const Json& json) {
        line("{} [label={}, fontsize=10];", in_quotes(parent + path),
             in_quotes(fmt::format("{}\n{}{}", path.substr(1), json.at("type").get<std::string>(),
                                   activation_of(json))));
        write_inner(parent, path, json);
    }

    void write_chain() {
        const int slots = network_.blueprint().grid.slots();
        int previous = input_port;
        for (int end = 0; end <= slots; ++end) {
            if (end < slots && !slot(end)) continue;
            line("{} -> {} [weight=10, label={}];", node(previous), node(end),
                 in_quotes(shape_text(network_.shape_before(end))));
            previous = end;
        }
        line("head -> output [weight=10, label={}];",
             in_quotes(shape_text(network_.shape_after(slots))));
    }

    void write_link(std::size_t index) {
        const Link& link = network_.blueprint().links[index];
        std::string label = link.kind == LinkKind::forward ? "forward" : "backward";
        for (const WeightRange& range : network_.weights())
            if (range.link == static_cast<int>(index))
                label +=
                    fmt::format("\n{} {}", range.parameter.name, shape_text(range.parameter.shape));
        line("{} -> {} [{}, label={}];", node(link.source), node(link.target),
             link.kind == LinkKind::forward ? "color=blue, weight=1"
                                            : "color=red, style=dashed, constraint=false",
             in_quotes(label));
    }

    const Network& network_;
    std::string text_;
    std::size_t depth_ = 0;
};

}  // namespace

std::string graphviz_text(const Network& network, const std::string& title) {
    return Writer(network, title).run();
}

}  // namespace cambrian::launch
