#include <algorithm>
#include <functional>

#include "cambrian/distributed/coordinator/coordinator.hpp"

// Tests of networks that may solve the task (run.stop.solved).
namespace cambrian::distributed {
namespace {

/// Whether a phase is the same in every round: a network that has failed there would fail again.
bool repeats(const evolve::Task& task, evolve::Phase phase, std::uint64_t seed) {
    return !task.signature().host && task.draws(phase, seed, 0).empty();
}

}  // namespace

std::optional<evolve::SolvedTest> Coordinator::test_of(std::uint64_t generation) const {
    const bool asked = experiment_.stop.solved && experiment_.has_last_task(generation);
    return asked ? experiment_.task_at(generation)->solved() : std::nullopt;
}

bool Coordinator::is_candidate(const Leader& leader, const evolve::SolvedTest& test,
                               const GenerationReport& report) const {
    const bool failed =
        report.tests.count > 0 && report.tests.origin == leader.champion.origin &&
        repeats(*experiment_.task_at(report.generation), test.phase, experiment_.seed);
    return leader.champion.fitness >= test.candidate && !failed;
}

std::vector<std::uint64_t> Coordinator::other_candidates(const Generation& generation,
                                                         const Leader& leader, double worth,
                                                         std::size_t tested) const {
    if (experiment_.stop.candidates == 1) {
        return {};
    }
    const evolve::Scores& scores = generation.results.scores;
    const evolve::Strategy& strategy = *generation.round->strategy;
    std::vector<std::uint64_t> worthy;
    for (std::uint64_t position = 0; position < scores.size(); ++position) {
        if (scores.valid(position) && scores.fitness[position] >= worth) {
            worthy.push_back(position);
        }
    }
    std::ranges::stable_sort(worthy, std::ranges::greater{},
                             [&](std::uint64_t position) { return scores.fitness[position]; });
    // The leader, who may have been tested before, is among them or one of before.
    std::vector<std::uint64_t> others;
    for (const std::uint64_t position : worthy) {
        if (others.size() + tested >= experiment_.stop.candidates) {
            break;
        }
        const evolve::Birth birth = strategy.birth(position);
        if (position != leader.position && evolve::origin_of(strategy, birth) == birth.id) {
            others.push_back(position);
        }
    }
    return others;
}

bool Coordinator::test_candidates(const Generation& generation, Leader& leader,
                                  GenerationReport& report) {
    const auto test = test_of(report.generation);
    if (!test) {
        return true;
    }
    if (test->phase == evolve::Phase::train) {
        report.tests.passed = leader.champion.fitness >= std::max(test->candidate, test->passes);
        return true;
    }
    std::vector<Leader> candidates;
    if (is_candidate(leader, *test, report)) {
        candidates.push_back(leader);
        report.tests.origin = leader.champion.origin;
    }
    for (const std::uint64_t position :
         other_candidates(generation, leader, test->candidate, candidates.size())) {
        candidates.push_back({challenger_of(generation, position), position});
    }
    std::vector<ReadyChild> networks;
    for (const Leader& candidate : candidates) {
        auto genome = grown(generation, candidate);
        if (!genome) {
            return false;
        }
        networks.push_back({std::move(*genome), 0, candidate.champion.origin});
    }
    const auto fitness =
        judge_all(std::move(networks), {test->phase, report.generation}, report.generation);
    if (!fitness) {
        return false;
    }
    report.tests.count += candidates.size();
    double best = evolve::worst_fitness;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
        const double reached = (*fitness)[i].value_or(evolve::worst_fitness);
        if (reached >= test->passes && reached > best) {
            best = reached;
            leader = candidates[i];
        }
    }
    report.tests.passed = best >= test->passes;
    return true;
}

}  // namespace cambrian::distributed
