#include "cambrian/engine/network/observe/observer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

void ConsoleObserver::observe(const Observation& o) {
    std::string line = fmt::format(
        "step {:>6}  {:<20} {:<20} {:<8}  mean {:>11.4g}  max {:>11.4g}  min {:>11.4g}  active "
        "{:>6.2f}%",
        o.step, o.place, o.layer, name(o.direction), o.mean, o.max, o.min, 100.0 * o.active);
    if (o.not_finite > 0) line += fmt::format("  {} of {} not finite", o.not_finite, o.count);
    if (o.individual > 0) line += fmt::format("  individual {}", o.individual);
    sink_(line);
}

void JsonLinesObserver::observe(const Observation& o) {
    const nlohmann::ordered_json json{{"step", o.step},
                                      {"steps", o.steps},
                                      {"individual", o.individual},
                                      {"slot", o.slot},
                                      {"place", o.place},
                                      {"layer", o.layer},
                                      {"direction", name(o.direction)},
                                      {"mean", o.mean},
                                      {"max", o.max},
                                      {"min", o.min},
                                      {"active", o.active},
                                      {"count", o.count},
                                      {"not_finite", o.not_finite}};
    sink_(json.dump());
}

WindowObserver::WindowObserver(std::int64_t window, Observer& next) : window_(window), next_(next) {
    CAMBRIAN_ASSERT(window >= 1);
}

void WindowObserver::observe(const Observation& given) {
    Observation observation = given;
    observation.mean *= static_cast<double>(given.steps);
    observation.active *= static_cast<double>(given.steps);
    const auto [entry, first] = held_.try_emplace(
        {observation.individual, observation.slot, observation.direction}, observation);
    Observation& held = entry->second;
    if (!first) {
        // An observation without a finite element has no extremes.
        const auto empty = [](const Observation& o) { return o.not_finite == o.count; };
        if (empty(held)) {
            held.max = observation.max;
            held.min = observation.min;
        } else if (!empty(observation)) {
            held.max = std::max(held.max, observation.max);
            held.min = std::min(held.min, observation.min);
        }
        held.step = observation.step;
        held.steps += observation.steps;
        held.mean += observation.mean;
        held.active += observation.active;
        held.count += observation.count;
        held.not_finite += observation.not_finite;
    }
    if (held.steps < window_) return;
    tell(std::move(held));
    held_.erase(entry);
}

void WindowObserver::tell(Observation observation) {
    observation.mean /= static_cast<double>(observation.steps);
    observation.active /= static_cast<double>(observation.steps);
    next_.observe(observation);
}

void WindowObserver::finish() {
    for (auto& [subject, observation] : held_) tell(std::move(observation));
    held_.clear();
    next_.finish();
}

}  // namespace cambrian
