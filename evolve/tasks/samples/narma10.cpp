#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::size_t narma_order = 10;

struct Narma10Settings : SeriesSettings {
    Narma10Settings()
        : SeriesSettings{
              .washout = 100, .train_steps = 1000, .validation_steps = 500, .test_steps = 500} {}
    std::uint64_t seed = 1;

    static constexpr auto fields = series_fields<Narma10Settings>(
        Field{"seed", &Narma10Settings::seed, "Of the random inputs."});
};

/// Inputs from 0 to 0.5 and the series they drive. Some inputs make it grow without end: others
/// are drawn in their place.
struct DrivenSeries {
    std::vector<double> inputs;
    std::vector<double> values;
};

DrivenSeries draw_narma10(std::uint64_t seed, std::int64_t steps) {
    constexpr std::uint64_t attempts = 1000;
    // Without an input the series falls back from up to 1.23 and grows from there on.
    constexpr double largest = 2.0;
    const RandomKey key = random_key(seed, "narma10/inputs");
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
        RandomStream rng(key, attempt);
        DrivenSeries series;
        for (std::int64_t step = 0; step < steps; ++step)
            series.inputs.push_back(0.5 * static_cast<double>(rng.uniform()));
        series.values = narma10(series.inputs);
        if (std::ranges::all_of(series.values, [](double y) { return y < largest; })) return series;
    }
    throw ConfigError(fmt::format(
        "task.train_steps and the steps beside it are {} together (the series grew without end in "
        "each of {} draws) use fewer steps, or another \"seed\"",
        steps, attempts));
}

std::unique_ptr<Task> make_narma10(const Narma10Settings& settings) {
    const DrivenSeries series = draw_narma10(settings.seed, settings.total());
    std::vector<SeriesPart> parts;
    auto input = series.inputs.begin();
    auto target = series.values.begin() + 1;
    for (const std::int64_t steps : settings.parts()) {
        SeriesPart& part = parts.emplace_back();
        if (steps == 0) continue;
        part.samples.inputs = Tensor(ValueType::real, Shape{1, steps, 1}, {input, input + steps});
        part.samples.targets = Tensor(ValueType::real, Shape{1, steps - settings.washout, 1},
                                      {target + settings.washout, target + steps});
        input += steps;
        target += steps;
    }
    return make_series_task("narma10", std::move(parts));
}

}  // namespace

std::vector<double> narma10(std::span<const double> inputs) {
    std::vector<double> values(std::min(inputs.size() + 1, narma_order), 0.0);
    for (std::size_t t = narma_order - 1; t < inputs.size(); ++t) {
        double sum = 0.0;
        for (std::size_t i = 0; i < narma_order; ++i) sum += values[t - i];
        values.push_back(0.3 * values[t] + 0.05 * values[t] * sum +
                         1.5 * inputs[t + 1 - narma_order] * inputs[t] + 0.1);
    }
    return values;
}

/// `{"type": "narma10", "train_steps": 1000}`
TaskKind narma10_task() {
    return sample_task<Narma10Settings>(
        "narma10",
        "The nonlinear moving average of order 10 that random inputs drive, one step ahead. "
        "Fitness = -NRMSE after the washout, so that -1 is answering with the mean.",
        make_narma10);
}

}  // namespace cambrian::evolve
