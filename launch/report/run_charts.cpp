#include "cambrian/launch/report/run_charts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/launch/report/chart.hpp"

namespace cambrian::launch {
namespace {

void add(Chart& chart, const RunData& run, const std::string& name, std::size_t colour,
         bool points = false) {
    const LoggedColumn* found = column(run, name);
    if (found != nullptr && !found->value.empty())
        chart.lines.push_back({name, palette(colour), found->generation, found->value, points});
}

/// A number of the end of the run.
void add_last(Chart& chart, const RunData& run, const std::string& name,
              const std::optional<double>& value, std::size_t colour) {
    const LoggedColumn* best = column(run, "best");
    if (value && best != nullptr && !best->generation.empty())
        chart.lines.push_back({name, palette(colour), {best->generation.back()}, {*value}, true});
}

/// Whether a number of a baseline is one of its losses: that of a majority is a share of rows.
bool is_loss(const evolve::Task::Baseline& baseline) {
    return !baseline.name.ends_with("(accuracy)");
}

std::vector<double> sorted_finite(const std::vector<double>& values) {
    std::vector<double> sorted;
    for (const double value : values)
        if (std::isfinite(value)) sorted.push_back(value);
    std::ranges::sort(sorted);
    return sorted;
}

/// Cuts off where mean and worst lie so far below the best that nothing else could be told apart,
/// as in a generation in which one network answers with huge numbers; says so as HTML. All of the
/// other lines is drawn.
/// @param chart of fitness.
std::string cut_off(Chart& chart) {
    const auto may_go = [](const Line& line) {
        return line.name == "mean" || line.name == "worst";
    };
    double top = -std::numeric_limits<double>::infinity();
    double base = std::numeric_limits<double>::infinity();
    for (const Line& line : chart.lines)
        if (const auto sorted = sorted_finite(line.y); !may_go(line) && !sorted.empty()) {
            top = std::max(top, sorted.back());
            base = std::min(base, sorted.front());
        }
    // A best that hardly moves says nothing of how far the mean may be: its size does.
    const double span = std::max({top - base, std::abs(top), std::abs(base)});
    if (!std::isfinite(span) || span == 0.0) return "";
    for (const Line& line : chart.lines)
        if (line.name == "mean")
            if (const auto sorted = sorted_finite(line.y);
                !sorted.empty() && top - evolve::quantile_of(sorted, 0.25) < 100.0 * span)
                base = std::min(base, evolve::quantile_of(sorted, 0.25));
    const double lowest = base - 4.0 * std::max(span, top - base);
    std::size_t cut = 0;
    for (Line& line : chart.lines)
        if (may_go(line))
            for (double& y : line.y)
                if (y < lowest) {
                    y = std::numeric_limits<double>::quiet_NaN();
                    ++cut;
                }
    std::erase_if(chart.lines, [](const Line& line) { return sorted_finite(line.y).empty(); });
    return cut == 0 ? std::string()
                    : fmt::format("<p>{} numbers below {} are not drawn.</p>\n", cut,
                                  number_text(lowest, (top - lowest) / 10.0));
}

/// Gives the best fitness of each generation what its network has lost for its size: a price is no
/// part of a loss. False where the log does not tell what it was.
bool add_prices(const RunData& run, Line& best) {
    for (const auto& [name, price] : run.prices) {
        std::map<double, double> amounts;
        if (const LoggedColumn* found = column(run, name))
            for (std::size_t i = 0; i < found->value.size(); ++i)
                amounts[found->generation[i]] = found->value[i];
        for (std::size_t i = 0; i < best.x.size(); ++i) {
            const auto amount = amounts.find(best.x[i]);
            if (amount == amounts.end()) return false;
            best.y[i] += price * amount->second;
        }
    }
    return true;
}

/// From the first to the last one.
struct Generations {
    double first = -std::numeric_limits<double>::infinity();
    double last = std::numeric_limits<double>::infinity();
    [[nodiscard]] bool contains(double one) const { return one >= first && one <= last; }
};

/// Those that were judged by the task that the best network is of: all, unless it changes.
Generations of_its_task(const RunData& run) {
    const LoggedColumn* task = column(run, "task");
    if (task == nullptr || task->value.empty()) return {};
    std::size_t first = task->value.size() - 1;
    while (first > 0 && run.best &&
           task->generation[first] > static_cast<double>(run.best->generation))
        --first;
    std::size_t last = first;
    while (first > 0 && task->value[first - 1] == task->value[last]) --first;
    while (last + 1 < task->value.size() && task->value[last + 1] == task->value[first]) ++last;
    return {task->generation[first], task->generation[last]};
}

/// Leaves other generations out; → whether there were any.
bool keep(std::vector<Line>& lines, const Generations& kept) {
    bool others = false;
    for (Line& line : lines) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < line.x.size(); ++i) {
            if (!kept.contains(line.x[i])) continue;
            line.x[count] = line.x[i];
            line.y[count++] = line.y[i];
        }
        others |= count < line.x.size();
        line.x.resize(count);
        line.y.resize(count);
    }
    std::erase_if(lines, [](const Line& line) { return line.x.empty(); });
    return others;
}

std::string losses_chart(const RunData& run, const Findings& findings) {
    Chart chart{"Loss of the best network beside simple predictors", "generation"};
    add(chart, run, "best", 0);
    add(chart, run, "validated", 1, true);
    if (run.status) add_last(chart, run, "tested", run.status->tested, 3);
    const Generations of_task = of_its_task(run);
    const bool others = keep(chart.lines, of_task);
    if (chart.lines.empty() || chart.lines.front().name != "best") return "";
    Line best = chart.lines.front();
    const std::vector<double> ends{best.x.front(), best.x.back()};
    const bool priced = !add_prices(run, best);
    if (!priced) chart.lines.front() = std::move(best);
    // Where the champion is judged: in the test, else in validation, else in training.
    const PhaseLosses& judged = findings.losses.back();
    std::size_t colour = 2;
    for (const evolve::Task::Baseline& baseline : judged.baselines)
        if (is_loss(baseline) && std::isfinite(baseline.loss)) {
            colour += colour == 3 ? 1 : 0;
            chart.lines.push_back({fmt::format("{} ({})", baseline.name, name(judged.phase)),
                                   palette(colour++),
                                   ends,
                                   {-baseline.loss, -baseline.loss},
                                   false,
                                   true});
        }
    for (Line& line : chart.lines)
        for (double& y : line.y) y = -y;
    std::string text = svg(chart);
    if (others)
        text += fmt::format(
            "<p>Only generations {} to {} are drawn: others had another task (task.changes).</p>\n",
            of_task.first, of_task.last);
    if (priced)
        text +=
            "<p>The line of the best has the price of its bytes and products in it, which the log "
            "does not tell.</p>\n";
    return text;
}

std::string losses_table(const Findings& findings) {
    std::string text = "<table><tr><th></th>";
    for (const PhaseLosses& losses : findings.losses)
        text += fmt::format("<th>{}</th>", name(losses.phase));
    const auto row = [&](const std::string& name, const auto& value_of) {
        text += fmt::format("</tr>\n<tr><td>{}</td>", escaped(name));
        for (const PhaseLosses& losses : findings.losses) {
            const double value = value_of(losses);
            text += std::isfinite(value) ? fmt::format("<td>{:.6g}</td>", value) : "<td>–</td>";
        }
    };
    row("the best network (loss)", [](const PhaseLosses& losses) { return losses.loss; });
    for (const evolve::Task::Baseline& baseline : findings.losses.front().baselines)
        row(baseline.name, [&](const PhaseLosses& losses) {
            const auto found =
                std::ranges::find(losses.baselines, baseline.name, &evolve::Task::Baseline::name);
            return found == losses.baselines.end() ? std::numeric_limits<double>::quiet_NaN()
                                                   : found->loss;
        });
    return text + "</tr></table>\n";
}

}  // namespace

const LoggedColumn* column(const RunData& run, const std::string& name) {
    const auto found = run.columns.find(name);
    return found == run.columns.end() ? nullptr : &found->second;
}

std::string fitness_html(const RunData& run) {
    Chart chart{"Fitness", "generation"};
    add(chart, run, "best", 0);
    add(chart, run, "mean", 4);
    add(chart, run, "worst", 6);
    add(chart, run, "validated", 1, true);
    if (run.status) add_last(chart, run, "tested", run.status->tested, 3);
    const std::string cut = cut_off(chart);
    return svg(chart) + cut;
}

std::string losses_html(const RunData& run, const Findings& findings) {
    if (findings.losses.empty()) return "";
    return losses_chart(run, findings) + losses_table(findings);
}

std::string species_html(const RunData& run) {
    constexpr std::size_t max_species = 16;
    using Id = std::pair<std::int64_t, std::int64_t>;
    if (run.species.empty()) return "";
    std::map<Id, double> total;
    bool islands = false;
    for (const auto& [generation, sizes] : run.species)
        for (const auto& [id, size] : sizes) {
            total[id] += size;
            islands |= id.first > 0;
        }
    std::vector<Id> ids;
    for (const auto& [id, sum] : total) ids.push_back(id);
    std::ranges::stable_sort(ids, [&](auto a, auto b) { return total[a] > total[b]; });
    const std::size_t others = ids.size() - std::min(ids.size(), max_species);
    ids.resize(ids.size() - others);
    std::ranges::sort(ids);
    std::vector<double> x;
    std::vector<Line> parts(ids.size() + 1);
    for (const auto& [generation, sizes] : run.species) {
        x.push_back(static_cast<double>(generation));
        double rest = 0.0;
        for (const auto& [id, size] : sizes) rest += size;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto found = sizes.find(ids[i]);
            const double size = found == sizes.end() ? 0.0 : found->second;
            parts[i].y.push_back(size);
            rest -= size;
        }
        parts.back().y.push_back(rest);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
        parts[i].colour = palette(i);
        parts[i].name = islands ? fmt::format("{} of island {}", ids[i].second, ids[i].first)
                                : fmt::format("species {}", ids[i].second);
    }
    parts.back().colour = "#777";
    parts.back().name = fmt::format("{} smaller ones", others);
    if (others == 0) parts.pop_back();
    return svg(stacked("Individuals of each species", "generation", x, parts));
}

std::string counts_html(const RunData& run) {
    std::string text;
    const auto chart_of = [&](const char* title, std::initializer_list<const char*> names) {
        Chart chart{title, "generation"};
        for (const char* name : names) add(chart, run, name, chart.lines.size());
        text += svg(chart);
    };
    chart_of("Diversity", {"diversity"});
    chart_of("Species", {"species"});
    chart_of("Weights of the best network", {"parameters"});
    chart_of("Multiplications of one evaluation of the best network", {"products"});
    chart_of("Bytes of the best network as stored", {"bytes"});
    return text;
}

std::string trials_html(std::span<const RunData> runs) {
    std::map<double, std::vector<double>> best;
    for (const RunData& run : runs)
        if (const LoggedColumn* found = column(run, "best"))
            for (const double generation : found->generation) best[generation];
    std::size_t count = 0;
    std::size_t not_done = 0;
    for (const RunData& run : runs) {
        const LoggedColumn* found = column(run, "best");
        if (found == nullptr || found->generation.empty()) continue;
        ++count;
        // One that is done stays where it came to; before its first best it has reached nothing.
        const bool done = run.state == "done";
        not_done += done ? 0U : 1U;
        const auto end = done ? best.end() : best.upper_bound(found->generation.back());
        std::size_t i = 0;
        for (auto at = best.lower_bound(found->generation.front()); at != end; ++at) {
            while (i + 1 < found->generation.size() && found->generation[i + 1] <= at->first) ++i;
            at->second.push_back(found->value[i]);
        }
    }
    Band all{"from the least to the largest", palette(6), {}, {}, {}};
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
