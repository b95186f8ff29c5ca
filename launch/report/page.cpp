#include "cambrian/launch/report/page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/data/run_set.hpp"
#include "cambrian/launch/report/front.hpp"
#include "cambrian/launch/report/heat_map.hpp"
#include "cambrian/launch/report/lineage_drawing.hpp"
#include "cambrian/launch/report/network_drawing.hpp"
#include "cambrian/launch/report/run_charts.hpp"
#include "cambrian/launch/report/scripts.hpp"
#include "cambrian/launch/report/trials_chart.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

constexpr std::size_t max_ranks = 64;  ///< In the table.

// The policy has a browser refuse whatever the page might load, should text of a run get that far.
constexpr const char* head = R"(<!DOCTYPE html>
<html lang='en'><head><meta charset='utf-8'><meta name='viewport' content='width=device-width'>
<meta http-equiv='Content-Security-Policy' content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'">
<title>{}</title><style>
body{{font:15px/1.5 system-ui,sans-serif;max-width:800px;margin:2em auto;padding:0 1em;color:#222;background:#fff}}
h2{{margin:2em 0 .4em;padding-top:.6em;border-top:1px solid #ddd}}p,figcaption,td,summary{{overflow-wrap:anywhere}}
figure{{margin:1.4em 0}}figcaption{{font-weight:600}}svg{{display:block;width:100%;height:auto;font:11px system-ui,sans-serif}}
svg text{{fill:#333}}.grid{{stroke:#e4e4e4;fill:none}}.axis{{stroke:#666;fill:none}}.box{{fill:#f5f7fa;stroke:#666}}
.legend{{display:flex;flex-wrap:wrap;gap:.1em 1.2em;font-size:12px;margin:.2em 0 .4em}}
.legend i{{display:inline-block;width:10px;height:10px;margin-right:5px}}.wide{{overflow-x:auto}}
.node{{stroke:#333}}table{{border-collapse:collapse}}td,th{{padding:.15em .8em .15em 0;text-align:right;vertical-align:top}}
td:first-child,th:first-child{{text-align:left}}pre{{background:#f5f5f5;padding:1em;overflow:auto;font-size:12px}}
#replay-controls{{display:flex;gap:1em;align-items:center;max-width:680px;margin-top:.5em}}#replay-controls[hidden]{{display:none}}
#replay-bar{{flex:1}}#replay-button{{width:5em}}#replay-label{{min-width:10em;text-align:right;font-variant-numeric:tabular-nums}}
</style></head><body>
)";

std::string number(const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string("–");
}

std::string runs_table(std::span<const RunData> runs) {
    std::string text =
        "<div class='wide'><table><tr><th>run</th><th>state</th><th>generations</th>"
        "<th>evaluations</th><th>best</th><th>validated</th><th>tested</th><th>solved</th></tr>\n";
    for (const RunData& run : runs) {
        distributed::RunStatus status = run.status.value_or(distributed::RunStatus{});
        // That of a run that was killed may be older than its other files.
        if (run.state != "done" && run.best && run.best->generation >= status.generation) {
            status.best = run.best->fitness;
            status.validated = run.best->validated;
        }
        const LoggedColumn* evaluations = column(run, "evaluations");
        text += fmt::format(
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
            "<td>{}</td></tr>\n",
            escaped(run.directory.string()), escaped(run.state), run.generations,
            evaluations != nullptr && !evaluations->value.empty()
                ? fmt::format("{:.0f}", evaluations->value.back())
                : "–",
            number(status.best), number(status.validated), number(status.tested),
            status.solved ? (*status.solved ? "yes" : "no") : "–");
    }
    return text + "</table></div>\n";
}

/// A section, where there is something in it.
std::string section(const std::string& title, const std::string& content) {
    return content.empty() ? content : fmt::format("<h2>{}</h2>\n{}", title, content);
}

std::string ranks_table(const RunData& run) {
    if (run.seconds_by_rank.empty()) return "";
    std::string text =
        "<table><tr><th>rank</th><th>evaluate</th><th>vary</th><th>wait</th>"
        "<th>communicate</th></tr>\n";
    std::size_t shown = 0;
    for (const auto& [rank, seconds] : run.seconds_by_rank) {
        if (++shown > max_ranks) break;
        text += fmt::format("<tr><td>{}</td>", rank);
        for (const char* what : {"evaluate", "vary", "wait", "communicate"})
            text += fmt::format("<td>{:.3f}</td>", seconds.contains(what) ? seconds.at(what) : 0.0);
        text += "</tr>\n";
    }
    text += "</table>\n";
    if (shown > max_ranks)
        text += fmt::format("<p>{} more ranks are in timings.csv.</p>\n",
                            run.seconds_by_rank.size() - max_ranks);
    return text;
}

/// Of what is carried on the file tells the generation that chose it, the log when it was born.
std::string origin_text(const distributed::NetworkFile& file, const Ancestry& ancestry) {
    const Kin* born = ancestry.find(ancestry.origin_of(file.birth));
    const std::string chosen = fmt::format("chosen in generation {}", file.generation);
    if (born == nullptr) return chosen;
    return fmt::format("born in generation {}{}", born->generation,
                       born->generation == file.generation ? "" : ", " + chosen);
}

std::string best_network_html(const RunData& run, const Ancestry& ancestry) {
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
    return fmt::format("<p>{}; fitness {:.6g}, {}.</p>\n{}<pre>{}</pre>\n",
                       escaped(structure_line(network)), file.fitness, origin_text(file, ancestry),
                       network_html(network, file.genome.weights, inputs, outputs),
                       escaped(structure_table(network)));
}

/// The last generation in the log: those that it knows, by their weights.
std::vector<Candidate> last_generation(const Ancestry& ancestry) {
    std::vector<Candidate> last;
    std::uint32_t generation = 0;
    for (const Kin& kin : ancestry.all()) generation = std::max(generation, kin.generation);
    for (const Kin& kin : ancestry.all()) {
        if (kin.generation != generation || kin.status != evolve::Status::ok) continue;
        // Of those carried over the weights stand where they were born.
        const Kin* origin = ancestry.find(kin.origin);
        if (origin != nullptr && origin->parameters > 0)
            last.push_back({static_cast<double>(origin->parameters), kin.fitness});
    }
    return last;
}

/// There are no archives of quality and diversity: fronts are of the last generation.
std::string fronts_html(const Findings& findings) {
    std::string text = front_html("Fitness and weights of the last generation in individuals.cmb",
                                  "weights", last_generation(findings.ancestry));
    const auto of_kept = [&](const char* title, const char* cost, double PricedNetwork::*member) {
        std::vector<Candidate> all;
        bool told = true;  // by the weights already
        for (const PricedNetwork& network : findings.kept) {
            all.push_back({network.*member, network.fitness});
            told = told && network.*member == 4.0 * network.parameters;
        }
        if (!told) text += front_html(title, cost, std::move(all));
    };
    of_kept("Fitness and stored bytes of the networks in the checkpoint", "bytes",
            &PricedNetwork::bytes);
    of_kept("Fitness and multiplications of the networks in the checkpoint",
            "multiplications of one evaluation", &PricedNetwork::products);
    return text;
}

std::string single_run(const RunData& run, const Findings& findings) {
    std::string text =
        fitness_html(run) + losses_html(run, findings) + species_html(run) + counts_html(run);
    text += section("The best network", best_network_html(run, findings.ancestry));
    if (findings.replay) text += section("Its best episode", replay_html(*findings.replay));
    if (run.best)
        text += section("Where it comes from", lineage_html(findings.ancestry, run.best->birth));
    text += section("Fitness and its price", fronts_html(findings));
    return text +
           section("Seconds of each rank", heat_map_html("Seconds of evaluation in each generation",
                                                         "rank", run.evaluation_by_rank) +
                                               ranks_table(run));
}

std::string reproduction(const RunData& run) {
    return fmt::format(
        "<p>With the config below, its seed and this arithmetic the same generations.csv and "
        "best.cmb come out, byte for byte, on any number of ranks: {}.</p>"
        "<pre>cambrian evolve config.json --set run.directory=again</pre><details><summary>"
        "config.json</summary><pre>{}</pre></details>\n",
        escaped(run.arithmetic), escaped(run.config));
}

std::string notes_html(const Findings& findings) {
    std::string text;
    for (const std::string& note : findings.notes)
        text += fmt::format("<li>{}</li>\n", escaped(note));
    return text.empty() ? text : "<ul>" + text + "</ul>\n";
}

}  // namespace

std::string report_page(std::span<const RunData> runs, const Findings& findings,
                        std::uint64_t version) {
    const RunData& best = best_run(runs);
    std::string page = fmt::format(fmt::runtime(head), escaped(best.name));
    page += fmt::format("<h1>{}</h1>\n", escaped(best.name)) + runs_table(runs);
    if (runs.size() > 1) {
        page += trials_html(runs);
        page += fmt::format("<h2>The run with the best network: {}</h2>\n",
                            escaped(best.directory.string()));
    }
    page += single_run(best, findings) + section("How to reproduce it", reproduction(best)) +
            section("What is not here", notes_html(findings));
    if (version != 0) page += watch_script(version);
    return page + "</body></html>\n";
}

}  // namespace cambrian::launch
