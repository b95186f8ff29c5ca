#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/evolve/tasks/external/external_rollout.hpp"
#include "cambrian/evolve/tasks/external/network_message.hpp"

namespace cambrian::evolve {
namespace {

/// Those that a program can be asked about: JSON has no words for numbers that are not finite.
std::vector<std::size_t> finite_networks(const Population& population) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < population.size(); ++i)
        if (std::ranges::all_of(population.genome(i).weights,
                                [](float weight) { return std::isfinite(weight); }))
            places.push_back(i);
    return places;
}

nlohmann::ordered_json networks_of(std::span<const std::size_t> places,
                                   const Population& population, ExternalFrames frames) {
    nlohmann::ordered_json networks = nlohmann::ordered_json::array();
    for (const std::size_t i : places)
        networks.push_back(network_message(population.genome(i), i, population.origin(i), frames));
    return networks;
}

}  // namespace

std::vector<double> judged_fitness(ProgramPool& pool, const Population& population,
                                   const ExternalEpisodes& episodes, const LaneSettings& settings,
                                   ExternalFrames frames) {
    const std::vector<std::size_t> places = finite_networks(population);
    const auto work = [&](std::span<ProgramLane> lanes, std::span<double> fitness) {
        for (ProgramLane& lane : lanes)
            lane.attempt([&](ExternalProgram* program) {
                const NetworkGroup& group = lane.group();
                program->send_networks(
                    networks_of(std::span(places).subspan(group.first, group.count), population,
                                frames),
                    episodes);
            });
        for (ProgramLane& lane : lanes)
            lane.attempt([&](ExternalProgram* program) {
                const NetworkGroup& group = lane.group();
                std::ranges::copy(program->receive_fitness(group.count),
                                  fitness.begin() + static_cast<std::ptrdiff_t>(group.first));
            });
    };
    std::vector<double> fitness(population.size(), std::numeric_limits<double>::quiet_NaN());
    const std::vector<double> judged = fitness_by_lanes(pool, places.size(), settings, work);
    for (std::size_t i = 0; i < places.size(); ++i) fitness[places[i]] = judged[i];
    return fitness;
}

}  // namespace cambrian::evolve
