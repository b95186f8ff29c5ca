#include "cambrian/launch/show/run_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/evolve/evaluation/program_cache.hpp"
#include "cambrian/evolve/tasks/task_tensors.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/show/shell_word.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {

std::string notes_text(const std::vector<std::string>& notes) {
    std::string text;
    for (const std::string& note : notes) text += fmt::format("  note        {}\n", note);
    return text;
}

std::string notes_text(const evolve::Task& task) {
    return notes_text(task.notes());
}

std::string notes_text(const distributed::Experiment& experiment) {
    return notes_text(experiment.notes);
}

namespace {

/// What run.stop.fitness is compared with, in words.
std::string fitness_name(const distributed::Experiment& experiment) {
    switch (experiment.stop.fitness_of) {
        case distributed::FitnessOf::mean:
            return "mean fitness";
        case distributed::FitnessOf::least:
            return "least fitness";
        case distributed::FitnessOf::best:
            break;
    }
    return experiment.task->signature().validates ? "validated fitness" : "fitness";
}

/// What it has come to in a run; nothing where it was never measured, or has no value.
std::optional<double> reached_fitness(const distributed::Experiment& experiment,
                                      const distributed::RunResult& result) {
    const bool validates = experiment.task->signature().validates;
    const distributed::FitnessOf of = experiment.stop.fitness_of;
    // The best of the run tells more than that of its last generation.
    if (of == distributed::FitnessOf::best)
        return validates ? result.best_validated : result.best_fitness;
    const double reached = distributed::compared_fitness(of, validates, result.last);
    return reached == evolve::worst_fitness ? std::nullopt : std::optional(reached);
}

/// Why none was reached where the last generation is compared as a whole; else empty.
std::string invalid_text(const distributed::Experiment& experiment, std::uint64_t invalid) {
    if (experiment.stop.fitness_of == distributed::FitnessOf::best) return "";
    return fmt::format(" ({} individual{} of the last {} had no valid fitness)", invalid,
                       invalid == 1 ? "" : "s", unit_of(experiment));
}

}  // namespace

std::string_view unit_of(const evolve::SteadyStateSettings& settings) {
    return settings.on() ? "block" : "generation";
}

std::string_view unit_of(const distributed::Experiment& experiment) {
    return unit_of(experiment.steady_state);
}

std::string summary_text(const distributed::Experiment& experiment) {
    const Network network(first_network(experiment));
    std::string text = fmt::format("  task        {}\n", experiment.task->type());
    text += notes_text(*experiment.task);
    text += fmt::format("  population  {}, seed {}\n", experiment.population.size, experiment.seed);
    text += fmt::format("  network     {}\n", structure_line(network));
    const distributed::StopSettings never;
    const distributed::StopSettings& stop = experiment.stop;
    std::string end;
    const auto add = [&](const std::string& part) { end += (end.empty() ? "" : ", or ") + part; };
    if (stop.generations != never.generations)
        add(fmt::format("{} {}s", stop.generations, unit_of(experiment)));
    if (stop.fitness != never.fitness)
        add(fmt::format("{} {:.6g}", fitness_name(experiment), stop.fitness));
    if (stop.solved) add("the test of the task is passed");
    if (stop.evaluations != never.evaluations) add(fmt::format("{} evaluations", stop.evaluations));
    if (stop.seconds != never.seconds) add(fmt::format("{:.6g} seconds", stop.seconds));
    text += fmt::format("  ends after  {}\n", end.empty() ? "an interrupt" : end);
    text += fmt::format("  directory   {}\n", experiment.directory.string());
    return text + notes_text(experiment);
}

namespace {

struct Cost {
    std::int64_t shared = 0;                ///< Bytes of data and draws.
    std::optional<std::int64_t> temporary;  ///< Bytes of temporaries of one run.
};

std::vector<Var> inputs(Graph& graph, const std::vector<Tensor>& tensors, const char* prefix) {
    std::vector<Var> result;
    for (const Tensor& tensor : tensors)
        result.push_back(
            graph.input(fmt::format("{}.{}", prefix, result.size()), tensor.type, tensor.shape));
    return result;
}

std::int64_t bytes(const std::vector<Tensor>& tensors) {
    constexpr std::int64_t word = 4;
    std::int64_t total = 0;
    for (const Tensor& tensor : tensors) total += tensor.shape.elements() * word;
    return total;
}

/// Compiles the objective of the starting structure, as an evaluation does. Temporaries are not
/// known where the backend has no memory for that and the fallback would evaluate it.
Cost cost(const distributed::Experiment& experiment, Backend& backend, std::int64_t individuals) {
    const evolve::Task& task = *experiment.task;
    const Network network(first_network(experiment));
    const std::vector<Tensor> data = evolve::data_of(task, evolve::Phase::train);
    const std::vector<Tensor> draws =
        evolve::draws_of(task, evolve::Phase::train, experiment.seed, 0);
    Graph graph;
    const NetworkOperands operands =
        evolve::operand_inputs(graph, network, evolve::WeightUse::evaluated);
    const std::vector<Var> data_inputs = inputs(graph, data, "data");
    const std::vector<Var> draw_inputs = inputs(graph, draws, "draws");
    const Var fitness =
        task.build({graph, network, operands, data_inputs, draw_inputs}, evolve::Phase::train)
            .fitness;
    evolve::require_output(task, graph, "fitness", fitness, ValueType::real, 0);
    graph.output(fitness);
    constexpr std::array<std::size_t, 3> per_individual{0, 1, 2};
    Cost result{.shared = bytes(data) + bytes(draws), .temporary = {}};
    try {
        result.temporary = backend.compile(eliminate_dead_code(vmap(graph, per_individual)))
                               ->peak_bytes(individuals);
    } catch (const OutOfMemoryError&) {
        if (!experiment.distribution.fallback) throw;
    }
    return result;
}

}  // namespace

std::string size_text(std::int64_t count) {
    constexpr double kibi = 1024.0;
    const auto value = static_cast<double>(count);
    if (value < 10 * kibi) return fmt::format("{} B", count);
    if (value < 10 * kibi * kibi) return fmt::format("{:.1f} KiB", value / kibi);
    if (value < 10 * kibi * kibi * kibi) return fmt::format("{:.1f} MiB", value / kibi / kibi);
    return fmt::format("{:.1f} GiB", value / kibi / kibi / kibi);
}

std::string dry_run_text(const distributed::Experiment& experiment, Backend& backend, int ranks) {
    const Network network(first_network(experiment));
    std::string text = experiment.name + "\n" + summary_text(experiment);
    text += structure_table(network);

    const std::uint64_t population = experiment.population.size;
    const std::uint64_t fixed = experiment.distribution.shard_size;
    const std::uint64_t automatic =
        std::max<std::uint64_t>(1, population / (2 * static_cast<std::uint64_t>(ranks)));
    const std::uint64_t shard = std::min(population, fixed == 0 ? automatic : fixed);
    text += fmt::format("  ranks       {} (start more with mpirun or launch/mpi)\n", ranks);
    text += fmt::format("  backend     {}\n", backend.describe().text());
    text += fmt::format("  shards      {} individuals{}\n", shard,
                        fixed == 0 ? " at most, smaller toward the end of a generation" : "");
    if (experiment.runs_on_host()) {
        text += "  memory      chosen by the task (it is evaluated on the host)\n";
        return text;
    }
    const Cost of_shard = cost(experiment, backend, static_cast<std::int64_t>(shard));
    const std::string temporaries =
        of_shard.temporary
            ? size_text(*of_shard.temporary) + " of temporaries for a shard"
            : std::string(
                  "temporaries not known (even one network does not fit, the fallback "
                  "evaluates it)");
    text += fmt::format(
        "  memory      {}, {} of data, {} of weights", temporaries, size_text(of_shard.shared),
        size_text(4 * network.weight_count() * static_cast<std::int64_t>(population)));
    const std::int64_t limit = backend.memory().limit;
    text += limit > 0 ? fmt::format(" (limit {})\n", size_text(limit)) : std::string("\n");
    return text;
}

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
    return fmt::format("  {:<18} {:>14} {:>14} {:>14}\n", name, cells[0], cells[1], cells[2]);
}

std::string loss_table(const evolve::Task& task, const distributed::RunResult& result) {
    std::vector<std::pair<std::string, Row>> rows = baseline_rows(task);
    const std::optional<evolve::LossUnits> units = task.loss_units();
    if (rows.empty() && !units) return "";
    Row network;
    // Validation and tests know of no price.
    if (result.best_fitness) network[0] = -(*result.best_fitness + result.best_price);
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

/// @param asked whether a program asks for the networks of the run.
std::string go_on_text(const std::string& directory, bool asked) {
    return asked ? fmt::format("  go on:  {}\n", asking_program)
                 : fmt::format("  go on:  cambrian resume {}\n", shell_word(directory));
}

std::string reason_text(const distributed::Experiment& experiment,
                        const distributed::RunResult& result) {
    static const std::map<distributed::StopReason, std::string> texts{
        {distributed::StopReason::generations, "all {}s are done"},
        {distributed::StopReason::fitness, "the fitness is reached"},
        {distributed::StopReason::solved, "the task is solved"},
        {distributed::StopReason::evaluations, "all evaluations are spent"},
        {distributed::StopReason::seconds, "the time is up"},
        {distributed::StopReason::extinction, "all species have died out"},
        {distributed::StopReason::interrupted, "interrupted, with a checkpoint"}};
    return fmt::format(fmt::runtime(texts.at(result.reason)), unit_of(experiment));
}

}  // namespace

std::string unsolved_text(const distributed::Experiment& experiment,
                          const distributed::RunResult& result) {
    if (experiment.stop.solved)
        return fmt::format("not solved: {} of task {}",
                           result.last.tests.count > 0 ? "no champion has passed the test"
                                                       : "no champion was fit enough for the test",
                           experiment.task->type());
    const std::optional<double> reached = reached_fitness(experiment, result);
    return fmt::format("not solved: {} {} was asked for, {} was reached{}",
                       fitness_name(experiment), experiment.stop.fitness,
                       reached ? fmt::format("{:.9g}", *reached) : std::string("none"),
                       reached ? std::string() : invalid_text(experiment, result.last.invalid));
}

std::string result_text(const distributed::Experiment& experiment,
                        const distributed::RunResult& result) {
    const std::string directory = experiment.directory.string();
    const bool asked = asked_by_program(Json::parse(experiment.resolved_json, nullptr, false));
    if (result.last.evaluations == 0)
        return fmt::format("{} before the first {}\n{}", reason_text(experiment, result),
                           unit_of(experiment), go_on_text(directory, asked));
    std::string text =
        fmt::format("{} after {} {}s and {} evaluations{}\n", reason_text(experiment, result),
                    result.last.generation + 1, unit_of(experiment), result.last.evaluations,
                    experiment.stop.solved && result.last.tests.count > 0
                        ? fmt::format(", {} tests of champions apart", result.last.tests.count)
                        : std::string());
    if (!result.best_fitness) {
        text +=
            "  no individual had a valid fitness (outputs or rewards are not finite, or the "
            "program "
            "that judges failed): look at the warnings, the data, the loss and "
            "mutation.weight_power\n";
        if (!result.solved.value_or(true)) text += unsolved_text(experiment, result) + '\n';
        return text;
    }
    text += fmt::format("  best fitness {:.6g}", *result.best_fitness);
    if (result.best_validated) text += fmt::format(", validated {:.6g}", *result.best_validated);
    if (result.best_tested) text += fmt::format(", tested {:.6g}", *result.best_tested);
    text += '\n';
    text += loss_table(*experiment.task_at(result.last.generation), result);
    text += fmt::format("  {}/best.cmb, generations.csv, timings.csv, config.json\n", directory);
    if (result.reason == distributed::StopReason::interrupted) {
        text += go_on_text(directory, asked);
        return text;
    }
    const std::string best = shell_word(directory + "/best.cmb");
    text += fmt::format("  look:   cambrian inspect {}\n", best);
    if (!asked) text += fmt::format("  test:   cambrian evaluate {}\n", best);
    if (!result.solved.value_or(true)) text += unsolved_text(experiment, result) + '\n';
    return text;
}

}  // namespace cambrian::launch
