#include "cambrian/launch/trials/trial.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/evolve/runs/run_log.hpp"

namespace cambrian::launch {
namespace {

constexpr std::array<const char*, 12> names{
    "seed", "solved",    "reason", "generations", "evaluations", "champion_tests",
    "best", "validated", "tested", "parameters",  "env_steps",   "seconds"};

std::string cell_of(std::optional<double> value) {
    return value ? fmt::format("{}", *value) : std::string();
}

template <class Number>
bool read(std::string_view cell, Number& number) {
    const std::optional<Number> found = number_in<Number>(cell);
    number = found.value_or(number);
    return found.has_value();
}

bool read(std::string_view cell, std::optional<double>& number) {
    if (cell.empty()) return true;
    return read(cell, number.emplace());
}

bool read(std::string_view cell, std::optional<bool>& value) {
    if (!cell.empty()) value = cell == "true";
    return cell.empty() || cell == "true" || cell == "false";
}

}  // namespace

Trial trial_of(std::uint64_t seed, const distributed::RunResult& result) {
    Trial trial;
    trial.seed = seed;
    trial.solved = result.solved;
    trial.reason = name(result.reason);
    trial.generations = result.last.evaluations > 0 ? result.last.generation + 1 : 0;
    trial.evaluations = result.last.evaluations;
    trial.champion_tests = result.last.tests.count;
    trial.best = result.best_fitness;
    trial.validated = result.best_validated;
    trial.tested = result.best_tested;
    trial.parameters = result.best_parameters;
    trial.env_steps = result.last.env_steps;
    trial.seconds = result.last.elapsed_seconds;
    return trial;
}

std::string trials_header() {
    return fmt::format("{}\n", fmt::join(names, ","));
}

std::string trial_line(const Trial& trial) {
    return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{:.6f}\n", trial.seed,
                       trial.solved ? (*trial.solved ? "true" : "false") : "", trial.reason,
                       trial.generations, trial.evaluations, trial.champion_tests,
                       cell_of(trial.best), cell_of(trial.validated), cell_of(trial.tested),
                       trial.parameters, trial.env_steps, trial.seconds);
}

std::optional<Trial> read_trial_line(std::string_view line) {
    const std::vector<std::string_view> cells = distributed::cells_of(line);
    if (cells.size() != names.size()) return std::nullopt;
    Trial trial;
    trial.reason = cells[2];
    const bool whole = read(cells[0], trial.seed) && read(cells[1], trial.solved) &&
                       read(cells[3], trial.generations) && read(cells[4], trial.evaluations) &&
                       read(cells[5], trial.champion_tests) && read(cells[6], trial.best) &&
                       read(cells[7], trial.validated) && read(cells[8], trial.tested) &&
                       read(cells[9], trial.parameters) && read(cells[10], trial.env_steps) &&
                       read(cells[11], trial.seconds);
    return whole ? std::optional(trial) : std::nullopt;
}

}  // namespace cambrian::launch
