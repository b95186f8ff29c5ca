#include "cambrian/evolve/genome/tensor_axes.hpp"

#include <type_traits>

#include "cambrian/evolve/genome/layer_traits.hpp"

// Which axes the tensors of each layer type have. A type without a row here is taken as it stores
// its tensors: first axis units, the others inputs.
namespace cambrian::evolve {

namespace {

using Extents = std::vector<std::int64_t>;

Extents joined(Extents first, const Extents& second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

/// The last axes of a row that have so many elements together, or these elements as one axis.
Extents last_axes(const Shape& row, std::int64_t elements) {
    if (row.elements() == elements) {
        return {row.extents().begin(), row.extents().end()};
    }
    std::int64_t product = 1;
    for (int axis = row.rank() - 1; axis >= 0; --axis) {
        product *= row[axis];
        if (product == elements) {
            const auto extents = row.extents().subspan(static_cast<std::size_t>(axis));
            return {extents.begin(), extents.end()};
        }
    }
    return {elements};
}

TensorAxes units_first(Extents units, const Extents& inputs) {
    const std::size_t count = units.size();
    Extents all = joined(std::move(units), inputs);
    const std::size_t end = all.size();
    return {std::move(all), 0, count, end, 0};
}

TensorAxes as_stored(const ParameterSpec& parameter) {
    const auto extents = parameter.shape.extents();
    return {{extents.begin(), extents.end()}, 0, 1, extents.size(), 0};
}

TensorAxes in_set(std::size_t set, TensorAxes axes) {
    axes.unit_set = set;
    return axes;
}

/// Of a matrix whose columns are the inputs of a layer of vectors.
TensorAxes of_vectors(const ParameterSpec& parameter, const Shape& row) {
    if (parameter.shape.rank() < 2) return as_stored(parameter);
    return units_first({parameter.shape[0]}, last_axes(row, parameter.shape[1]));
}

/// Gates one after another, each with `hidden` units.
TensorAxes of_gates(std::int64_t hidden, std::size_t index, const ParameterSpec& parameter,
                    const Shape& row) {
    const Extents units{parameter.shape[0] / hidden, hidden};
    Extents inputs;
    if (parameter.shape.rank() > 1)
        inputs = index == 0 ? last_axes(row, parameter.shape[1]) : Extents{hidden};
    TensorAxes axes = units_first(units, inputs);
    axes.unit_axis = 1;
    return axes;
}

TensorAxes of_heads(const MultiHeadAttention& layer, const ParameterSpec& parameter) {
    if (parameter.name == "q_gain" || parameter.name == "k_gain") {
        return in_set(2, as_stored(parameter));  // all heads share them
    }
    const bool gives = parameter.name == "wo" || parameter.name == "bo";
    if (!gives) {
        const Extents units{parameter.shape[0] / layer.head_dim, layer.head_dim};
        return units_first(units, parameter.shape.rank() < 2 ? Extents{} : Extents{layer.features});
    }
    if (parameter.shape.rank() < 2) return in_set(1, as_stored(parameter));
    return in_set(1, units_first({layer.features}, {layer.heads, layer.head_dim}));
}

/// Set 0 is the channels; what enters and leaves them are units of their own.
TensorAxes of_channels(const Mamba& layer, const ParameterSpec& parameter) {
    if (parameter.name == "norm.gain") return in_set(1, as_stored(parameter));
    if (parameter.name == "x_proj") {
        TensorAxes axes = in_set(2, as_stored(parameter));
        axes.parts = {layer.dt_rank, layer.state_size, layer.state_size};
        return axes;
    }
    if (parameter.name == "out_proj") return in_set(3, as_stored(parameter));
    if (parameter.name == "conv_weight") {
        TensorAxes axes = as_stored(parameter);
        axes.first_centred = 2;
        axes.causal = true;
        return axes;
    }
    if (parameter.name != "in_proj") return as_stored(parameter);
    TensorAxes axes = units_first({2, parameter.shape[0] / 2}, {parameter.shape[1]});
    axes.unit_axis = 1;
    return axes;
}

/// [units, inputs, kernel..], or with inputs first where a convolution is transposed: groups one
/// after another there, each with the units of its own.
TensorAxes of_kernel(const ParameterSpec& parameter, std::size_t unit_axis,
                     std::int64_t groups = 1) {
    TensorAxes axes = as_stored(parameter);
    if (axes.extents.size() < 2) return axes;
    axes.first_output = unit_axis;
    axes.last_output = unit_axis + 1;
    axes.first_centred = 2;
    axes.unit_axis = unit_axis;
    axes.groups = groups;
    return axes;
}

}  // namespace

std::int64_t elements_from(const std::vector<std::int64_t>& extents, std::size_t axis) {
    std::int64_t product = 1;
    for (; axis < extents.size(); ++axis) product *= extents[axis];
    return product;
}

std::vector<TensorAxes> part_axes(const TensorAxes& axes) {
    if (axes.parts.empty()) return {axes};
    std::vector<TensorAxes> all;
    for (const std::int64_t length : axes.parts) {
        TensorAxes& part = all.emplace_back(axes);
        part.extents.front() = length;
        part.parts.clear();
    }
    return all;
}

TensorAxes tensor_axes(const AnyLayer& layer, std::size_t index, const ParameterSpec& parameter,
                       const Shape& row) {
    return std::visit(
        [&]<class L>(const L& concrete) {
            if constexpr (is_transposed<L>) {
                return of_kernel(parameter, 1, concrete.groups);
            } else if constexpr (is_convolution<L>) {
                return of_kernel(parameter, 0);
            } else if constexpr (is_recurrent<L>) {
                return of_gates(concrete.hidden, index, parameter, row);
            } else if constexpr (std::is_same_v<L, MultiHeadAttention>) {
                return of_heads(concrete, parameter);
            } else if constexpr (std::is_same_v<L, Embedding>) {
                return TensorAxes{{parameter.shape[0], concrete.features}, 1, 2, 2, 1};
            } else if constexpr (std::is_same_v<L, Mamba>) {
                return of_channels(concrete, parameter);
            } else if constexpr (std::is_same_v<L, Swiglu>) {
                return in_set(parameter.name.starts_with("down_") ? 1 : 0, as_stored(parameter));
            } else if constexpr (std::is_same_v<L, Dense> || std::is_same_v<L, Kmeans>) {
                return of_vectors(parameter, row);
            } else {
                return as_stored(parameter);
            }
        },
        layer.variant());
}

}  // namespace cambrian::evolve
