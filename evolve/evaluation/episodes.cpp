#include "cambrian/evolve/evaluation/episodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cambrian/evolve/evaluation/host_population.hpp"
#include "cambrian/evolve/evaluation/inference.hpp"
#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/evolve/tasks/task_guard.hpp"
#include "cambrian/evolve/tasks/task_tensors.hpp"
#include "cambrian/evolve/tasks/visible_task.hpp"

namespace cambrian::evolve {
namespace {

/// The numbers of one episode at one step, of a tensor [.., episodes, ...].
std::vector<double> numbers_of(const Tensor& tensor, std::int64_t step, std::int64_t episodes,
                               std::int64_t episode, std::int64_t steps) {
    const auto size = tensor.shape.elements() / (steps * episodes);
    const auto begin = tensor.elements.begin() + (step * episodes + episode) * size;
    return {begin, begin + size};
}

/// What a recording gave: scores, steps, the tensors of the start, those of all steps.
class Recording {
  public:
    Recording(std::vector<Tensor> tensors, std::size_t state_count)
        : tensors_(std::move(tensors)), state_count_(state_count) {}

    [[nodiscard]] std::int64_t episodes() const { return tensors_[0].shape.elements(); }
    [[nodiscard]] const std::vector<double>& scores() const { return tensors_[0].elements; }
    [[nodiscard]] std::int64_t steps(std::int64_t episode) const {
        return static_cast<std::int64_t>(tensors_[1].elements[static_cast<std::size_t>(episode)]);
    }
    [[nodiscard]] std::int64_t recorded() const { return tensors_.back().shape[0]; }
    /// @param step 0: the start.
    [[nodiscard]] std::vector<std::vector<double>> state(std::int64_t episode,
                                                         std::int64_t step) const {
        std::vector<std::vector<double>> state;
        for (std::size_t i = 0; i < state_count_; ++i)
            state.push_back(step == 0 ? numbers_of(tensors_[2 + i], 0, episodes(), episode, 1)
                                      : numbers_of(tensors_[2 + state_count_ + i], step - 1,
                                                   episodes(), episode, recorded()));
        return state;
    }

  private:
    std::vector<Tensor> tensors_;
    std::size_t state_count_;
};

Recording record(const EpisodeSetting& setting, const Genome& genome, const EvaluationRound& round,
                 std::int64_t max_steps) {
    const Task& task = setting.task;
    const Network network(genome.blueprint);
    Inference pass;
    const NetworkOperands operands = pass.add(network, genome);
    const std::vector<Var> draws =
        pass.add("draws", draws_of(task, round.phase, setting.seed, round.round));
    const RolloutRecord episodes = guarded_call(task, [&] {
        return record_rollout(task, {pass.graph, network, operands, {}, draws}, round.phase,
                              max_steps);
    });
    pass.graph.output(episodes.scores);
    pass.graph.output(episodes.steps);
    for (const Var state : episodes.start) pass.graph.output(state);
    for (const Var state : episodes.states) pass.graph.output(state);
    return {cambrian::evaluate(setting.backend, pass.graph, 1, pass.values), episodes.start.size()};
}

/// The best of them, the first of equal ones.
std::size_t best_of(const std::vector<double>& scores) {
    const auto worth = [](double score) {
        return std::isnan(score) ? -std::numeric_limits<double>::infinity() : score;
    };
    return static_cast<std::size_t>(std::ranges::max_element(scores, {}, worth) - scores.begin());
}

/// What an evaluation says of each episode; nothing where its fitness is not valid.
std::vector<double> evaluated_scores(const EpisodeSetting& setting, const Genome& genome,
                                     const EvaluationRound& round) {
    Evaluator evaluator(setting.backend, setting.task, setting.seed, setting.family);
    const std::array<const Genome*, 1> one{&genome};
    return evaluator.evaluate(one, round).front().per_sample;
}

/// Whether the first state of an environment has a picture.
bool draws_itself(const Environment& environment) {
    Graph graph;
    std::vector<std::vector<double>> zeros;
    const std::int64_t draws = std::max<std::int64_t>(environment.reset_draws(), 1);
    for (const Var state : environment.reset(filled(graph, {1, draws}, 0.0)))
        zeros.emplace_back(static_cast<std::size_t>(state.shape().elements()), 0.0);
    return environment.picture(zeros).has_value();
}

}  // namespace

bool is_visible(const Task& task) {
    const Environment* environment = environment_of(task);
    return environment != nullptr ? guarded_call(task, [&] { return draws_itself(*environment); })
                                  : dynamic_cast<const VisibleTask*>(&task.inner()) != nullptr;
}

std::optional<DrawnEpisode> best_episode(const EpisodeSetting& setting, const Genome& genome,
                                         const EvaluationRound& round, std::int64_t max_steps) {
    const Task& task = setting.task;
    if (!is_visible(task)) return std::nullopt;
    if (const auto* visible = dynamic_cast<const VisibleTask*>(&task.inner())) {
        const Individual individual(genome);
        const std::array<const Individual*, 1> one{&individual};
        PopulationRunner runner(setting.backend, setting.family);
        HostPopulation population(setting.backend, runner, task.signature(), one, {});
        return guarded_call(task, [&] {
            return visible->play(population, {round.phase, setting.seed, round.round}, max_steps);
        });
    }
    const Recording recording = record(setting, genome, round, max_steps);
    std::vector<double> scores = evaluated_scores(setting, genome, round);
    if (scores.size() != recording.scores().size()) scores = recording.scores();
    const std::size_t place = best_of(scores);
    const auto best = static_cast<std::int64_t>(place);
    DrawnEpisode episode{.score = scores[place],
                         .steps = recording.steps(best),
                         .number = best,
                         .episodes = recording.episodes(),
                         .pictures = {},
                         .drawn_score = recording.scores()[place]};
    const std::int64_t last = std::min(episode.steps, recording.recorded());
    for (std::int64_t step = 0; step <= last; ++step)
        if (auto picture = guarded_call(
                task, [&] { return environment_of(task)->picture(recording.state(best, step)); }))
            episode.pictures.push_back(std::move(*picture));
    return episode;
}

}  // namespace cambrian::evolve
