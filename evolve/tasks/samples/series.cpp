#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/objectives.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

double mean_value(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double mean_square(std::span<const double> answers, std::span<const double> targets) {
    double total = 0.0;
    for (std::size_t i = 0; i < targets.size(); ++i)
        total += (targets[i] - answers[i]) * (targets[i] - answers[i]);
    return total / static_cast<double>(targets.size());
}

class SeriesTask final : public Task {
  public:
    SeriesTask(std::string type, std::vector<SeriesPart> parts);

    std::string_view type() const override { return type_; }
    TaskSignature signature() const override {
        return {.observations = parts_[0].samples.inputs.shape[2],
                .outputs = 1,
                .time = true,
                .steps = parts_[0].samples.inputs.shape[1],
                .validates = has(Phase::validation),
                .tests = has(Phase::test),
                .loss = true};
    }
    const Samples* held(Phase phase) const override { return &part(phase).samples; }
    Objective build(const ObjectiveContext& context, Phase phase) const override;
    std::vector<Baseline> baselines(Phase phase) const override;

  private:
    [[nodiscard]] const SeriesPart& part(Phase phase) const {
        return parts_[phase == Phase::validation ? 1 : phase == Phase::test ? 2 : 0];
    }
    [[nodiscard]] bool has(Phase phase) const { return part(phase).samples.rows() > 0; }
    /// Of the targets of a part, around their mean.
    [[nodiscard]] double variance(Phase phase) const {
        const std::vector<double>& targets = part(phase).samples.targets.elements;
        const std::vector<double> means(targets.size(), mean_value(targets));
        return mean_square(means, targets);
    }

    std::string type_;
    std::vector<SeriesPart> parts_;
};

SeriesTask::SeriesTask(std::string type, std::vector<SeriesPart> parts)
    : type_(std::move(type)), parts_(std::move(parts)) {
    CAMBRIAN_ASSERT(parts_.size() == 3 && has(Phase::train));
    for (const Phase phase : {Phase::train, Phase::validation, Phase::test})
        if (has(phase) && !(variance(phase) > 0.0))
            throw ConfigError(fmt::format(
                "task.{}_steps is {} (all their targets are equal, so that no error can be "
                "measured by their variance) use more steps, or a longer washout",
                name(phase), part(phase).samples.targets.shape[1]));
}

Objective SeriesTask::build(const ObjectiveContext& context, Phase phase) const {
    const Var targets = context.data[1];
    const Var outputs = context.network.sequence(context.data[0], context.operands);
    const std::int64_t steps = targets.shape()[1];
    const Var scored = slice(outputs, 1, outputs.shape()[1] - steps, steps);
    const double per_step = 1.0 / (static_cast<double>(steps) * variance(phase));
    return {.fitness = -sqrt(sum_in_runs(square(targets - scored)) * per_step),
            .env_steps = {},
            .per_sample = {}};
}

std::vector<Task::Baseline> SeriesTask::baselines(Phase phase) const {
    if (!has(phase)) return {};
    const std::vector<double>& targets = part(phase).samples.targets.elements;
    const auto nrmse = [&](std::span<const double> answers) {
        return std::sqrt(mean_square(answers, targets) / variance(phase));
    };
    const double mean = mean_value(part(Phase::train).samples.targets.elements);
    std::vector<Baseline> result{
        {"mean (NRMSE)", nrmse(std::vector<double>(targets.size(), mean))}};
    if (!part(phase).current.empty())
        result.push_back({"persistence (NRMSE)", nrmse(part(phase).current)});
    return result;
}

}  // namespace

std::unique_ptr<Task> make_series_task(std::string type, std::vector<SeriesPart> parts) {
    return std::make_unique<SeriesTask>(std::move(type), std::move(parts));
}

std::vector<std::int64_t> SeriesLengths::parts() const {
    std::vector<std::int64_t> result;
    for (const std::int64_t scored : {train, validation, test})
        result.push_back(scored == 0 ? 0 : washout + scored);
    return result;
}

std::int64_t SeriesLengths::total() const {
    const std::vector<std::int64_t> steps = parts();
    return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
}

}  // namespace cambrian::evolve
