#include "cambrian/evolve/variation/value_rules.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

namespace {

/// Elements whose draws are made together; whole blocks of random words.
constexpr std::int64_t run_length = 256;
using Run = std::array<float, static_cast<std::size_t>(run_length)>;

/// Draws of the elements of one run.
struct RunDraws {
    Run choice;
    Run normal;
    Run uniform;
};

/// @param fresh_value of an element that has none by the rule.
template <class FreshValue>
void vary(const ValueRule& rule, const float* choice, const float* noise, std::span<float> weights,
          const FreshValue& fresh_value) {
    const float differs = rule.noise_rate + rule.replace_rate;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const float draw = rule.uniform ? 2.0F * noise[i] - 1.0F : noise[i];
        const bool fresh = choice[i] < rule.replace_rate;
        const float moved = fresh ? fresh_value(i, draw) : weights[i] + rule.power * draw;
        const float limited = std::min(std::max(moved, rule.least), rule.largest);
        weights[i] = choice[i] < differs ? limited : weights[i];
    }
}

}  // namespace

void ValueRules::apply(std::span<float> weights) const {
    if (ranges.empty()) {
        return;
    }
    const auto is_uniform = [this](const Range& range) { return rules.at(range.rule).uniform; };
    const bool some_uniform = std::ranges::any_of(ranges, [&](const Range& range) {
        return is_uniform(range) || (range.initial && starts_random(range.initial->initial));
    });
    const bool some_normal = !std::ranges::all_of(ranges, is_uniform);
    RunDraws draws{};  // Not all are drawn.
    const std::int64_t end = ranges.back().first + ranges.back().count;
    CAMBRIAN_ASSERT(end <= static_cast<std::int64_t>(weights.size()));
    for (std::int64_t start = ranges.front().first / run_length * run_length; start < end;
         start += run_length) {
        const std::int64_t stop = std::min(start + run_length, end);
        const auto size = static_cast<std::size_t>(stop - start);
        const auto first = static_cast<std::uint64_t>(start);
        choice.fill_uniform(first, std::span(draws.choice).first(size));
        if (some_normal) {
            noise.fill_normal(first, std::span(draws.normal).first(size));
        }
        if (some_uniform) {
            uniform_noise.fill_uniform(first, std::span(draws.uniform).first(size));
        }
        for (const Range& range : ranges) {
            const std::int64_t from = std::max(range.first, start);
            const std::int64_t count = std::min(range.first + range.count, stop) - from;
            if (count <= 0) {
                continue;
            }
            const ValueRule& rule = rules[range.rule];
            const auto at = static_cast<std::size_t>(from - start);
            const Run& values = rule.uniform ? draws.uniform : draws.normal;
            const auto fresh_value = [&](std::size_t i, float draw) {
                return range.initial
                           ? initial_value(*range.initial,
                                           from - range.first + static_cast<std::int64_t>(i),
                                           draws.uniform[at + i])
                           : rule.mean + rule.deviation * draw;
            };
            vary(rule, draws.choice.data() + at, values.data() + at,
                 weights.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(count)),
                 fresh_value);
        }
    }
}

}  // namespace cambrian::evolve
