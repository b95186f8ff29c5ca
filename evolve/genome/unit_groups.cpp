#include "cambrian/evolve/genome/unit_groups.hpp"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "cambrian/engine/network/network_check.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/evolve/genome/layer_traits.hpp"
#include "cambrian/evolve/genome/tensor_axes.hpp"

namespace cambrian::evolve {

namespace {

template <class L>
constexpr bool scales_each =
    std::is_same_v<L, BatchNorm> || std::is_same_v<L, RmsNorm> || std::is_same_v<L, LayerNorm>;

/// What a layer does with the order of the elements along one axis of its rows.
enum class Passing { on, read, fixed };

/// Follows the units of one slot through the layers after it.
class Follower {
  public:
    Follower(const Blueprint& blueprint, std::span<const Shape> shapes,
             std::span<const GeneWeights> genes)
        : blueprint_(blueprint), shapes_(shapes), genes_(genes) {}

    std::optional<UnitGroup> follow(int slot) {
        const Slot& own = *blueprint_.slots[static_cast<std::size_t>(slot)];
        group_ = {.slot = slot};
        if (!own.enabled || is_shared(slot) || !add_units(slot, own.layer)) {
            return std::nullopt;
        }
        const int head = blueprint_.grid.slots();
        for (int next = slot + 1; next <= head; ++next) {
            const std::optional<Slot>* filled =
                next < head ? &blueprint_.slots[static_cast<std::size_t>(next)] : nullptr;
            if (filled != nullptr && !*filled) {
                continue;
            }
            if (filled != nullptr && !(*filled)->enabled) {
                return std::nullopt;
            }
            const Passing passing = pass(next, layer_at(blueprint_, next));
            if (passing == Passing::fixed) {
                return std::nullopt;
            }
            if (passing == Passing::read) {
                // An empty residual after the reader adds the units, too.
                const bool whole = !parts_a_residual(blueprint_, next) && add_links(slot, next);
                return whole ? std::optional(std::move(group_)) : std::nullopt;
            }
        }
        return std::nullopt;
    }

  private:
    /// Whether its weight is another layer's, too: what is numbered anew here is not there.
    [[nodiscard]] bool is_shared(int slot) const {
        return tie_of(layer_at(blueprint_, slot)) || lends(blueprint_, slot);
    }

    void add(int slot, std::size_t parameter, std::size_t axis) {
        const GeneWeights gene = *std::ranges::find(genes_, slot, &GeneWeights::slot);
        const std::vector<ParameterSpec> specs = gene_parameters(blueprint_, gene);
        std::int64_t offset = gene.offset;
        for (std::size_t i = 0; i < parameter; ++i) {
            offset += specs[i].shape.elements();
        }
        const Shape& row = shapes_[static_cast<std::size_t>(slot)];
        TensorAxes axes = tensor_axes(layer_at(blueprint_, slot), parameter, specs[parameter], row);
        group_.axes.push_back({gene, parameter, offset, std::move(axes.extents), axis});
    }

    /// The tensors that make the units, and where units lie in the rows that they give.
    bool add_units(int slot, const AnyLayer& layer) {
        const Shape row = layer.output_shape(shapes_[static_cast<std::size_t>(slot)]);
        return std::visit(
            [&]<class L>(const L& own) {
                constexpr bool is_dense = std::is_same_v<L, Dense>;
                if constexpr (is_dense || is_convolution<L> || is_recurrent<L>) {
                    if constexpr (is_convolution<L>) {
                        if (own.groups != 1) {
                            return false;
                        }
                    }
                    row_axis_ = is_dense ? row.rank() - 1 : 0;
                    group_.units = row[row_axis_];
                    const std::vector<ParameterSpec> specs = layer.parameters();
                    for (std::size_t i = 0; i < specs.size(); ++i) {
                        const TensorAxes axes = tensor_axes(
                            layer, i, specs[i], shapes_[static_cast<std::size_t>(slot)]);
                        add(slot, i, axes.unit_axis);
                        if (is_recurrent<L> && i == 1) {
                            add(slot, i, 2);  // the state that units read
                        }
                    }
                    return true;
                } else {
                    return false;
                }
            },
            layer.variant());
    }

    Passing pass(int slot, const AnyLayer& layer) {
        const Shape& row = shapes_[static_cast<std::size_t>(slot)];
        return std::visit(
            [&]<class L>(const L& own) {
                if constexpr (std::is_same_v<L, Dropout>) {
                    return Passing::on;
                } else if constexpr (is_pool<L>) {
                    return row_axis_ == 0 ? Passing::on : Passing::fixed;
                } else if constexpr (scales_each<L>) {
                    const bool each = row_axis_ == 0 && own.features == group_.units &&
                                      (row.rank() == 1 || std::is_same_v<L, BatchNorm>);
                    for (std::size_t i = 0; each && i < layer.parameters().size(); ++i) {
                        add(slot, i, 0);
                    }
                    return each ? Passing::on : Passing::fixed;
                } else if constexpr (is_convolution<L>) {
                    if (row_axis_ != 0 || own.groups != 1) {
                        return Passing::fixed;
                    }
                    add(slot, 0, is_transposed<L> ? 0 : 1);
                    return Passing::read;
                } else if constexpr (std::is_same_v<L, Dense> || is_recurrent<L>) {
                    return is_shared(slot) ? Passing::fixed : read_vectors(slot, layer, row);
                } else {
                    return Passing::fixed;
                }
            },
            layer.variant());
    }

    /// Columns of a matrix, which may read a part of the axes of a row.
    Passing read_vectors(int slot, const AnyLayer& layer, const Shape& row) {
        const TensorAxes axes = tensor_axes(layer, 0, layer.parameters().front(), row);
        const auto inputs = static_cast<int>(axes.extents.size() - axes.last_output);
        const int axis = row_axis_ - (row.rank() - inputs);
        if (inputs > row.rank() || axis < 0) {
            return Passing::fixed;
        }
        add(slot, 0, axes.last_output + static_cast<std::size_t>(axis));
        return Passing::read;
    }

    /// Links that start or end between a slot and the one that reads its units; false where one of
    /// them joins element to element.
    bool add_links(int slot, int reader) {
        for (std::size_t i = 0; i < blueprint_.links.size(); ++i) {
            const Link& link = blueprint_.links[i];
            const bool starts = link.source >= slot && link.source < reader;
            const bool ends = link.target > slot && link.target <= reader;
            if (!starts && !ends) {
                continue;
            }
            const GeneWeights gene =
                *std::ranges::find(genes_, static_cast<int>(i), &GeneWeights::link);
            if (gene_parameters(blueprint_, gene).front().shape.rank() == 1) {
                return false;
            }
            const Shape& target = shapes_[static_cast<std::size_t>(link.target)];
            const Shape source = link.source == input_port
                                     ? input_row(blueprint_)
                                     : shapes_[static_cast<std::size_t>(link.source) + 1];
            std::vector<std::int64_t> extents(target.extents().begin(), target.extents().end());
            extents.insert(extents.end(), source.extents().begin(), source.extents().end());
            const auto axis = static_cast<std::size_t>(row_axis_);
            if (ends) {
                group_.axes.push_back({gene, 0, gene.offset, extents, axis});
            }
            if (starts) {
                group_.axes.push_back({gene, 0, gene.offset, extents,
                                       static_cast<std::size_t>(target.rank()) + axis});
            }
        }
        return true;
    }

    const Blueprint& blueprint_;
    std::span<const Shape> shapes_;
    std::span<const GeneWeights> genes_;
    UnitGroup group_;
    int row_axis_ = 0;
};

}  // namespace

std::vector<UnitGroup> unit_groups(const Blueprint& blueprint) {
    const std::vector<Shape> shapes = chain_shapes(blueprint);
    const std::vector<GeneWeights> genes = gene_weights(blueprint);
    Follower follower(blueprint, shapes, genes);
    std::vector<UnitGroup> groups;
    for (int slot = 0; slot < blueprint.grid.slots(); ++slot) {
        if (!blueprint.slots[static_cast<std::size_t>(slot)]) {
            continue;
        }
        if (std::optional<UnitGroup> group = follower.follow(slot)) {
            groups.push_back(*std::move(group));
        }
    }
    return groups;
}

}  // namespace cambrian::evolve
