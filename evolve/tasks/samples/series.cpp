#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numeric>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

double mean_value(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of targets less what `answer` gives at the place of each.
template <class Answer>
double mean_square(std::span<const double> targets, const Answer& answer) {
    double total = 0.0;
    for (std::size_t i = 0; i < targets.size(); ++i)
        total += (targets[i] - answer(i)) * (targets[i] - answer(i));
    return total / static_cast<double>(targets.size());
}

double mean_square_around(double center, std::span<const double> targets) {
    return mean_square(targets, [=](std::size_t) { return center; });
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
    [[nodiscard]] static std::size_t index(Phase phase) {
        return phase == Phase::validation ? 1 : phase == Phase::test ? 2 : 0;
    }
    [[nodiscard]] const SeriesPart& part(Phase phase) const { return parts_[index(phase)]; }
    [[nodiscard]] bool has(Phase phase) const { return part(phase).samples.rows() > 0; }
    [[nodiscard]] double variance(Phase phase) const { return variances_[index(phase)]; }

    std::string type_;
    std::vector<SeriesPart> parts_;
    double train_mean_ = 0.0;            ///< Of the targets.
    std::array<double, 3> variances_{};  ///< Of the targets of each part, around their own mean.
};

SeriesTask::SeriesTask(std::string type, std::vector<SeriesPart> parts)
    : type_(std::move(type)), parts_(std::move(parts)) {
    CAMBRIAN_ASSERT(parts_.size() == 3 && has(Phase::train));
    train_mean_ = mean_value(part(Phase::train).samples.targets.elements);
    for (const Phase phase : {Phase::train, Phase::validation, Phase::test}) {
        if (!has(phase)) continue;
        const std::vector<double>& targets = part(phase).samples.targets.elements;
        double& variance = variances_[index(phase)];
        variance = mean_square_around(mean_value(targets), targets);
        if (!(variance > 0.0))
            throw ConfigError(fmt::format(
                "task.{}_steps is {} (all their targets are equal, so that no error can be "
                "measured by their variance) use more steps, or a longer washout",
                name(phase), targets.size()));
    }
}

Objective SeriesTask::build(const ObjectiveContext& context, Phase phase) const {
    const Var targets = context.data[1];
    const Var outputs = context.network.sequence(context.data[0], context.operands);
    const std::int64_t steps = targets.shape()[1];
    const Var scored = slice(outputs, 1, outputs.shape()[1] - steps, steps);
    const double per_step = 1.0 / (static_cast<double>(steps) * variance(phase));
    return {.fitness = -sqrt(sum_all(square(targets - scored)) * per_step),
            .env_steps = {},
            .per_sample = {}};
}

std::vector<Task::Baseline> SeriesTask::baselines(Phase phase) const {
    if (!has(phase)) return {};
    const std::vector<double>& targets = part(phase).samples.targets.elements;
    const std::vector<double>& current = part(phase).current;
    const auto nrmse = [&](double error) { return std::sqrt(error / variance(phase)); };
    std::vector<Baseline> result{{"mean (NRMSE)", nrmse(mean_square_around(train_mean_, targets))}};
    if (!current.empty())
        result.push_back({"persistence (NRMSE)",
                          nrmse(mean_square(targets, [&](std::size_t i) { return current[i]; }))});
    return result;
}

}  // namespace

std::unique_ptr<Task> make_series_task(std::string type, std::vector<SeriesPart> parts) {
    return std::make_unique<SeriesTask>(std::move(type), std::move(parts));
}

std::vector<std::int64_t> SeriesSettings::parts() const {
    std::vector<std::int64_t> result;
    for (const std::int64_t scored : {train_steps, validation_steps, test_steps})
        result.push_back(scored == 0 ? 0 : washout + scored);
    return result;
}

std::int64_t SeriesSettings::total() const {
    const std::vector<std::int64_t> steps = parts();
    return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
}

}  // namespace cambrian::evolve
