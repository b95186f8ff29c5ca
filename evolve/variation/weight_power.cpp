#include "cambrian/evolve/variation/mutation_detail.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {

namespace {

constexpr float smallest_power = 1e-6F;
constexpr float largest_power = 1e3F;

}  // namespace

float scheduled_power(const MutationSettings& settings, std::uint64_t birth) {
    const float start = settings.weight_power;
    const float end = settings.weight_power_end;
    const auto births = static_cast<double>(settings.weight_power_births);
    const auto part = static_cast<float>(std::min(static_cast<double>(birth) / births, 1.0));
    switch (settings.weight_power_schedule) {
        case WeightPowerSchedule::constant:
            break;
        case WeightPowerSchedule::linear:
            return start + part * (end - start);
        case WeightPowerSchedule::exponential:
            return part == 1.0F
                       ? end
                       : start * elementary::exp(part *
                                                 elementary::log(elementary::divide(end, start)));
    }
    return start;
}

void check_schedule(const MutationSettings& settings) {
    const auto lies_within = [](float power) {
        return power >= smallest_power && power <= largest_power;
    };
    const bool scheduled = settings.weight_power_schedule != WeightPowerSchedule::constant;
    if (settings.weight_power_change > 0.0F &&
        !(lies_within(settings.weight_power) &&
          (!scheduled || lies_within(settings.weight_power_end)))) {
        throw ConfigError(
            "mutation.weight_power_change is above 0 (the powers that children inherit lie within "
            "1e-6 and 1000, and mutation.weight_power or weight_power_end does not) choose powers "
            "within these limits, or a change of 0");
    }
    const bool exponential = settings.weight_power_schedule == WeightPowerSchedule::exponential;
    if (exponential && (settings.weight_power <= 0.0F || settings.weight_power_end <= 0.0F)) {
        throw ConfigError(
            "mutation.weight_power_schedule is exponential (no factor leads from or to a power of "
            "0) set mutation.weight_power and mutation.weight_power_end above 0, or choose linear");
    }
}

float inherited_power(RandomStream& rng, float power, float change) {
    return std::clamp(power * elementary::exp(change * rng.normal()), smallest_power,
                      largest_power);
}

float child_power(RandomStream& rng, const MutationSettings& settings, ChildPlan& child,
                  std::uint64_t birth) {
    const float scheduled = scheduled_power(settings, birth);
    if (settings.weight_power_change == 0.0F) {
        return scheduled;
    }
    Genome genome = child.structure->genome();
    const float own = genome.weight_power > 0.0F ? genome.weight_power : scheduled;
    genome.weight_power = inherited_power(rng, own, settings.weight_power_change);
    const float power = genome.weight_power;
    child.structure = std::make_shared<const Structure>(std::move(genome));
    return power;
}

}  // namespace cambrian::evolve
