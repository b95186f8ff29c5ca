#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/evolve/tasks/external/external_rollout.hpp"
#include "cambrian/evolve/tasks/external/network_message.hpp"

namespace cambrian::evolve {
namespace {

nlohmann::ordered_json networks_of(const NetworkGroup& group, const Population& population,
                                   ExternalFrames frames) {
    nlohmann::ordered_json networks = nlohmann::ordered_json::array();
    for (std::size_t i = group.first; i < group.first + group.count; ++i)
        networks.push_back(network_message(population.genome(i), i, population.origin(i), frames));
    return networks;
}

}  // namespace

std::vector<double> judged_fitness(ProgramPool& pool, const Population& population,
                                   const ExternalEpisodes& episodes, const LaneSettings& settings,
                                   ExternalFrames frames) {
    const auto work = [&](std::span<ProgramLane> lanes, std::span<double> fitness) {
        for (ProgramLane& lane : lanes)
            lane.attempt([&](ExternalProgram* program) {
                program->send_networks(networks_of(lane.group(), population, frames), episodes);
            });
        for (ProgramLane& lane : lanes)
            lane.attempt([&](ExternalProgram* program) {
                const NetworkGroup& group = lane.group();
                std::ranges::copy(program->receive_fitness(group.count),
                                  fitness.begin() + static_cast<std::ptrdiff_t>(group.first));
            });
    };
    return fitness_by_lanes(pool, population.size(), settings, work);
}

}  // namespace cambrian::evolve
