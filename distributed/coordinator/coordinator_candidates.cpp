#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "cambrian/distributed/coordinator/coordinator.hpp"

// Tests of networks that may solve the task (run.stop.solved).
namespace cambrian::distributed {
namespace {

/// Whether a phase is the same in every round: a network that has failed there would fail again.
bool repeats(const evolve::Task& task, evolve::Phase phase, std::uint64_t seed) {
    return !task.signature().host && task.draws(phase, seed, 0).empty();
}

/// Whether who is carried over is another network in each generation: it learns once more, from
/// other batches, and its children inherit nothing of that.
bool learns_anew(const Experiment& experiment) {
    return experiment.learning.mode == evolve::LearningMode::baldwinian && experiment.reevaluates();
}

}  // namespace

std::optional<evolve::SolvedTest> Coordinator::test_of(std::uint64_t generation) const {
    const bool asked = experiment_.stop.solved && experiment_.has_last_task(generation);
    return asked ? experiment_.task_at(generation)->solved() : std::nullopt;
}

std::optional<bool> Coordinator::reaches(const Generation& generation, const Leader& leader,
                                         double worth) {
    const double fitness = leader.champion.fitness;
    if (fitness >= worth || !has_prices(experiment_)) {
        return fitness >= worth;
    }
    const auto genome = genome_of(generation, leader);
    if (!genome) {
        return std::nullopt;
    }
    const double price = price_of(experiment_, *network_of(**genome));
    // Of a fitness that is the mark, rounding may have left less.
    constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
    return fitness + price + rounding * (std::abs(fitness) + price) >= worth;
}

bool Coordinator::failed_before(const Leader& leader, const evolve::SolvedTest& test,
                                const GenerationReport& report) const {
    return report.tests.count > 0 && report.tests.origin == leader.champion.origin &&
           !learns_anew(experiment_) &&
           repeats(*experiment_.task_at(report.generation), test.phase, experiment_.seed);
}

std::optional<std::vector<std::uint64_t>> Coordinator::other_candidates(
    const Generation& generation, const Leader& leader, double worth, std::size_t tested) {
    std::vector<std::uint64_t> others;
    if (experiment_.stop.candidates == 1) {
        return others;
    }
    const evolve::Scores& scores = generation.results.scores;
    const evolve::Strategy& strategy = *generation.round->strategy;
    const bool priced = has_prices(experiment_);
    std::vector<std::uint64_t> fittest;
    for (std::uint64_t position = 0; position < scores.size(); ++position) {
        if (scores.valid(position) && (priced || scores.fitness[position] >= worth)) {
            fittest.push_back(position);
        }
    }
    std::ranges::stable_sort(fittest, std::ranges::greater{},
                             [&](std::uint64_t position) { return scores.fitness[position]; });
    // The leader, who may have been tested before, is among them or one of before.
    std::size_t looked_at = tested;
    for (const std::uint64_t position : fittest) {
        if (looked_at >= experiment_.stop.candidates) {
            break;
        }
        const evolve::Birth birth = strategy.birth(position);
        const bool known = evolve::origin_of(strategy, birth) != birth.id;
        if (position == leader.position || (known && !learns_anew(experiment_))) {
            continue;
        }
        ++looked_at;
        const auto worthy =
            reaches(generation, {challenger_of(generation, position), position}, worth);
        if (!worthy) {
            return std::nullopt;
        }
        if (*worthy) {
            others.push_back(position);
        }
    }
    return others;
}

std::optional<std::vector<Coordinator::Leader>> Coordinator::candidates_of(
    const Generation& generation, const Leader& leader, const evolve::SolvedTest& test,
    GenerationReport& report) {
    std::vector<Leader> candidates;
    if (!failed_before(leader, test, report)) {
        const auto worthy = reaches(generation, leader, test.candidate);
        if (!worthy) {
            return std::nullopt;
        }
        if (*worthy) {
            candidates.push_back(leader);
            report.tests.origin = leader.champion.origin;
        }
    }
    const auto others = other_candidates(generation, leader, test.candidate, candidates.size());
    if (!others) {
        return std::nullopt;
    }
    for (const std::uint64_t position : *others) {
        candidates.push_back({challenger_of(generation, position), position});
    }
    return candidates;
}

bool Coordinator::test_train_fitness(const Generation& generation, double mark, Leader& leader,
                                     GenerationReport& report) {
    const auto passed = reaches(generation, leader, mark);
    if (!passed) {
        return false;
    }
    report.tests.passed = *passed;
    if (*passed || !has_prices(experiment_)) {
        return true;
    }
    // One that costs more may reach it, though the best does not.
    const auto others = other_candidates(generation, leader, mark, 1);
    if (!others) {
        return false;
    }
    if (!others->empty()) {
        leader = {challenger_of(generation, others->front()), others->front()};
        report.tests.passed = true;
    }
    return true;
}

bool Coordinator::test_candidates(const Generation& generation, Leader& leader,
                                  GenerationReport& report) {
    const auto test = test_of(report.generation);
    if (!test) {
        return true;
    }
    if (test->phase == evolve::Phase::train) {
        return test_train_fitness(generation, std::max(test->candidate, test->passes), leader,
                                  report);
    }
    const auto candidates = candidates_of(generation, leader, *test, report);
    if (!candidates) {
        return false;
    }
    std::vector<ReadyChild> networks;
    for (const Leader& candidate : *candidates) {
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
    report.tests.count += candidates->size();
    double best = evolve::worst_fitness;
    for (std::size_t i = 0; i < candidates->size(); ++i) {
        const double reached = (*fitness)[i].value_or(evolve::worst_fitness);
        if (reached >= test->passes && reached > best) {
            best = reached;
            leader = (*candidates)[i];
        }
    }
    report.tests.passed = best >= test->passes;
    return true;
}

}  // namespace cambrian::distributed
