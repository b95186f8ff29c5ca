#include "cambrian/launch/show/result_text.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace cambrian::launch {
namespace {

using evolve::Phase;
constexpr std::array phases{Phase::train, Phase::validation, Phase::test};

/// One row of the table of losses: a value for each phase that has one.
using Row = std::array<std::optional<double>, phases.size()>;

std::vector<std::pair<std::string, Row>> baseline_rows(const evolve::Task& task) {
    std::vector<std::pair<std::string, Row>> rows;
    const evolve::TaskSignature signature = task.signature();
    const std::array<bool, phases.size()> present{true, signature.validates, signature.tests};
    for (std::size_t i = 0; i < phases.size(); ++i) {
        if (!present[i]) continue;
        for (const auto& [name, loss] : task.baselines(phases[i])) {
            auto row = rows.begin();
            while (row != rows.end() && row->first != name) ++row;
            if (row == rows.end()) row = rows.insert(rows.end(), {name, Row{}});
            row->second[i] = loss;
        }
    }
    return rows;
}

std::string table_line(const std::string& name, const std::array<std::string, 3>& cells) {
    return fmt::format("  {:<16} {:>14} {:>14} {:>14}\n", name, cells[0], cells[1], cells[2]);
}

std::string loss_table(const evolve::Task& task, const distributed::RunResult& result) {
    std::vector<std::pair<std::string, Row>> rows = baseline_rows(task);
    const std::optional<evolve::LossUnits> units = task.loss_units();
    if (rows.empty() && !units) return "";
    Row network;
    if (result.best_fitness) network[0] = -*result.best_fitness;
    if (result.best_validated) network[1] = -*result.best_validated;
    if (result.best_tested) network[2] = -*result.best_tested;
    rows.insert(rows.begin(), {"network", network});
    if (units && units->factor) {
        for (std::optional<double>& loss : network)
            if (loss) loss = *loss / *units->factor;
        rows.emplace_back("network, scaled", network);
    }
    std::string text = table_line("loss", {"train", "validation", "test"});
    for (const auto& [name, row] : rows) {
        std::array<std::string, 3> cells;
        for (std::size_t i = 0; i < row.size(); ++i)
            cells[i] = row[i] ? fmt::format("{:.6g}", *row[i]) : "-";
        text += table_line(name, cells);
    }
    if (units)
        text += fmt::format("  ({}{})\n", units->name,
                            units->factor ? "; scaled: of the network's outputs" : "");
    if (task.signature().stochastic)
        text += "  (train: the network on the rows of one generation, the others on all)\n";
    return text;
}

std::string reason_text(const distributed::RunResult& result) {
    static const std::map<distributed::StopReason, std::string> texts{
        {distributed::StopReason::generations, "all generations are done"},
        {distributed::StopReason::fitness, "the fitness is reached"},
        {distributed::StopReason::evaluations, "all evaluations are spent"},
        {distributed::StopReason::seconds, "the time is up"},
        {distributed::StopReason::interrupted, "interrupted, with a checkpoint"}};
    return texts.at(result.reason);
}

}  // namespace

std::string unsolved_text(const distributed::Experiment& experiment,
                          const distributed::RunResult& result) {
    const bool validates = experiment.task->signature().validates;
    const std::optional<double> reached = validates ? result.best_validated : result.best_fitness;
    return fmt::format("not solved: {} {} was asked for, {} was reached",
                       validates ? "validated fitness" : "fitness", experiment.stop.fitness,
                       reached ? fmt::format("{:.9g}", *reached) : std::string("none"));
}

std::string result_text(const distributed::Experiment& experiment,
                        const distributed::RunResult& result) {
    const std::string directory = experiment.directory.string();
    if (result.last.evaluations == 0)
        return fmt::format("{} before the first generation\n  go on:  cambrian resume {}\n",
                           reason_text(result), directory);
    std::string text =
        fmt::format("{} after {} generations and {} evaluations\n", reason_text(result),
                    result.last.generation + 1, result.last.evaluations);
    if (!result.best_fitness) {
        text +=
            "  no individual had a valid fitness (their outputs are not finite): look at the "
            "data, the loss and mutation.weight_power\n";
        if (!result.solved.value_or(true)) text += unsolved_text(experiment, result) + '\n';
        return text;
    }
    text += fmt::format("  best fitness {:.6g}", *result.best_fitness);
    if (result.best_validated) text += fmt::format(", validated {:.6g}", *result.best_validated);
    if (result.best_tested) text += fmt::format(", tested {:.6g}", *result.best_tested);
    text += '\n';
    text += loss_table(*experiment.task, result);
    text += fmt::format("  {}/best.cmb, generations.csv, timings.csv, config.json\n", directory);
    if (result.reason == distributed::StopReason::interrupted) {
        text += fmt::format("  go on:  cambrian resume {}\n", directory);
        return text;
    }
    text += fmt::format("  look:   cambrian inspect {}/best.cmb\n", directory);
    text += fmt::format("  test:   cambrian evaluate {}/best.cmb\n", directory);
    if (!result.solved.value_or(true)) text += unsolved_text(experiment, result) + '\n';
    return text;
}

}  // namespace cambrian::launch
