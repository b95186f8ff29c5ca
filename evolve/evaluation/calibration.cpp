#include "cambrian/evolve/evaluation/calibration.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian::evolve {
namespace {

std::span<float> part_of(std::vector<float>& weights, const EncodedRange& range) {
    return std::span(weights).subspan(static_cast<std::size_t>(range.offset),
                                      static_cast<std::size_t>(range.extents.elements()));
}

/// Calls visit(name, encoded range) for every tensor that a format holds.
template <class Visit>
void for_each_encoded(const Network& network, Visit visit) {
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        if (const auto range = encoded_range(network.blueprint(), network.weights()[i]))
            visit(network.weight_name(i), *range);
}

/// The network with one tensor clipped, but for weights that compute nothing.
Genome with_clip(const Genome& genome, const EncodedRange& range, double clip) {
    Genome result = genome;
    QuantisationScheme scheme = range.scheme();
    scheme.rule.clip = clip;
    const std::span<float> own = part_of(result.weights, range);
    range.leave_out_disabled(own);
    absorb_clip(scheme, range.extents, own);
    for (const std::int64_t number : range.disabled) {
        const auto at = static_cast<std::size_t>(number);
        own[at] = genome.weights[static_cast<std::size_t>(range.offset) + at];
    }
    return result;
}

}  // namespace

std::vector<TensorError> tensor_errors(const Genome& genome) {
    const Network network(genome.blueprint);
    std::vector<float> masters = genome.weights;
    std::vector<float> stored = evaluated_weights(network, masters);
    std::vector<TensorError> result;
    for_each_encoded(network, [&](std::string name, const EncodedRange& range) {
        // Of no effect: as errors they are left out.
        for (const std::int64_t number : range.disabled)
            stored[static_cast<std::size_t>(range.offset + number)] =
                std::numeric_limits<float>::quiet_NaN();
        result.push_back(
            {.name = std::move(name),
             .dtype = range.dtype,
             .extents = range.extents,
             .bytes = stored_bytes(range.scheme(), range.extents),
             .error = quantisation_error(part_of(masters, range), part_of(stored, range))});
    });
    return result;
}

Genome with_formats(Genome genome, const LayerFormats& formats) {
    for_each_formats(genome.blueprint, [&](LayerFormats& own) { own = formats; });
    return genome;
}

CalibratedNetwork calibrated(Evaluator& evaluator, Genome genome, const EvaluationRound& round) {
    CalibratedNetwork result{.genome = std::move(genome), .clips = {}};
    const Network network(result.genome.blueprint);
    for_each_encoded(network, [&](std::string name, const EncodedRange& range) {
        // The masters as they are, which no clip is, come first: no choice is worse than none.
        std::vector<Genome> candidates{result.genome};
        // What rounds without a scale has nothing to clip.
        if (row(range.dtype).group != ScaleGroup::none)
            for (const double clip : calibration_clips)
                candidates.push_back(with_clip(result.genome, range, clip));
        std::vector<const Genome*> pointers;
        for (const Genome& candidate : candidates) pointers.push_back(&candidate);
        const std::vector<Evaluation> scores = evaluator.evaluate(pointers, round);
        std::size_t best = 0;
        for (std::size_t i = 1; i < scores.size(); ++i)
            if (scores[i].fitness > scores[best].fitness) best = i;
        result.clips.push_back({.name = std::move(name),
                                .clip = best == 0 ? 1.0 : calibration_clips[best - 1],
                                .fitness = scores[best].fitness});
        result.genome = std::move(candidates[best]);
    });
    return result;
}

}  // namespace cambrian::evolve
