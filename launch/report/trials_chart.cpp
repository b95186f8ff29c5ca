#include "cambrian/launch/report/trials_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <vector>

#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/launch/report/chart.hpp"

namespace cambrian::launch {
namespace {

/// All generations that samples tell of; of many about as many as a picture tells apart, with the
/// first and the last.
std::vector<double> some_generations(std::span<const RunData* const> runs) {
    constexpr std::size_t max_generations = 4096;
    std::vector<double> all;
    const auto settle = [&] {
        std::ranges::sort(all);
        const auto twice = std::ranges::unique(all);
        all.erase(twice.begin(), twice.end());
    };
    for (const RunData* run : runs) {
        const std::vector<double>& own = run->sampled_best.generation;
        all.insert(all.end(), own.begin(), own.end());
        settle();
    }
    if (all.size() <= max_generations) return all;
    std::vector<double> some;
    const std::size_t stride = (all.size() + max_generations - 1) / max_generations;
    for (std::size_t i = 0; i < all.size(); i += stride) some.push_back(all[i]);
    if (some.back() != all.back()) some.push_back(all.back());
    return some;
}

}  // namespace

std::string trials_html(std::span<const RunData> runs) {
    std::vector<const RunData*> told;
    for (const RunData& run : runs)
        if (!run.sampled_best.value.empty()) told.push_back(&run);
    const std::size_t count = told.size();
    std::size_t not_done = 0;
    std::map<double, std::vector<double>> best;
    for (const double generation : some_generations(told)) best[generation].reserve(count);
    for (const RunData* run : told) {
        const LoggedColumn& found = run->sampled_best;
        // One that is done stays where it came to; before its first best it has reached nothing.
        const bool done = run->state == "done";
        not_done += done ? 0U : 1U;
        const auto end = done ? best.end() : best.upper_bound(found.generation.back());
        std::size_t i = 0;
        for (auto at = best.lower_bound(found.generation.front()); at != end; ++at) {
            while (i + 1 < found.generation.size() && found.generation[i + 1] <= at->first) ++i;
            at->second.push_back(found.value[i]);
        }
    }
    Band all{"from the lowest to the highest", palette(6), {}, {}, {}};
    Band half{"the middle half", palette(5), {}, {}, {}};
    Line median{"median of the best", palette(0), {}, {}};
    for (auto& [generation, values] : best) {
        std::ranges::sort(values);
        for (Band* band : {&all, &half}) band->x.push_back(generation);
        all.low.push_back(values.front());
        all.high.push_back(values.back());
        half.low.push_back(evolve::quantile_of(values, 0.25));
        half.high.push_back(evolve::quantile_of(values, 0.75));
        median.x.push_back(generation);
        median.y.push_back(evolve::quantile_of(values, 0.5));
    }
    std::string text =
        svg({fmt::format("Best fitness of {} {}", count, count == 1 ? "run" : "runs"),
             "generation",
             {all, half},
             {median}});
    if (not_done > 0)
        text += fmt::format(
            "<p>Runs that are not done: {}. Each counts up to its last generation.</p>\n",
            not_done);
    return text;
}

}  // namespace cambrian::launch
