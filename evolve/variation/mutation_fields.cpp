#include <algorithm>
#include <array>
#include <string_view>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/variation/layer_change.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

// Fields of layers as genes: each layer type's own table says which there are.
namespace cambrian::evolve {

namespace {

/// Ids and steps beyond the rows of a table are errors, so it keeps their number; whether heads are
/// normalised is not evolved, nor how a model was trained before.
bool may_change(std::string_view field) {
    constexpr std::array<std::string_view, 11> kept{
        "vocabulary", "positions", "qk_norm",   "qk_epsilon",    "rope_factor", "rope_original",
        "rope_low",   "rope_high", "rope_yarn", "rope_truncate", "rope_gain"};
    return std::ranges::find(kept, field) == kept.end();
}

std::vector<std::int64_t> near(std::int64_t value) {
    std::vector<std::int64_t> all{value - 1, value + 1, 2 * value, value / 2};
    std::erase_if(all, [value](std::int64_t other) { return other < 0 || other == value; });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::vector<float> near(float value) {
    return value == 0.0F ? std::vector<float>() : std::vector{0.5F * value, 2.0F * value};
}

std::vector<bool> near(bool value) {
    return {!value};
}

std::vector<AxisValues> near(const AxisValues& values) {
    std::vector<AxisValues> all(2, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
        ++all[0].values[i];
        --all[1].values[i];
    }
    return all;
}

template <class Value>
constexpr bool is_number = std::is_same_v<Value, std::int64_t> || std::is_same_v<Value, float> ||
                           std::is_same_v<Value, bool> || std::is_same_v<Value, AxisValues>;

/// A kernel with two elements more or less on each axis and the padding that keeps the shape.
template <class L>
void add_padded_kernels(const L& layer, std::vector<AnyLayer>& all) {
    if constexpr (requires {
                      layer.kernel.values;
                      layer.padding.values;
                  }) {
        if (layer.kernel.size() != 1 || layer.padding.size() != 1) {
            return;
        }
        for (const std::int64_t step : {-1, 1}) {
            L next = layer;
            next.kernel.values[0] += 2 * step;
            next.padding.values[0] += step;
            all.emplace_back(std::move(next));
        }
    }
}

/// Whether a layer builds on rows of a shape, as far as it can say; fills what it leaves open.
bool builds_on(AnyLayer& layer, const Shape& row) {
    if (!layer.fault().empty()) {
        return false;
    }
    try {
        layer.resolve(row);
        return layer.output_shape(row).elements() > 0;
    } catch (const ShapeError&) {
        return false;
    }
}

}  // namespace

std::vector<AnyLayer> field_changes(const AnyLayer& layer, const Shape& row) {
    std::vector<AnyLayer> all;
    std::visit(
        [&all]<class L>(const L& own) {
            // The genes of a graph of neurons have operators of their own.
            if constexpr (!std::is_same_v<L, Neurons>) {
                const auto change = [&]<class Value>(const Field<L, Value>& field) {
                    if constexpr (is_number<Value>) {
                        if (!may_change(field.name)) {
                            return;
                        }
                        for (const auto& value : near(own.*field.member)) {
                            L next = own;
                            next.*field.member = value;
                            all.emplace_back(std::move(next));
                        }
                    }
                };
                L::fields([&](const auto&... field) { (change(field), ...); });
                add_padded_kernels(own, all);
            }
        },
        layer.variant());
    std::vector<AnyLayer> possible;
    for (AnyLayer& next : all) {
        next.rules = layer.rules;
        // A width of 0 is filled with what it was.
        if (builds_on(next, row) && !(next == layer)) {
            possible.push_back(std::move(next));
        }
    }
    return possible;
}

std::optional<Mutant> mutate_field(RandomStream& rng, const MutationSettings&,
                                   const GenomeLimits& limits, const Genome& genome,
                                   std::uint64_t) {
    const std::vector<int> filled = filled_slots(genome.blueprint);
    if (filled.empty()) {
        return std::nullopt;
    }
    const int slot = pick(rng, filled);
    if (slot < last_reader_of_ids(genome.blueprint)) {
        return std::nullopt;
    }
    const Shape row = chain_shapes(genome.blueprint)[static_cast<std::size_t>(slot)];
    const std::vector<AnyLayer> changes = field_changes(layer_at(genome.blueprint, slot), row);
    if (changes.empty()) {
        return std::nullopt;
    }
    return change_fields(rng, limits, genome, slot, pick(rng, changes), NewWeights::fresh);
}

}  // namespace cambrian::evolve
