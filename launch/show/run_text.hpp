#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/engine/backend/backend.hpp"

// What somebody reads of a run: notes and summary before it, what it would do, what it came to.
namespace cambrian::launch {

/// A line for each note.
[[nodiscard]] std::string notes_text(const std::vector<std::string>& notes);
/// A line for each of its notes.
[[nodiscard]] std::string notes_text(const distributed::Experiment& experiment);
/// A line for each thing that the user of a task should know of its data.
[[nodiscard]] std::string notes_text(const evolve::Task& task);

/// A number of bytes as a reader takes it in: "900 B", "12.5 KiB".
[[nodiscard]] std::string size_text(std::int64_t count);

/// What a run counts its births in: a "generation", or a "block" of the steady state.
[[nodiscard]] std::string_view unit_of(const evolve::SteadyStateSettings& settings);
[[nodiscard]] std::string_view unit_of(const distributed::Experiment& experiment);

/// Task, population, network and end of an experiment, in a few lines.
[[nodiscard]] std::string summary_text(const distributed::Experiment& experiment);

/// What a run would do, without doing it: structure, weights, memory of an evaluation, shards and
/// ranks.
[[nodiscard]] std::string dry_run_text(const distributed::Experiment& experiment, Backend& backend,
                                       int ranks);

/// Why a run ended, what it reached beside the baselines of its task, and where to look next.
[[nodiscard]] std::string result_text(const distributed::Experiment& experiment,
                                      const distributed::RunResult& result);

/// What was asked for and what was reached, of a run that was not solved.
[[nodiscard]] std::string unsolved_text(const distributed::Experiment& experiment,
                                        const distributed::RunResult& result);

}  // namespace cambrian::launch
