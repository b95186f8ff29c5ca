#include "cambrian/launch/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/network_drawing.hpp"
#include "cambrian/launch/show/structure_text.hpp"
#include "cambrian/launch/trials/statistics.hpp"

namespace cambrian::launch {
namespace {

constexpr const char* head = R"(<!DOCTYPE html>
<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>
<title>{}</title><style>
body{{font:15px/1.5 system-ui,sans-serif;max-width:860px;margin:2em auto;padding:0 1em;color:#222;background:#fff}}
figure{{margin:1.5em 0}}figcaption{{font-weight:600}}svg{{width:100%;height:auto;font:11px system-ui,sans-serif}}
svg text{{fill:#333}}.grid{{stroke:#e4e4e4;fill:none}}.axis{{stroke:#666;fill:none}}.box{{fill:#f5f7fa;stroke:#666}}
.node{{stroke:#333}}table{{border-collapse:collapse}}td,th{{padding:.15em .8em .15em 0;text-align:right}}
td:first-child,th:first-child{{text-align:left}}pre{{background:#f5f5f5;padding:1em;overflow:auto;font-size:12px}}
</style></head><body>
)";

const LoggedColumn* column(const RunData& run, const std::string& name) {
    const auto found = run.columns.find(name);
    return found == run.columns.end() ? nullptr : &found->second;
}

void add(Chart& chart, const RunData& run, const std::string& name, std::size_t colour,
         bool points = false) {
    if (const LoggedColumn* found = column(run, name))
        chart.lines.push_back({name, palette(colour), found->generation, found->value, points});
}

Chart fitness_chart(const RunData& run) {
    Chart chart{"Fitness", "generation"};
    add(chart, run, "best", 0);
    add(chart, run, "mean", 4);
    add(chart, run, "worst", 6);
    add(chart, run, "validated", 1, true);
    return chart;
}

/// The best fitness of all runs: median, quartiles and extremes. A run that has ended keeps its
/// last one.
Chart trials_chart(std::span<const RunData> runs) {
    std::map<double, std::vector<double>> best;
    for (const RunData& run : runs)
        if (const LoggedColumn* found = column(run, "best"))
            for (const double generation : found->generation) best[generation];
    for (const RunData& run : runs) {
        const LoggedColumn* found = column(run, "best");
        if (found == nullptr || found->generation.empty()) continue;
        std::size_t i = 0;
        for (auto& [generation, values] : best) {
            while (i + 1 < found->generation.size() && found->generation[i + 1] <= generation) ++i;
            values.push_back(found->value[i]);
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
        half.low.push_back(quantile_of(values, 0.25));
        half.high.push_back(quantile_of(values, 0.75));
        median.x.push_back(generation);
        median.y.push_back(quantile_of(values, 0.5));
    }
    return {
        fmt::format("Best fitness of {} runs", runs.size()), "generation", {all, half}, {median}};
}

/// The largest species, and all others as one.
Chart species_chart(const RunData& run) {
    constexpr std::size_t max_drawn = 16;
    using Id = std::pair<std::int64_t, std::int64_t>;
    std::map<Id, double> total;
    for (const auto& [generation, sizes] : run.species)
        for (const auto& [id, size] : sizes) total[id] += size;
    std::vector<Id> ids;
    for (const auto& [id, sum] : total) ids.push_back(id);
    std::ranges::stable_sort(ids, [&](auto a, auto b) { return total[a] > total[b]; });
    if (ids.size() > max_drawn) ids.resize(max_drawn);
    std::ranges::sort(ids);
    std::vector<double> x;
    std::vector<Line> parts(ids.size() + 1);
    for (const auto& [generation, sizes] : run.species) {
        x.push_back(static_cast<double>(generation));
        double others = 0.0;
        for (const auto& [id, size] : sizes) others += size;
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto found = sizes.find(ids[i]);
            const double size = found == sizes.end() ? 0.0 : found->second;
            parts[i].y.push_back(size);
            others -= size;
        }
        parts.back().y.push_back(others);
    }
    for (std::size_t i = 0; i < ids.size(); ++i) parts[i].colour = palette(i);
    parts.back() = {"", "#bbb", {}, parts.back().y};
    return stacked("Individuals of each species", "generation", x, parts);
}

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string("–");
}

std::string runs_table(std::span<const RunData> runs) {
    std::string text =
        "<table><tr><th>run</th><th>state</th><th>generations</th><th>evaluations</th><th>best</th>"
        "<th>validated</th><th>solved</th></tr>\n";
    for (const RunData& run : runs) {
        const distributed::RunStatus status = run.status.value_or(distributed::RunStatus{});
        const LoggedColumn* evaluations = column(run, "evaluations");
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>"
            "\n",
            escaped(run.directory.string()), escaped(status.state), status.generation,
            evaluations != nullptr && !evaluations->value.empty()
                ? fmt::format("{:.0f}", evaluations->value.back())
                : "–",
            number(status.best), number(status.validated),
            status.solved ? (*status.solved ? "yes" : "no") : "–");
    }
    return text + "</table>\n";
}

std::string ranks_table(const RunData& run) {
    if (run.seconds_by_rank.empty()) return "";
    std::string text =
        "<h2>Seconds of each rank</h2><table><tr><th>rank</th><th>evaluate</th><th>vary</th>"
        "<th>wait</th><th>communicate</th></tr>\n";
    for (const auto& [rank, seconds] : run.seconds_by_rank) {
        text += fmt::format("<tr><td>{}</td>", rank);
        for (const char* what : {"evaluate", "vary", "wait", "communicate"})
            text += fmt::format("<td>{:.3f}</td>", seconds.contains(what) ? seconds.at(what) : 0.0);
        text += "</tr>\n";
    }
    return text + "</table>\n";
}

std::string network_section(const RunData& run) {
    if (!run.best) return "";
    const distributed::NetworkFile& file = *run.best;
    const Network network(file.genome.blueprint);
    std::vector<std::string> inputs;
    std::vector<std::string> outputs;
    if (file.preparation) {
        for (const evolve::PreparedInput& input : file.preparation->inputs)
            inputs.push_back(input.column);
        for (std::size_t i = 0; i < file.preparation->outputs.size(); ++i)
            outputs.push_back(file.preparation->output_name(i));
    }
    return fmt::format(
        "<h2>The best network</h2><p>{}; fitness {:.6g}, born in generation {}.</p>\n{}<pre>{}"
        "</pre>\n",
        escaped(structure_line(network)), file.fitness, file.generation,
        network_svg(network, file.genome.weights, inputs, outputs),
        escaped(structure_table(network)));
}

std::string single_run(const RunData& run) {
    std::string text = svg(fitness_chart(run));
    Chart parameters{"Weights of the best network", "generation"};
    add(parameters, run, "parameters", 0);
    text += svg(parameters);
    if (!run.species.empty()) text += svg(species_chart(run));
    Chart diversity{"Diversity", "generation"};
    add(diversity, run, "diversity", 2);
    add(diversity, run, "species", 1);
    return text + svg(diversity) + ranks_table(run);
}

std::string reproduction(const RunData& run) {
    return fmt::format(
        "<h2>How to reproduce it</h2><p>With the config below, its seed and this arithmetic the "
        "same generations.csv and best.cmb come out, byte for byte, on any number of ranks: {}.</p>"
        "<pre>cambrian evolve config.json --set run.directory=again</pre><details><summary>"
        "config.json</summary><pre>{}</pre></details>\n",
        escaped(run.arithmetic), escaped(run.config));
}

const RunData& best_run(std::span<const RunData> runs) {
    const auto fitness = [](const RunData& run) {
        return run.best ? run.best->fitness : -std::numeric_limits<double>::infinity();
    };
    return *std::ranges::max_element(runs, {}, fitness);
}

}  // namespace

std::string report_page(std::span<const RunData> runs) {
    const RunData& best = best_run(runs);
    std::string page = fmt::format(fmt::runtime(head), escaped(best.name));
    page += fmt::format("<h1>{}</h1>\n", escaped(best.name)) + runs_table(runs);
    if (runs.size() > 1) {
        page += svg(trials_chart(runs));
        page += fmt::format("<h2>The run with the best network: {}</h2>\n",
                            escaped(best.directory.string()));
    }
    return page + single_run(best) + network_section(best) + reproduction(best) +
           "</body></html>\n";
}

}  // namespace cambrian::launch
