#include "cambrian/engine/network/builders/random_layers.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"

namespace cambrian {

namespace {

/// Sets what a variant needs for its features.
using Fill = void (*)(LayerDraw& draw, Softmax& layer);

void fill_nothing(LayerDraw& /*draw*/, Softmax& /*layer*/) {}

void fill_grid(LayerDraw& draw, Softmax& layer) {
    layer.rows = draw.divisor(layer.features);
    layer.cols = layer.features / layer.rows;
}

/// A tree of as many nodes as there are features: l1 (1 + l2 (1 + ..)).
void fill_levels(LayerDraw& draw, Softmax& layer) {
    for (std::int64_t nodes = layer.features; nodes > 0;) {
        layer.levels.push_back(draw.divisor(nodes));
        nodes = nodes / layer.levels.back() - 1;
    }
}

void fill_hard(LayerDraw& draw, Softmax& layer) {
    layer.hard = draw.chance(0.5F);
}

void fill_mask(LayerDraw& draw, Softmax& layer) {
    for (std::int64_t i = 0; i < layer.features; ++i) layer.mask.push_back(draw.chance(0.6F));
    layer.mask[static_cast<std::size_t>(draw.number(0, layer.features - 1))] = true;
}

void fill_alpha(LayerDraw& draw, Softmax& layer) {
    static constexpr std::array exact{1.0F, 1.5F, 2.0F};
    layer.alpha = draw.chance(0.5F) ? draw.pick(exact) : 1.0F + draw.rng().uniform();
}

void fill_cutoffs(LayerDraw& draw, Softmax& layer) {
    std::int64_t classes = 0;
    for (std::int64_t left = draw.number(1, 3); left > 0; --left)
        layer.cutoffs.push_back(classes += draw.number(1, 6));
}

void fill_mixtures(LayerDraw& draw, Softmax& layer) {
    layer.mixtures = draw.number(1, 3);
    layer.classes = draw.width();
}

struct FillRow {
    std::string_view variant;
    Fill fill = nullptr;
};
constexpr std::array fill_rows{
    FillRow{"standard", fill_nothing}, FillRow{"temperature", fill_nothing},
    FillRow{"grid", fill_grid},        FillRow{"hierarchical", fill_levels},
    FillRow{"gumbel", fill_hard},      FillRow{"masked", fill_mask},
    FillRow{"sparse", fill_nothing},   FillRow{"entmax", fill_alpha},
    FillRow{"adaptive", fill_cutoffs}, FillRow{"mixture", fill_mixtures},
};

}  // namespace

std::optional<AnyLayer> draw_softmax(LayerDraw& draw, const Shape& row, int /*depth*/) {
    const auto variants = softmax_variants();
    const auto index = draw.number(0, static_cast<std::int64_t>(variants.size()) - 1);
    Softmax layer{.features = draw.vector_width(row),
                  .temperature = 0.5F + 1.5F * draw.rng().uniform()};
    layer.variant = variants[static_cast<std::size_t>(index)].name;
    const auto* const found = std::ranges::find(fill_rows, layer.variant, &FillRow::variant);
    CAMBRIAN_ASSERT(found != fill_rows.end());
    found->fill(draw, layer);
    return layer;
}

}  // namespace cambrian
