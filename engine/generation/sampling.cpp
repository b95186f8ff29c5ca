#include "cambrian/engine/generation/sampling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

constexpr float impossible = -std::numeric_limits<float>::infinity();

/// A token that may be chosen, and its probability but for a factor: 1 for the most likely one.
struct Candidate {
    float weight = 0.0F;
    std::int64_t id = 0;
};

/// Of equals the first one is the more likely.
bool less_likely(const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight < b.weight : a.id > b.id;
}

/// The first of the largest. Throws for what is no answer of a network.
std::size_t likeliest(std::span<const float> logits) {
    CAMBRIAN_EXPECT(!logits.empty());
    std::size_t best = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        if (std::isnan(logits[i]) || logits[i] == -impossible)
            throw InputError(
                fmt::format("the network answers {} for token {} (a number is needed to choose by) "
                            "its weights are spoiled, or the text drives it out of its range",
                            logits[i], i));
        if (logits[i] > logits[best]) best = i;
    }
    if (logits[best] == impossible)
        throw InputError(
            "no token can follow (the network answers -inf for all of them) allow one");
    return best;
}

void penalise(std::vector<float>& logits, std::span<const std::int64_t> history, float penalty) {
    std::vector<std::int64_t> seen(history.begin(), history.end());
    std::ranges::sort(seen);
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    for (const std::int64_t id : seen) {
        if (id < 0 || id >= static_cast<std::int64_t>(logits.size())) continue;
        float& logit = logits[static_cast<std::size_t>(id)];
        logit = logit > 0.0F ? logit / penalty : logit * penalty;
    }
}

double total_of(std::span<const Candidate> candidates) {
    double total = 0.0;
    for (const Candidate& candidate : candidates) total += static_cast<double>(candidate.weight);
    return total;
}

/// The most likely ones that the settings leave, in falling order. A heap, since of a large
/// vocabulary few are asked for.
std::vector<Candidate> likeliest_of(std::vector<Candidate> heap, const SamplingSettings& settings) {
    const auto limit = settings.top_k == 0
                           ? heap.size()
                           : std::min(heap.size(), static_cast<std::size_t>(settings.top_k));
    const bool all_count = limit == heap.size();
    const double whole = all_count ? total_of(heap) : 0.0;
    std::ranges::make_heap(heap, less_likely);
    std::vector<Candidate> kept;
    const auto take = [&] {
        std::ranges::pop_heap(heap, less_likely);
        kept.push_back(heap.back());
        heap.pop_back();
    };
    if (!all_count)
        while (kept.size() < limit) take();
    const double mass = settings.top_p * (all_count ? whole : total_of(kept));
    double sum = 0.0;
    std::size_t count = 0;
    for (; count < limit; ++count) {
        if (count > 0 && settings.top_p < 1.0 && sum >= mass) break;
        if (all_count) take();
        if (count > 0 && static_cast<double>(kept[count].weight) < settings.min_p) break;
        sum += static_cast<double>(kept[count].weight);
    }
    kept.resize(count);
    return kept;
}

/// Uniform in [0, 1), of 53 bits: probabilities of large vocabularies are small.
double uniform_at(const SamplingPlace& place) {
    RandomStream stream(random_key(place.seed, "generation", place.prompt), place.position);
    const std::uint64_t high = stream.bits() >> 5U;
    const std::uint64_t low = stream.bits() >> 6U;
    return static_cast<double>((high << 26U) | low) * 0x1p-53;
}

}  // namespace

void check(const SamplingSettings& settings) {
    const auto refuse = [](std::string_view name, double value, std::string_view range) {
        throw ConfigError(
            fmt::format("{} is {} ({}) choose one in that range", name, value, range));
    };
    const SamplingSettings& s = settings;
    constexpr double smallest = 1e-6;
    if (!(s.repetition_penalty >= smallest && s.repetition_penalty <= 1e6))
        refuse("repetition_penalty", s.repetition_penalty, "it is 1e-6 to 1e6; 1: none");
    if (s.temperature != 0.0 && !(s.temperature >= smallest && s.temperature <= 1e6))
        refuse("temperature", s.temperature, "it is 0, or 1e-6 to 1e6");
    if (s.top_k < 0) refuse("top_k", static_cast<double>(s.top_k), "it is 0 or more; 0: all");
    if (!(s.top_p > 0.0 && s.top_p <= 1.0)) refuse("top_p", s.top_p, "it is above 0, up to 1");
    if (!(s.min_p >= 0.0 && s.min_p <= 1.0)) refuse("min_p", s.min_p, "it is 0 to 1");
}

std::int64_t sample_token(std::span<const float> logits, std::span<const std::int64_t> history,
                          const SamplingSettings& settings, const SamplingPlace& place) {
    static_cast<void>(likeliest(logits));
    std::vector<float> scores(logits.begin(), logits.end());
    if (settings.repetition_penalty != 1.0)
        penalise(scores, history, static_cast<float>(settings.repetition_penalty));
    const std::size_t best = likeliest(scores);
    if (settings.temperature == 0.0) return static_cast<std::int64_t>(best);

    const auto temperature = static_cast<float>(settings.temperature);
    std::vector<Candidate> candidates;
    candidates.reserve(scores.size());
    for (std::size_t i = 0; i < scores.size(); ++i)
        if (scores[i] > impossible)
            candidates.push_back({elementary::exp((scores[i] - scores[best]) / temperature),
                                  static_cast<std::int64_t>(i)});
    if (settings.top_k > 0 || settings.top_p < 1.0 || settings.min_p > 0.0)
        candidates = likeliest_of(std::move(candidates), settings);

    const double drawn = uniform_at(place) * total_of(candidates);
    double sum = 0.0;
    for (const Candidate& candidate : candidates) {
        sum += static_cast<double>(candidate.weight);
        if (drawn < sum) return candidate.id;
    }
    return candidates.back().id;  // a sum that was rounded down
}

}  // namespace cambrian
