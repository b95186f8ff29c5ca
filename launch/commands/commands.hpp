#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/check/gradient_check.hpp"
#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"
#include "cambrian/evolve/variation/splice.hpp"
#include "cambrian/launch/trials/trial_runner.hpp"

namespace cambrian::launch {

/// What every sub-command works with.
struct CommandContext {
    const evolve::TaskRegistry& tasks;
    std::ostream& out;
    std::ostream& err;
    const evolve::StrategyRegistry& strategies;
    const evolve::GenomeRegistry& genomes;
};

/// Of evolve, train and resume.
struct RunOptions {
    std::string config;  ///< The config file; of resume the run directory.
    bool resume = false;
    bool proceed = false;  ///< --continue, of evolve alone.
    bool print_config = false;
    bool dry_run = false;
    bool quiet = false;
    bool require_solved = false;  ///< Exit with 6 where unsolved; of evolve and resume.
    bool profile = false;
    std::string dump;  ///< Directory for graphs and generated shaders; empty: none.
    std::vector<std::string> overrides;
};
/// `cambrian evolve` and `cambrian resume`: the commands that speak MPI.
[[nodiscard]] int evolve_command(const CommandContext& context, const RunOptions& options);

/// `cambrian train`: by gradient, in one process.
[[nodiscard]] int train_command(const CommandContext& context, const RunOptions& options);

/// `cambrian trials`: many runs of one config, several at a time, and what they come to together.
[[nodiscard]] int trials_command(const CommandContext& context, const TrialsOptions& options);

struct SweepOptions {
    TrialsOptions trials;           ///< Of each point; the directory is that of the sweep.
    std::vector<std::string> over;  ///< "key=value,value", each a dimension.
};
/// `cambrian sweep`: trials of every combination of values.
[[nodiscard]] int sweep_command(const CommandContext& context, const SweepOptions& options);

/// `cambrian status`: how a run stands or how it ended, also where it could not say it itself.
/// Returns the exit code of the run, 0 while it goes on, 1 where it ended without a word. Throws
/// InputError where there is no run.
[[nodiscard]] int status_command(const CommandContext& context, const std::string& directory,
                                 bool json);

struct IndividualsOptions {
    std::string directory;   ///< Of the run.
    std::string csv;         ///< A file; empty or "-": standard output.
    std::string generation;  ///< "7" or "7-9"; empty: all.
};
/// `cambrian individuals`: the rows of individuals.cmb as CSV, block by block. Throws InputError
/// where the run has none, and where the file is damaged, after what is before.
[[nodiscard]] int individuals_command(const CommandContext& context,
                                      const IndividualsOptions& options);

struct LineageOptions {
    std::string run;                     ///< Its directory.
    std::optional<std::uint64_t> birth;  ///< Nothing: that of best.cmb.
    std::string csv;                     ///< A file; empty or "-": standard output.
};
/// `cambrian lineage`: the ancestors of a network, from individuals.cmb. Throws InputError where
/// the run has none, or not that birth.
[[nodiscard]] int lineage_command(const CommandContext& context, const LineageOptions& options);

struct ExtractOptions {
    std::string run;                 ///< Its directory, or a checkpoint in it.
    std::uint64_t elite = 1;         ///< How many.
    bool species_champions = false;  ///< Instead: the fittest of each species.
    std::string output;              ///< A folder; empty: elites or species in that of the run.
};
/// `cambrian extract`: the fittest networks of a checkpoint as files. Throws InputError where there
/// is none, and ConfigError where there are no species.
[[nodiscard]] int extract_command(const CommandContext& context, const ExtractOptions& options);

struct EvaluateOptions {
    std::string network;
    std::string config;  ///< Empty: the identity that the file holds.
    std::string phase;   ///< Empty: the last one that the task has.
    std::int64_t episodes = 0;
    bool profile = false;
    std::string dump;  ///< As in RunOptions.
    std::vector<std::string> overrides;
};
[[nodiscard]] int evaluate_command(const CommandContext& context, const EvaluateOptions& options);

struct InferOptions {
    std::string network;
    std::string input;   ///< "-" is standard input.
    std::string output;  ///< Empty: standard output.
    bool raw = false;
    bool observe = false;  ///< Tells standard error what every slot gives.
    std::vector<std::string> overrides;
};
[[nodiscard]] int infer_command(const CommandContext& context, const InferOptions& options);

struct InspectOptions {
    std::string network;
    bool json = false;
    bool dot = false;
};
[[nodiscard]] int inspect_command(const CommandContext& context, const InspectOptions& options);

struct CompareOptions {
    /// Networks, checkpoints, or directories of runs, which stand for their newest checkpoint.
    std::vector<std::string> sources;
    std::string measure = "strict";  ///< One of compare_measures.
    std::string csv;  ///< File for the matrix of all pairs; "-" is standard output; empty: none.
    std::uint64_t probes = 64;  ///< activation: sequences of normal numbers that networks see.
    std::uint64_t seed = 1;
};
/// What --measure may be.
inline constexpr std::array<std::string_view, 3> compare_measures{"strict", "permutation",
                                                                  "activation"};
[[nodiscard]] int compare_command(const CommandContext& context, const CompareOptions& options);

struct SpliceOptions {
    std::string first;
    std::string second;
    std::string output;
    std::string mode{evolve::name(evolve::SpliceSettings{}.mode)};
    float alpha = evolve::SpliceSettings{}.alpha;
    float split = evolve::SpliceSettings{}.split;
    std::uint64_t seed = 1;
    std::vector<double> fitness;  ///< Of both, where the files do not say it or are wrong.
    bool report = false;
    std::string align{evolve::splice_align_names[0]};
};
[[nodiscard]] int splice_command(const CommandContext& context, const SpliceOptions& options);

struct ConvertOptions {
    std::string input;  ///< .cmb, .safetensors or .json, as the output.
    std::string output;
    std::string dtype;    ///< Of a .safetensors written; empty: F32.
    std::string network;  ///< A config with the structure of a .safetensors read.
    std::vector<std::string> renames;
    std::optional<std::uint64_t> seed;  ///< Of the weights of a .json.
    bool force = false;                 ///< Weights may become zero, or be limited, by the type.
};
/// Writes a network in another format. Throws ConfigError for options that do not fit the formats.
[[nodiscard]] int convert_command(const CommandContext& context, const ConvertOptions& options);

[[nodiscard]] int validate_command(const CommandContext& context, const std::string& config,
                                   const std::vector<std::string>& overrides);
[[nodiscard]] int devices_command(const CommandContext& context, bool json);
/// Prints every op of the graph: operands, shapes, types, gradient, formula, source.
[[nodiscard]] int ops_command(const CommandContext& context, bool json);
struct LayersOptions {
    std::string type;  ///< Empty: all.
    bool activations = false;
    bool json = false;
};
/// Prints a layer type, or all: fields, shapes, parameters, formula, source; or the activations.
/// Throws ConfigError that names the nearest types.
[[nodiscard]] int layers_command(const CommandContext& context, const LayersOptions& options);

struct CheckOptions {
    std::string network;  ///< A .cmb, or a config.
    CheckSettings check;
    bool all = false;  ///< Every element.
    bool json = false;
    std::vector<std::string> overrides;  ///< Of the section engine.
};
/// `cambrian check`: gradients against differences, steps against sequences, a backend against the
/// reference. Returns exit_failed where a bound is passed.
[[nodiscard]] int check_command(const CommandContext& context, const CheckOptions& options);
/// Prints a key of a config, all of them when it is empty, or the whole schema with every default.
[[nodiscard]] int explain_command(const CommandContext& context, const std::string& key, bool json);

}  // namespace cambrian::launch
