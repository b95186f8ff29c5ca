#include <fmt/format.h>

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::int64_t mackey_glass_delay = 17;
constexpr double mackey_glass_start = 1.2;

enum class MackeyGlassHistory : std::uint8_t { zero, constant, random };
constexpr std::array<std::string_view, 3> mackey_glass_history_names{"zero", "constant", "random"};
constexpr std::span<const std::string_view> choice_names(MackeyGlassHistory) {
    return mackey_glass_history_names;
}

struct MackeyGlassSettings : SeriesSettings {
    MackeyGlassSettings() : SeriesSettings{.train_steps = 500, .test_steps = 500} {}
    MackeyGlassMethod method = MackeyGlassMethod::rk4;
    std::int64_t steps_per_unit = 10;
    MackeyGlassHistory history = MackeyGlassHistory::zero;
    std::uint64_t seed = 1;
    std::int64_t discard = 118;
    std::vector<std::int64_t> lags{18, 12, 6, 0};
    std::int64_t horizon = 6;
    bool squash = false;

    static constexpr auto fields = series_fields<MackeyGlassSettings>(
        Field{"method", &MackeyGlassSettings::method,
              "How dx/dt = 0.2 x(t-17) / (1 + x(t-17)^10) - 0.1 x(t) is integrated. rk4: the "
              "delayed value is interpolated at half steps; rk4_held: it stands still within a "
              "step."},
        Field{"steps_per_unit", &MackeyGlassSettings::steps_per_unit, FieldRange{1.0, 1000.0},
              "Steps of the integration; a sample is one unit of time."},
        Field{"history", &MackeyGlassSettings::history,
              "x before x(0) = 1.2. zero: 0; constant: 1.2; random: 1.1 to 1.3."},
        Field{"seed", &MackeyGlassSettings::seed, "Of a random history."},
        Field{"discard", &MackeyGlassSettings::discard, steps_or_none,
              "Samples before the first one that a network sees."},
        Field{"lags", &MackeyGlassSettings::lags, FieldRange{0.0, 1e5},
              "Inputs: x(t - lag) of each."},
        Field{"horizon", &MackeyGlassSettings::horizon, FieldRange{1.0, 1e5},
              "What is predicted: x(t + horizon)."},
        Field{"squash", &MackeyGlassSettings::squash, "tanh(x - 1) in place of x."});
};

double mackey_glass_slope(double x, double delayed) {
    const double squared = delayed * delayed;
    const double fourth = squared * squared;
    return 0.2 * delayed / (1.0 + fourth * fourth * squared) - 0.1 * x;
}

/// x after a step, from the delayed values at its start, middle and end.
double mackey_glass_step(double x, double step, const std::array<double, 3>& delayed) {
    const double first = mackey_glass_slope(x, delayed[0]);
    const double second = mackey_glass_slope(x + step / 2.0 * first, delayed[1]);
    const double third = mackey_glass_slope(x + step / 2.0 * second, delayed[1]);
    const double fourth = mackey_glass_slope(x + step * third, delayed[2]);
    return x + step / 6.0 * (first + 2.0 * (second + third) + fourth);
}

std::vector<double> mackey_glass_past(const MackeyGlassSettings& settings) {
    std::vector<double> past(static_cast<std::size_t>(mackey_glass_delay * settings.steps_per_unit),
                             0.0);
    if (settings.history == MackeyGlassHistory::constant)
        std::ranges::fill(past, mackey_glass_start);
    if (settings.history == MackeyGlassHistory::random) {
        RandomStream rng(random_key(settings.seed, "mackey_glass/history"), 0);
        for (double& value : past)
            value = mackey_glass_start + 0.2 * (static_cast<double>(rng.uniform()) - 0.5);
    }
    return past;
}

std::vector<double> mackey_glass_samples(const MackeyGlassSettings& settings,
                                         std::int64_t samples) {
    std::vector<double> series = mackey_glass(settings.method, settings.steps_per_unit,
                                              mackey_glass_past(settings), samples);
    if (settings.squash)
        for (double& x : series)
            x = static_cast<double>(elementary::tanh(static_cast<float>(x - 1.0)));
    return series;
}

void check_lags(const MackeyGlassSettings& settings) {
    if (settings.lags.empty())
        throw ConfigError(
            "task.lags is empty (a network without inputs sees nothing) use [0], or [18, 12, 6, "
            "0]");
    const std::int64_t longest = std::ranges::max(settings.lags);
    if (longest > settings.discard)
        throw ConfigError(
            fmt::format("task.lags holds {} (the series begins {} samples before the first one "
                        "that a network sees, as \"discard\" says) use shorter lags, or a larger "
                        "\"discard\"",
                        longest, settings.discard));
}

/// Refuses what would take gigabytes.
void check_steps(const MackeyGlassSettings& settings, std::int64_t samples) {
    constexpr std::int64_t largest = 20'000'000;
    const std::int64_t steps =
        (settings.discard + samples + settings.horizon) * settings.steps_per_unit;
    if (steps > largest)
        throw ConfigError(fmt::format(
            "task.steps_per_unit is {}, which makes {} steps of the whole series (at most {} fit) "
            "use fewer, or a shorter series",
            settings.steps_per_unit, steps, largest));
}

SeriesPart mackey_glass_part(const MackeyGlassSettings& settings, std::span<const double> series,
                             std::int64_t start, std::int64_t steps) {
    const auto at = [&](std::int64_t time) { return series[static_cast<std::size_t>(time)]; };
    SeriesPart part;
    const auto channels = static_cast<std::int64_t>(settings.lags.size());
    part.samples.inputs.shape = Shape{1, steps, channels};
    part.samples.targets.shape = Shape{1, steps - settings.washout, 1};
    for (std::int64_t time = start; time < start + steps; ++time) {
        for (const std::int64_t lag : settings.lags)
            part.samples.inputs.elements.push_back(at(time - lag));
        if (time < start + settings.washout) continue;
        part.samples.targets.elements.push_back(at(time + settings.horizon));
        part.current.push_back(at(time));
    }
    return part;
}

std::unique_ptr<Task> make_mackey_glass(const MackeyGlassSettings& settings) {
    check_lags(settings);
    check_steps(settings, settings.total());
    const std::vector<double> series =
        mackey_glass_samples(settings, settings.discard + settings.total() + settings.horizon);
    std::vector<SeriesPart> parts;
    std::int64_t start = settings.discard;
    for (const std::int64_t steps : settings.parts()) {
        parts.push_back(steps == 0 ? SeriesPart{}
                                   : mackey_glass_part(settings, series, start, steps));
        start += steps;
    }
    return make_series_task("mackey_glass", std::move(parts));
}

}  // namespace

std::vector<double> mackey_glass(MackeyGlassMethod method, std::int64_t steps_per_unit,
                                 std::span<const double> history, std::int64_t samples) {
    const auto delay = static_cast<std::size_t>(mackey_glass_delay * steps_per_unit);
    CAMBRIAN_EXPECT(history.size() == delay && samples > 0);
    const double step = 1.0 / static_cast<double>(steps_per_unit);
    // Element i is x after i - delay steps, so that the delayed value of the last one is i - delay.
    std::vector<double> values(history.begin(), history.end());
    values.push_back(mackey_glass_start);
    std::vector<double> result{mackey_glass_start};
    while (static_cast<std::int64_t>(result.size()) < samples) {
        for (std::int64_t i = 0; i < steps_per_unit; ++i) {
            const std::size_t last = values.size() - 1;
            const double start = values[last - delay];
            const double end = method == MackeyGlassMethod::rk4 ? values[last - delay + 1] : start;
            const double x = values[last];
            values.push_back(method == MackeyGlassMethod::euler
                                 ? x + step * mackey_glass_slope(x, start)
                                 : mackey_glass_step(x, step, {start, (start + end) / 2.0, end}));
        }
        result.push_back(values.back());
    }
    return result;
}

/// `{"type": "mackey_glass", "horizon": 84, "lags": [0]}`
TaskKind mackey_glass_task() {
    return sample_task<MackeyGlassSettings>(
        "mackey_glass",
        "The chaotic series of Mackey and Glass, some time ahead; by default with the inputs and "
        "parts of Jang 1993. Fitness = -NRMSE after the washout, so that -1 is answering with the "
        "mean.",
        make_mackey_glass);
}

}  // namespace cambrian::evolve
