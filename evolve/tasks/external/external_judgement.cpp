#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cambrian/evolve/tasks/external/external_rollout.hpp"
#include "cambrian/evolve/tasks/external/network_message.hpp"

namespace cambrian::evolve {
namespace {

bool is_finite(const Genome& genome) {
    return std::ranges::all_of(genome.weights, [](float weight) { return std::isfinite(weight); });
}

/// What a lane asks about, and of which networks.
struct Question {
    nlohmann::ordered_json networks = nlohmann::ordered_json::array();
    std::vector<std::size_t> places;
};

/// Without networks of numbers that are not finite, for which JSON has no words.
Question question_of(const NetworkGroup& group, const Population& population,
                     ExternalFrames frames) {
    Question question;
    for (std::size_t i = group.first; i < group.first + group.count; ++i) {
        const Genome genome = population.genome(i);
        if (!is_finite(genome)) continue;
        question.networks.push_back(network_message(genome, i, population.origin(i), frames));
        question.places.push_back(i);
    }
    return question;
}

}  // namespace

std::vector<double> judged_fitness(ProgramPool& pool, Population& population,
                                   const ExternalEpisodes& episodes, const LaneSettings& settings,
                                   ExternalFrames frames) {
    const auto work = [&](std::span<ProgramLane> lanes, std::span<double> fitness) {
        std::vector<std::vector<std::size_t>> asked(lanes.size());
        for (std::size_t i = 0; i < lanes.size(); ++i)
            lanes[i].attempt([&](ExternalProgram* program) {
                Question question = question_of(lanes[i].group(), population, frames);
                asked[i] = std::move(question.places);
                if (!asked[i].empty())
                    program->send_networks(std::move(question.networks), episodes);
            });
        for (std::size_t i = 0; i < lanes.size(); ++i)
            lanes[i].attempt([&](ExternalProgram* program) {
                if (asked[i].empty()) return;
                const std::vector<double> answer = program->receive_fitness(asked[i].size());
                program->require_silence();
                for (std::size_t k = 0; k < answer.size(); ++k) fitness[asked[i][k]] = answer[k];
            });
    };
    return fitness_by_lanes(pool, population, settings, work);
}

}  // namespace cambrian::evolve
