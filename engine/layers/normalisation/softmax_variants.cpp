#include "cambrian/engine/layers/normalisation/softmax_variants.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian {
namespace {

constexpr double narrowing = 4.0;  // of tails, each against the one before

Var over_temperature(const Softmax& layer, Var x) {
    return layer.temperature == 1.0F ? x : x * (1.0 / static_cast<double>(layer.temperature));
}

/// The same below the largest of the last axis, as far as floats tell it: low temperatures enlarge
/// what rounding loses.
Var below_largest(const Softmax& layer, Var x) {
    if (layer.temperature == 1.0F) return x;
    return over_temperature(layer, x - stop_gradient(reduce_max(x, -1, true)));
}

std::string_view no_fault(const Softmax&) {
    return {};
}
std::int64_t any_features(const Softmax&) {
    return 0;
}
std::int64_t as_many(const Softmax& layer) {
    return layer.features;
}
std::vector<ParameterSpec> no_parameters(const Softmax&) {
    return {};
}

ParameterSpec matrix(std::string name, std::int64_t out, std::int64_t in) {
    return {.name = std::move(name), .shape = {out, in}, .fan_in = in};
}

Var build_standard(const Softmax& layer, Var x, const LayerOperands&) {
    return softmax(below_largest(layer, x));
}

std::string_view grid_fault(const Softmax& layer) {
    if (layer.rows >= 1 && layer.cols >= 1 && layer.rows <= widest_layer / layer.cols) return {};
    return "rows and cols of a grid are 1 or more";
}
std::int64_t grid_features(const Softmax& layer) {
    return layer.rows * layer.cols;
}
Var build_grid(const Softmax& layer, Var x, const LayerOperands&) {
    const Var cells = shape_rows(x, 1, {layer.rows, layer.cols});
    return shaped(softmax(below_largest(layer, cells)), x.shape());
}

std::string_view hierarchical_fault(const Softmax& layer) {
    std::int64_t leaves = 1;
    for (const std::int64_t level : layer.levels) {
        if (level < 1 || leaves > widest_layer / level) return "levels are 1 or more";
        leaves *= level;
    }
    return layer.levels.empty() ? "hierarchical needs levels" : "";
}
std::int64_t hierarchical_features(const Softmax& layer) {
    std::int64_t nodes = 0;
    std::int64_t width = 1;
    for (const std::int64_t level : layer.levels) nodes += width *= level;
    return nodes;
}
std::int64_t leaves(const Softmax& layer) {
    std::int64_t count = 1;
    for (const std::int64_t level : layer.levels) count *= level;
    return count;
}
Var build_hierarchical(const Softmax& layer, Var x, const LayerOperands&) {
    std::int64_t parents = 1;
    std::int64_t first = 0;
    Var path;
    for (const std::int64_t level : layer.levels) {
        const std::int64_t nodes = parents * level;
        const Var logits = shape_rows(slice(x, -1, first, nodes), 1, {parents, level});
        const Var siblings = softmax(below_largest(layer, logits));
        const Var share = first == 0 ? siblings : siblings * shape_rows(path, 1, {parents, 1});
        path = shape_rows(share, 2, {nodes});
        first += nodes;
        parents = nodes;
    }
    return path;
}

Var build_gumbel(const Softmax& layer, Var x, const LayerOperands& operands) {
    Var logits = x;
    if (operands.training != nullptr) {
        TrainingPass& pass = *operands.training;
        const Var uniforms = random(pass.next_key(), pass.id(), x.shape().elements());
        // A uniform of 0 would win against anything: half of the least other one stands for it.
        const Var drawn = max(-log(1.0 - uniforms), constant(*x.graph, 0x1p-25));
        logits = x - shaped(log(drawn), x.shape());
    }
    const Var soft = softmax(below_largest(layer, logits));
    if (!layer.hard) return soft;
    // A row with numbers that are none has a winner, too.
    const Var winner = one_hot(argmax(logits, -1), layer.features);
    return select(is_finite(soft), soft + stop_gradient(winner - soft), winner);
}

std::string_view mask_fault(const Softmax& layer) {
    return std::ranges::find(layer.mask, true) == layer.mask.end()
               ? "mask has no element that is true"
               : "";
}
std::int64_t mask_features(const Softmax& layer) {
    return static_cast<std::int64_t>(layer.mask.size());
}
Var build_masked(const Softmax& layer, Var x, const LayerOperands&) {
    const Var mask = x.graph->constant(
        Tensor(ValueType::boolean, {layer.features}, {layer.mask.begin(), layer.mask.end()}));
    if (layer.temperature == 1.0F) return masked_softmax(x, mask);
    const Var lowest = constant(*x.graph, std::numeric_limits<float>::lowest());
    const Var largest = stop_gradient(reduce_max(select(mask, x, lowest), -1, true));
    return masked_softmax(over_temperature(layer, x - largest), mask);
}

Var build_sparse(const Softmax& layer, Var x, const LayerOperands&) {
    return sparsemax(below_largest(layer, x));
}

Var build_entmax(const Softmax& layer, Var x, const LayerOperands&) {
    const Var logits = below_largest(layer, x);
    if (layer.alpha == 1.0F) return softmax(logits);
    if (layer.alpha == 2.0F) return sparsemax(logits);
    return entmax(logits, static_cast<double>(layer.alpha));
}

std::string_view adaptive_fault(const Softmax& layer) {
    std::int64_t before = 0;
    for (const std::int64_t cutoff : layer.cutoffs) {
        if (cutoff <= before || cutoff > widest_layer) return "cutoffs ascend from 1 or more";
        before = cutoff;
    }
    return layer.cutoffs.empty() ? "adaptive needs cutoffs" : "";
}
std::int64_t adaptive_outputs(const Softmax& layer) {
    return layer.cutoffs.back();
}
std::vector<ParameterSpec> adaptive_parameters(const Softmax& layer) {
    const auto tails = static_cast<std::int64_t>(layer.cutoffs.size()) - 1;
    std::vector<ParameterSpec> result{matrix("head", layer.cutoffs[0] + tails, layer.features)};
    auto width = static_cast<double>(layer.features);
    for (std::size_t i = 0; i + 1 < layer.cutoffs.size(); ++i) {
        width /= narrowing;
        const std::int64_t inner = std::max<std::int64_t>(1, static_cast<std::int64_t>(width));
        const std::string prefix = "tail." + std::to_string(i) + ".";
        result.push_back(matrix(prefix + "projection", inner, layer.features));
        result.push_back(matrix(prefix + "out", layer.cutoffs[i + 1] - layer.cutoffs[i], inner));
    }
    return result;
}
Var build_adaptive(const Softmax& layer, Var x, const LayerOperands& operands) {
    const auto probabilities = [&](Var logits) { return softmax(below_largest(layer, logits)); };
    const auto& weights = operands.parameters;
    const Var head = probabilities(project(x, weights[0]));
    const std::int64_t frequent = layer.cutoffs[0];
    std::vector<Var> parts{slice(head, -1, 0, frequent)};
    for (std::size_t i = 0; i + 1 < layer.cutoffs.size(); ++i) {
        const Var inner = project(x, weights[1 + 2 * i]);
        const Var cluster = slice(head, -1, frequent + static_cast<std::int64_t>(i), 1);
        parts.push_back(cluster * probabilities(project(inner, weights[2 + 2 * i])));
    }
    return concat(parts, -1);
}

std::string_view mixture_fault(const Softmax& layer) {
    return layer.mixtures >= 1 && layer.mixtures <= widest_layer ? "" : "mixtures is 1 or more";
}
std::int64_t mixture_outputs(const Softmax& layer) {
    return layer.classes;
}
std::vector<ParameterSpec> mixture_parameters(const Softmax& layer) {
    const std::int64_t f = layer.features;
    return {matrix("gate", layer.mixtures, f), matrix("latent", layer.mixtures * f, f),
            matrix("out", layer.classes, f)};
}
Var build_mixture(const Softmax& layer, Var x, const LayerOperands& operands) {
    const auto& weights = operands.parameters;
    const Var shares = softmax(project(x, weights[0]));
    const Var latent = tanh(project(x, weights[1]));
    const Var contexts = shape_rows(latent, 1, {layer.mixtures, layer.features});
    const Var each = softmax(below_largest(layer, project(contexts, weights[2])));
    return reduce_sum(each * shape_rows(shares, 1, {layer.mixtures, 1}), -2);
}

constexpr std::array variants{
    SoftmaxVariant{"standard", no_fault, any_features, as_many, no_parameters, build_standard},
    SoftmaxVariant{"temperature", no_fault, any_features, as_many, no_parameters, build_standard},
    SoftmaxVariant{"grid", grid_fault, grid_features, as_many, no_parameters, build_grid},
    SoftmaxVariant{"hierarchical", hierarchical_fault, hierarchical_features, leaves, no_parameters,
                   build_hierarchical},
    SoftmaxVariant{"gumbel", no_fault, any_features, as_many, no_parameters, build_gumbel},
    SoftmaxVariant{"masked", mask_fault, mask_features, as_many, no_parameters, build_masked},
    SoftmaxVariant{"sparse", no_fault, any_features, as_many, no_parameters, build_sparse},
    SoftmaxVariant{"entmax", no_fault, any_features, as_many, no_parameters, build_entmax},
    SoftmaxVariant{"adaptive", adaptive_fault, any_features, adaptive_outputs, adaptive_parameters,
                   build_adaptive},
    SoftmaxVariant{"mixture", mixture_fault, any_features, mixture_outputs, mixture_parameters,
                   build_mixture},
};

}  // namespace

std::span<const SoftmaxVariant> softmax_variants() {
    return variants;
}

const SoftmaxVariant* softmax_variant(std::string_view name) {
    const auto* const found = std::ranges::find(variants, name, &SoftmaxVariant::name);
    return found == variants.end() ? nullptr : found;
}

}  // namespace cambrian
