#include "cambrian/launch/report/network_drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "cambrian/engine/network/observe/summary.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

// Beyond these a picture shows nothing.
constexpr std::size_t max_drawn = 400;  ///< Neurons, inputs, slots and links each.
constexpr std::size_t max_connections = 10'000;
constexpr double column_width = 130.0;
constexpr double row_height = 34.0;

std::string frame(double width, double height, const std::string& content) {
    return figure("The network", "", width, height, content);
}

/// The only layer of a network, where that is a graph of single neurons.
const Neurons* only_neurons(const Network& network) {
    for (const auto& slot : network.blueprint().slots)
        if (slot) return nullptr;
    return std::get_if<Neurons>(&network.blueprint().head.variant());
}

/// Where each input and neuron stands.
struct Places {
    std::vector<double> x;
    std::vector<double> y;
    double width = 0.0;
    double height = 0.0;
};

/// Columns of neurons: one after the longest way of connections without delay that leads there;
/// outputs stand in the last one.
std::vector<int> columns_of(const Neurons& layer) {
    const auto inputs = static_cast<std::size_t>(layer.in);
    std::vector<int> columns(inputs + layer.neurons.size(), 1);
    std::fill_n(columns.begin(), inputs, 0);
    for (std::size_t round = 0; round < layer.neurons.size(); ++round) {
        bool changed = false;
        for (const Neurons::Connection& one : layer.connections) {
            if (one.source < 0 || one.delay > 0 || !one.enabled) continue;
            int& target = columns[inputs + static_cast<std::size_t>(one.target)];
            const int wanted = columns[static_cast<std::size_t>(one.source)] + 1;
            changed |= wanted > target;
            target = std::max(target, wanted);
        }
        if (!changed) break;
    }
    const int last = *std::max_element(columns.begin(), columns.end());
    std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(inputs), layer.out, last);
    return columns;
}

Places places_of(const Neurons& layer) {
    const std::vector<int> columns = columns_of(layer);
    std::vector<int> filled(
        static_cast<std::size_t>(*std::max_element(columns.begin(), columns.end())) + 1);
    std::vector<int> counts(filled.size());
    for (const int at : columns) ++counts[static_cast<std::size_t>(at)];
    const int tallest = *std::max_element(counts.begin(), counts.end());
    Places places;
    for (const int at : columns) {
        const auto c = static_cast<std::size_t>(at);
        places.x.push_back(110.0 + column_width * at);
        places.y.push_back(row_height * (0.5 * (tallest - counts[c]) + filled[c]++ + 0.8));
    }
    places.width = 220.0 + column_width * static_cast<double>(filled.size() - 1);
    places.height = row_height * (tallest + 0.6);
    return places;
}

std::string_view name_of(NeuronActivation activation) {
    return neuron_activation_names[static_cast<std::size_t>(activation)];
}
std::string_view name_of(NeuronAggregation aggregation) {
    return neuron_aggregation_names[static_cast<std::size_t>(aggregation)];
}

std::string name_at(const std::vector<std::string>& names, std::size_t index, const char* kind) {
    return index < names.size() ? names[index] : fmt::format("{} {}", kind, index);
}

std::string neurons_svg(const Neurons& layer, const std::vector<float>& weights,
                        const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    const Places at = places_of(layer);
    const auto in = static_cast<std::size_t>(layer.in);
    std::string text;
    for (std::size_t i = 0; i < layer.connections.size(); ++i) {
        const Neurons::Connection& one = layer.connections[i];
        if (one.source < 0) continue;
        const auto from = static_cast<std::size_t>(one.source);
        const std::size_t to = in + static_cast<std::size_t>(one.target);
        // The weights of connections come first among the parameters of the layer.
        const double weight = i < weights.size() ? static_cast<double>(weights[i]) : 0.0;
        const double bow = one.delay > 0 ? 40.0 : 0.0;
        fmt::format_to(
            std::back_inserter(text),
            "<path d='M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}' fill='none' stroke='{}' "
            "stroke-width='{:.2f}' stroke-opacity='.7'{}><title>{} to {}: {:.4g}{}{}</title>"
            "</path>\n",
            at.x[from], at.y[from], 0.5 * (at.x[from] + at.x[to]),
            0.5 * (at.y[from] + at.y[to]) - bow, at.x[to], at.y[to],
            weight < 0 ? palette(1) : palette(0), std::clamp(std::abs(weight), 0.4, 5.0),
            one.enabled ? "" : " stroke-dasharray='3 4'",
            from < in ? escaped(name_at(inputs, from, "input"))
                      : fmt::format("neuron {}", from - in),
            fmt::format("neuron {}", one.target), weight,
            one.delay > 0 ? fmt::format(", {} steps late", one.delay) : std::string(),
            one.enabled ? "" : ", disabled");
    }
    for (std::size_t i = 0; i < at.x.size(); ++i) {
        const bool input = i < in;
        const bool output = !input && i - in < static_cast<std::size_t>(layer.out);
        const std::string kind =
            input ? std::string()
                  : fmt::format("{} of {}", name_of(layer.neurons[i - in].activation),
                                name_of(layer.neurons[i - in].aggregation));
        fmt::format_to(std::back_inserter(text),
                       "<circle cx='{:.1f}' cy='{:.1f}' r='8' fill='{}' class='node'>"
                       "<title>{}</title></circle>\n",
                       at.x[i], at.y[i], input ? "#fff" : palette(output ? 2 : 6),
                       input ? escaped(name_at(inputs, i, "input"))
                             : fmt::format("neuron {}: {}", i - in, kind));
        if (input || output)
            fmt::format_to(
                std::back_inserter(text),
                "<text x='{:.1f}' y='{:.1f}' text-anchor='{}'>{}</text>\n",
                at.x[i] + (input ? -14.0 : 14.0), at.y[i] + 4, input ? "end" : "start",
                escaped(input ? name_at(inputs, i, "input") : name_at(outputs, i - in, "output")));
    }
    return frame(at.width + 60.0, at.height, text);
}

/// Slots of the chain as boxes, links as arcs above them.
std::string slots_svg(const NetworkSummary& whole) {
    constexpr double box = 150.0;
    constexpr double gap = 30.0;
    const double base = 60.0 + 14.0 * static_cast<double>(whole.links.size());
    std::string text;
    std::vector<double> centre(static_cast<std::size_t>(whole.grid.slots()) + 2, 0.0);
    double at = 10.0;
    for (const LayerSummary& layer : whole.layers) {
        centre[static_cast<std::size_t>(layer.slot) + 1] = at + 0.5 * box;
        std::string activations;
        for (const Activation activation : layer.activations)
            activations += (activations.empty() ? "" : ", ") + std::string(name(activation));
        fmt::format_to(std::back_inserter(text),
                       "<rect x='{:.0f}' y='{:.0f}' width='{:.0f}' height='78' rx='6' "
                       "class='box'{}/>\n",
                       at, base, box, layer.enabled ? "" : " stroke-dasharray='4 4'");
        double below = base + 15.0;
        const auto line = [&](const std::string& row, const char* style) {
            if (row.empty()) return;
            fmt::format_to(std::back_inserter(text),
                           "<text x='{:.0f}' y='{:.0f}' text-anchor='middle'{}>{}</text>\n",
                           at + 0.5 * box, below, style, escaped(row));
            below += 14.0;
        };
        line(layer.place, "");
        line(layer.type, " font-weight='bold'");
        line(activations, "");
        line(fmt::format("{} → {}", shape_text(layer.input), shape_text(layer.output)), "");
        line(fmt::format("{} weights", layer.counts.parameters), "");
        at += box + gap;
        if (&layer != &whole.layers.back())
            fmt::format_to(std::back_inserter(text),
                           "<path d='M{:.0f} {:.0f}h{:.0f}' class='axis'/>\n", at - gap, base + 39,
                           gap);
    }
    for (std::size_t i = 0; i < whole.links.size(); ++i) {
        const Link& link = whole.links[i].link;
        const double from =
            link.source < 0 ? 10.0 : centre[static_cast<std::size_t>(link.source) + 1];
        const double to = centre[static_cast<std::size_t>(link.target) + 1];
        fmt::format_to(std::back_inserter(text),
                       "<path d='M{:.0f} {:.0f}Q{:.0f} {:.0f} {:.0f} {:.0f}' fill='none' "
                       "stroke='{}' stroke-width='1.5'/>\n",
                       from, base, 0.5 * (from + to), base - 60.0 - 14.0 * static_cast<double>(i),
                       to, base, palette(i));
    }
    return frame(std::max(at, 400.0), base + 90.0, text);
}

bool is_drawn(const Neurons& layer) {
    return layer.neurons.size() <= max_drawn && layer.in <= static_cast<std::int64_t>(max_drawn) &&
           layer.connections.size() <= max_connections;
}

}  // namespace

std::string network_html(const Network& network, const std::vector<float>& weights,
                         const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
    const Neurons* neurons = only_neurons(network);
    if (neurons != nullptr && is_drawn(*neurons))
        return neurons_svg(*neurons, weights, inputs, outputs);
    const NetworkSummary whole = summary(network);
    std::string text;
    if (neurons != nullptr)
        text = fmt::format("<p>Too many to draw each: {} inputs, {} neurons, {} connections.</p>\n",
                           neurons->in, neurons->neurons.size(), neurons->connections.size());
    if (whole.layers.size() <= max_drawn && whole.links.size() <= max_drawn)
        return text + slots_svg(whole);
    return text + fmt::format("<p>Too many to draw each: {} layers, {} links.</p>\n",
                              whole.layers.size(), whole.links.size());
}

}  // namespace cambrian::launch
