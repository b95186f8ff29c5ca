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

bool has_number(const std::vector<double>& values) {
    return std::ranges::any_of(values, [](double value) { return std::isfinite(value); });
}

void add(Chart& chart, const RunData& run, const std::string& name, std::size_t colour,
         bool points = false) {
    const LoggedColumn* found = column(run, name);
    if (found != nullptr && has_number(found->value))
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
/// @param means of generations, which tell what is usual.
std::string cut_off(Chart& chart, const std::vector<double>& means) {
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
    if (const auto sorted = sorted_finite(means);
        !sorted.empty() && top - evolve::quantile_of(sorted, 0.25) < 100.0 * span)
        base = std::min(base, evolve::quantile_of(sorted, 0.25));
    const double lowest = base - 4.0 * std::max(span, top - base);
    bool cut = false;
    for (Line& line : chart.lines)
        if (may_go(line))
            for (double& y : line.y)
                if (y < lowest) {
                    y = std::numeric_limits<double>::quiet_NaN();
                    cut = true;
                }
    std::erase_if(chart.lines, [](const Line& line) { return !has_number(line.y); });
    return cut ? fmt::format("<p>Numbers below {} are not drawn.</p>\n",
                             number_text(lowest, (top - lowest) / 10.0))
               : std::string();
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
    std::erase_if(lines, [](const Line& line) { return !has_number(line.y); });
    return others;
}

std::string losses_chart(const RunData& run, const Findings& findings) {
    Chart chart{"Loss of the best network beside simple predictors", "generation"};
    add(chart, run, "best", 0);
    // A price is no part of a loss.
    const bool priced = !run.prices.empty() && run.unpriced.value.empty();
    if (!chart.lines.empty() && !run.unpriced.value.empty()) {
        chart.lines.front().x = run.unpriced.generation;
        chart.lines.front().y = run.unpriced.value;
    }
    add(chart, run, "validated", 1, true);
    if (run.status) add_last(chart, run, "tested", run.status->tested, 3);
    const Generations of_task = of_its_task(run);
    const bool others = keep(chart.lines, of_task);
    if (chart.lines.empty() || chart.lines.front().name != "best") return "";
    const Line& best = chart.lines.front();
    const std::vector<double> ends{best.x.front(), best.x.back()};
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
    const std::string cut = cut_off(chart, run.sampled_mean.value);
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
    const bool others = ids.size() > max_species;
    if (others) ids.resize(max_species);
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
    // Of long runs some are not known: nobody can say how many.
    parts.back().name = "smaller ones";
    if (!others) parts.pop_back();
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

}  // namespace cambrian::launch
