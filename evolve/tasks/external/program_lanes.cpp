#include "cambrian/evolve/tasks/external/program_lanes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

namespace cambrian::evolve {
namespace {

/// Failures one after another, with nothing that worked since the evaluation began, after which the
/// program is taken to be broken. One network alone causes fewer (halves of the largest shard).
constexpr int max_failures = 40;

std::deque<NetworkGroup> divided(std::size_t networks, const LaneSettings& settings) {
    std::size_t parts = std::min(networks, static_cast<std::size_t>(settings.programs));
    if (settings.group > 0)
        parts = std::max(parts, (networks + settings.group - 1) / settings.group);
    std::deque<NetworkGroup> groups;
    for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t first = networks * i / parts;
        groups.push_back({first, networks * (i + 1) / parts - first});
    }
    return groups;
}

/// What is tried next in place of a group that failed, before all others.
void divide_again(std::deque<NetworkGroup>& waiting, const NetworkGroup& group) {
    if (group.count == 1) {
        waiting.push_front({group.first, 1, true, true});
        return;
    }
    const std::size_t half = group.count / 2;
    waiting.push_front({group.first + half, group.count - half, true});
    waiting.push_front({group.first, half, true});
}

std::vector<ProgramLane> next_lanes(ProgramPool& pool, std::deque<NetworkGroup>& waiting,
                                    std::int64_t programs) {
    std::vector<ProgramLane> lanes;
    while (!waiting.empty() && std::ssize(lanes) < programs) {
        lanes.emplace_back(pool, waiting.front());
        waiting.pop_front();
    }
    return lanes;
}

}  // namespace

std::vector<double> fitness_by_lanes(ProgramPool& pool, Population& population,
                                     const LaneSettings& settings, const LaneWork& work) {
    const std::size_t networks = population.size();
    std::vector<double> fitness(networks, std::numeric_limits<double>::quiet_NaN());
    std::deque<NetworkGroup> waiting = divided(networks, settings);
    int failures = 0;
    bool has_worked = false;
    std::optional<ChildFailure> last;
    while (!waiting.empty()) {
        std::vector<ProgramLane> lanes = next_lanes(pool, waiting, settings.programs);
        work(lanes, fitness);
        has_worked = has_worked || std::ranges::any_of(lanes, &ProgramLane::works);
        for (ProgramLane& lane : lanes) {
            if (lane.works()) {
                lane.finish();
                continue;
            }
            const ChildFailure& failure = *lane.failure();
            last = failure;
            if (!has_worked && ++failures >= max_failures)
                throw ChildFailure(fmt::format("{} (it failed {} times, whatever it was given)",
                                               failure.what(), failures));
            if (!lane.group().again) {
                divide_again(waiting, lane.group());
                continue;
            }
            population.fail(lane.group().first);
            pool.warn(failure.cause(),
                      fmt::format("a network gets the worst fitness: with it alone, {} (others "
                                  "with which the same happens are not told of)",
                                  failure.what()));
        }
    }
    // With one network alone nobody knows whose fault it is, with many one after another it is not
    // theirs.
    const std::int64_t in_vain = pool.note(has_worked);
    if (last && !has_worked && (networks > 1 || in_vain >= max_failures))
        throw ChildFailure(fmt::format("{} (it failed with every network alone)", last->what()));
    return fitness;
}

}  // namespace cambrian::evolve
