#include "cambrian/engine/network/builders/builders.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/network/builders/checks.hpp"
#include "cambrian/engine/network/builders/random_layers.hpp"
#include "cambrian/engine/network/network_check.hpp"

namespace cambrian {

namespace {

using builder_checks::refuse;
using builder_checks::require;

// Few types fit every row, so a network may end before it has a layer; then it is drawn again.
constexpr int max_attempts = 256;

void check(const RandomNetwork& settings, const NetworkEnds& ends) {
    require("most_layers", settings.max_layers, 1, builder_checks::max_entries);
    require("most_links", settings.max_links, 0, builder_checks::max_entries);
    require("most_elements", settings.max_elements, 1, widest_layer);
    require("most_weights", settings.max_weights, 1, widest_layer);
    require("nesting", settings.nesting, 1, deepest_nesting);
    require("vocabulary", settings.vocabulary, 0, widest_layer);
    for (const std::string& type : settings.layer_types)
        if (!default_layer(type))
            throw ConfigError("network.build.layer_types: " + unknown_layer_type(type));
    if (ends.mode == NetworkMode::mesh && !ends.time)
        throw ConfigError(
            "network.mode is mesh (the task has no steps in time, in which a mesh is clocked) "
            "leave it out");
}

/// One attempt at a network.
class NetworkDraw {
  public:
    NetworkDraw(RandomStream& rng, const RandomNetwork& settings, const NetworkEnds& ends)
        : rng_(rng), settings_(settings), ends_(ends), draw_(rng, limits_) {}

    std::optional<Blueprint> run() {
        result_.input_features = ends_.input_features;
        result_.output_features = ends_.output_features;
        const bool mesh = ends_.time && rng_.chance(0.25F);
        result_.mode = ends_.mode.value_or(mesh ? NetworkMode::mesh : NetworkMode::chain);
        carries_ = result_.mode == NetworkMode::mesh || (ends_.time && rng_.chance(0.4F));
        set_limits();
        draw_input();
        draw_grid();
        if (!fill_slots()) return std::nullopt;
        draw_head();
        draw_links();
        return std::move(result_);
    }

  private:
    void set_limits() {
        limits_ = {.elements = settings_.max_elements,
                   .weights = settings_.max_weights,
                   .nesting = settings_.nesting,
                   .state = ends_.time,
                   // What is carried from step to step has no statistics of all steps.
                   .buffers = !carries_,
                   .types = {settings_.layer_types.begin(), settings_.layer_types.end()}};
        if (limits_.types.empty()) limits_.types = drawn_types();
    }

    /// The elements of the input as one to four axes, unless they are ids.
    void draw_input() {
        result_.input_shape = ends_.input_shape;
        if (ends_.input_shape.rank() > 0 || settings_.vocabulary > 0) return;
        std::vector<std::int64_t> extents;
        std::int64_t left = ends_.input_features;
        for (std::int64_t axes = draw_.number(1, 4); axes > 1; --axes) {
            extents.push_back(draw_.divisor(left));
            left /= extents.back();
        }
        if (extents.empty()) return;
        extents.push_back(left);
        result_.input_shape = Shape(std::span<const std::int64_t>(extents));
    }

    void draw_grid() {
        if (ends_.grid) {
            result_.grid = *ends_.grid;
        } else {
            GridSize& grid = result_.grid;
            for (int* extent : {&grid.depth, &grid.rows, &grid.cols})
                *extent = static_cast<int>(draw_.number(1, 2));
            const std::int64_t cells = grid.slots();
            grid.layers_per_cell =
                static_cast<int>((settings_.max_layers + cells - 1) / cells + draw_.number(0, 1));
        }
        result_.slots.resize(static_cast<std::size_t>(result_.grid.slots()));
    }

    /// Some of the slots, ascending.
    std::vector<std::size_t> some_slots() {
        std::vector<std::size_t> slots(result_.slots.size());
        std::iota(slots.begin(), slots.end(), std::size_t{0});
        const auto most = std::min(settings_.max_layers, static_cast<std::int64_t>(slots.size()));
        const auto count = static_cast<std::size_t>(draw_.number(1, most));
        for (std::size_t i = 0; i < count; ++i)
            std::swap(slots[i],
                      slots[i + rng_.index(static_cast<std::uint32_t>(slots.size() - i))]);
        slots.resize(count);
        std::ranges::sort(slots);
        return slots;
    }

    AnyLayer embedding(const Shape& row) {
        const std::int64_t most = std::max<std::int64_t>(1, limits_.elements / row.elements());
        AnyLayer layer = Embedding{.vocabulary = settings_.vocabulary,
                                   .features = draw_.number(1, std::min<std::int64_t>(most, 16))};
        layer.resolve(row);
        return layer;
    }

    bool fill_slots() {
        shapes_.assign(result_.slots.size() + 1, row_);
        row_ = input_row(result_);
        std::size_t next = 0;
        for (const std::size_t slot : some_slots()) {
            const bool ids = filled_.empty() && settings_.vocabulary > 0;
            std::optional<AnyLayer> layer =
                ids ? embedding(row_) : draw_.any(row_, preceding_ ? &*preceding_ : nullptr, 1);
            if (!layer) break;
            for (; next <= slot; ++next) shapes_[next] = row_;
            const Shape output = layer->output_shape(row_);
            const bool skipped = !ids && output.elements() == row_.elements() && rng_.chance(0.15F);
            result_.slots[slot] = Slot{.layer = *std::move(layer), .enabled = !skipped};
            filled_.push_back(static_cast<int>(slot));
            preceding_ = std::exchange(row_, output);
        }
        for (; next < shapes_.size(); ++next) shapes_[next] = row_;
        return !filled_.empty();
    }

    void draw_head() {
        result_.head = rng_.chance(0.5F) ? AnyLayer(Dense{.out = ends_.output_features})
                                         : draw_.giving(ends_.output_features, row_, 1);
        result_.head.resolve(row_);
        shapes_.push_back(result_.head.output_shape(row_));
    }

    void draw_links() {
        const std::int64_t count = draw_.number(0, settings_.max_links);
        for (std::int64_t i = 0; i < count; ++i) {
            const Link link = draw_link();
            if (!takes_ids(link.target) && !network_check::link_fault(result_, link) &&
                std::ranges::find(result_.links, link) == result_.links.end() &&
                network_check::link_parameter(result_, shapes_, link).shape.elements() <=
                    settings_.max_weights)
                result_.links.push_back(link);
        }
        std::ranges::sort(result_.links, {}, [](const Link& link) {
            return std::tuple(link.source, link.target, link.kind);
        });
    }

    /// Two ends in any order: only some make a link.
    Link draw_link() {
        const auto filled = [&] {
            return filled_[rng_.index(static_cast<std::uint32_t>(filled_.size()))];
        };
        Link link{.source = filled(), .target = filled(), .kind = LinkKind::forward};
        if (rng_.chance(0.2F)) link.source = input_port;
        if (rng_.chance(0.2F)) link.target = result_.grid.slots();
        if (carries_ && link.source >= link.target) link.kind = LinkKind::backward;
        return link;
    }

    [[nodiscard]] bool takes_ids(int slot) const {
        return slot < result_.grid.slots() &&
               cambrian::takes_ids(result_.slots[static_cast<std::size_t>(slot)]->layer);
    }

    RandomStream& rng_;
    const RandomNetwork& settings_;
    const NetworkEnds& ends_;
    DrawLimits limits_;
    LayerDraw draw_;
    Blueprint result_;
    bool carries_ = false;  ///< Whether the network has a state beside those of its layers.
    Shape row_;
    std::optional<Shape> preceding_;
    std::vector<int> filled_;
    std::vector<Shape> shapes_;  ///< Before every slot and the head, and after it.
};

}  // namespace

Blueprint draw_network(RandomStream& rng, const RandomNetwork& settings, const NetworkEnds& ends) {
    check(settings, ends);
    for (int i = 0; i < max_attempts; ++i)
        if (auto blueprint = NetworkDraw(rng, settings, ends).run()) return *std::move(blueprint);
    refuse("layer_types", "make no network",
           "of " + std::to_string(max_attempts) + " draws none fitted the input",
           "allow more types, elements or weights");
}

}  // namespace cambrian
