#pragma once

#include <cstdint>
#include <exception>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/check/gradient_check.hpp"
#include "cambrian/engine/generation/generator.hpp"
#include "cambrian/engine/models/universal.hpp"
#include "cambrian/evolve/analysis/ensemble.hpp"
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
    /// Why a plug-in of the config could not be loaded, for commands that tell it to other ranks.
    std::exception_ptr plugin_failure{};
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

struct NewOptions {
    std::string csv;                   ///< The file with the data.
    std::vector<std::string> targets;  ///< Columns to predict.
    std::string mode;                  ///< Empty: as the target is.
    std::int64_t time_offset = 0;      ///< Rows ahead; 0: no forecast.
    std::string output;                ///< Empty: called as the data are; "-": standard output.
    bool force = false;                ///< Replaces a file.
};
/// `cambrian new`: a commented config for the rows of a CSV file, which runs. Throws InputError for
/// data that nothing can be learnt from, ConfigError for a file that is there.
[[nodiscard]] int new_command(const CommandContext& context, const NewOptions& options);

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

struct AdaptationOptions {
    std::vector<std::string> runs;       ///< Directories, in the order of time.
    std::vector<std::uint64_t> changes;  ///< First generations after a change, of a single run.
    std::string measure = "best";        ///< A column of generations.csv.
    double share = 0.95;                 ///< Of what was before: then it counts as recovered.
    bool json = false;
};
/// `cambrian adaptation`: what changes of a task did to a run, or to one after the other, and how
/// long recovery took.
[[nodiscard]] int adaptation_command(const CommandContext& context,
                                     const AdaptationOptions& options);

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

struct ReportOptions {
    std::vector<std::string> sources;  ///< Directories of runs, or of trials.
    std::string output;  ///< A file; "-": standard output; empty: report.html in the first source.
    bool watch = false;  ///< Serves the page instead, and makes it anew.
    std::string address = "127.0.0.1";
    int port = 8765;  ///< 0: a free one.
};
/// `cambrian report`: one HTML page about runs, which needs nothing else to be seen. Throws
/// InputError where there is no run, or a damaged one, ConfigError for an address or a port that
/// cannot be had.
[[nodiscard]] int report_command(const CommandContext& context, const ReportOptions& options);

struct EvaluateOptions {
    /// Networks, checkpoints, or directories of runs, which stand for their newest checkpoint.
    std::vector<std::string> networks;
    std::uint64_t elite = 0;  ///< At most so many of each checkpoint; 0: all.
    std::string config;       ///< Empty: the identity that the file holds.
    std::string phase;        ///< Empty: the last one that the task has.
    std::int64_t episodes = 0;
    bool metrics = false;  ///< Every metric, with tables of classes or deviations.
    bool json = false;
    std::string ensemble;         ///< One of evolve::ensemble_names; empty: none.
    std::vector<double> weights;  ///< Of a weighted ensemble; empty: by what they reach.
    std::uint64_t pairs = 0;      ///< How many complementary pairs are printed.
    double coverage = 0.0;        ///< Their least coverage.
    bool profile = false;
    std::string dump;  ///< As in RunOptions.
    std::vector<std::string> overrides;
};
/// `cambrian evaluate`: one network, or several side by side on one task.
[[nodiscard]] int evaluate_command(const CommandContext& context, const EvaluateOptions& options);

struct QuantiseOptions {
    std::string network;
    std::string dtype;
    std::string scales = "format";
    std::string activation_dtype = "float32";
    std::string config;  ///< Empty: the identity that the file holds, if any.
    std::string output;  ///< A file; "-": standard output; empty: none is written.
    bool calibrate = false;
    std::vector<std::string> overrides;
};
/// Prints what a number format makes of a network: the error of each tensor, bytes, and where its
/// task is known the fitness and accuracy before and after; writes it with that format. Throws
/// ConfigError for an unknown format, and where there is no task to calibrate on.
[[nodiscard]] int quantise_command(const CommandContext& context, const QuantiseOptions& options);
/// The ensemble of a name. Throws ConfigError where votes are to be taken of numbers.
[[nodiscard]] evolve::Ensemble ensemble_of(const std::string& name, bool classes);
/// Throws ConfigError unless each network has a weight, and they have a sum.
void check_ensemble_weights(const std::vector<double>& weights, std::size_t networks);

struct InferOptions {
    std::vector<std::string> networks;
    std::string ensemble;         ///< One of evolve::ensemble_names, of several networks.
    std::vector<double> weights;  ///< Of a weighted one.
    std::string input;            ///< "-" is standard input.
    std::string output;           ///< A file; empty or "-": standard output.
    bool join = false;            ///< With the columns of the input before the answers.
    bool raw = false;
    bool observe = false;  ///< Tells standard error what every slot gives.
    std::vector<std::string> overrides;
};
[[nodiscard]] int infer_command(const CommandContext& context, const InferOptions& options);

struct GenerateOptions {
    std::vector<std::string> networks;  ///< Of one structure.
    std::string tokenizer;              ///< Empty: what the network learned; "bytes"; a file.
    std::vector<std::string> prompts;
    std::string prompts_file;  ///< One a line, after the others; "-": standard input.
    std::string chat;          ///< Instead of prompts: messages, JSON, which the network answers.
    std::string chat_template{"chatml"};  ///< A name, or a tokenizer_config.json.
    GenerationSettings settings{};
    std::vector<std::string> stop;
    bool json = false;
    bool pieces = false;  ///< A line of JSON for each piece of a text, too.
    bool speed = false;
    std::vector<std::string> overrides;
};
/// `cambrian generate`: continues texts by networks that read tokens.
[[nodiscard]] int generate_command(const CommandContext& context, const GenerateOptions& options);

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
    /// activation: sequences of normal numbers that networks see; nothing: default_probes.
    std::optional<std::uint64_t> probes{};
    std::uint64_t seed = 1;         ///< Of these, and of k-means.
    std::uint64_t clusters = 0;     ///< k-means with so many; 0: none.
    std::optional<double> group{};  ///< Groups within a distance.
    std::uint64_t groups = 0;       ///< So many groups; 0: none.
    std::optional<std::string>
        linkage{};     ///< One of evolve::linkage_names; nothing: default_linkage.
    std::string tree;  ///< One of tree_forms; empty: none.
};
/// What --measure may be.
inline constexpr std::array<std::string_view, 4> compare_measures{"strict", "permutation",
                                                                  "activation", "history"};
inline constexpr std::uint64_t default_probes = 64;
inline constexpr std::string_view default_linkage = "average";
/// What --tree may be.
inline constexpr std::array<std::string_view, 2> tree_forms{"text", "newick"};
/// `cambrian compare`: two networks layer by layer, or many pair by pair, in groups, as a tree.
[[nodiscard]] int compare_command(const CommandContext& context, const CompareOptions& options);

struct SpliceOptions {
    std::string first;
    std::string second;
    std::string output;  ///< A file; "-": standard output.
    std::string mode{evolve::name(evolve::SpliceSettings{}.mode)};
    std::optional<float> alpha{};   ///< Of blend.
    std::optional<double> split{};  ///< Of point.
    std::uint64_t seed = 1;
    std::vector<double> fitness;  ///< Of both, where the files do not say it or are wrong.
    bool report = false;
    std::string align{evolve::splice_align_names[0]};
    // Of the modes graft and residual_graft.
    std::optional<int> at;               ///< Slot of the first network; nothing: whole networks.
    std::optional<int> from;             ///< Of the second; nothing: the same.
    std::optional<std::string> combine;  ///< One of evolve::graft_combine_names.
    std::optional<float> gain;           ///< Of residual_graft.
};
/// Modes of `cambrian splice` beside those of evolve::SpliceMode.
inline constexpr std::string_view neat_mode = "neat";
inline constexpr std::string_view graft_mode = "graft";
inline constexpr std::string_view residual_graft_mode = "residual_graft";
/// `cambrian splice`: a child of two networks, or one with the other, or a part of it, in it.
[[nodiscard]] int splice_command(const CommandContext& context, const SpliceOptions& options);

struct ConvertOptions {
    std::string input;    ///< .cmb, .safetensors, .json or the folder of a model.
    std::string output;   ///< As the input, or .onnx.
    std::string dtype;    ///< Of tensors written; empty: F32.
    std::string network;  ///< A config with the structure of a .safetensors read.
    std::vector<std::string> renames;
    std::optional<std::uint64_t> seed;  ///< Of the weights of a .json.
    bool inference =
        false;           ///< A .safetensors written holds codes and no masters; `dtype` is theirs.
    bool force = false;  ///< Weights may become zero, or be limited, by the type.
    bool raw = false;    ///< A .onnx written takes rows and gives outputs as they are.
    std::string family;  ///< Of a folder written, or else of a model read; empty: not given.
    std::optional<std::uint64_t> shard_bytes;  ///< Of a folder written.
    models::UniversalOptions model;            ///< Of a model read.
    std::string heads;                         ///< As --with heads=.., and so the next.
    std::string activation;
};
/// Writes a network in another format. Throws ConfigError for options that do not fit the formats.
[[nodiscard]] int convert_command(const CommandContext& context, const ConvertOptions& options);
/// Throws ConfigError where a name has the ending of another format than .cmb, in which commands
/// that go on with a network write it.
void require_network_ending(const std::string& output);

/// How `cambrian tokenize` prints ids.
enum class TokenForm { ids, text, json };
struct TokenizeOptions {
    std::string input;      ///< A text, or ids where they are decoded; "-" is standard input.
    std::string tokenizer;  ///< tokenizer.json, or its folder.
    TokenForm form = TokenForm::ids;
    bool decode = false;
    bool show_special = false;            ///< Decoding: special tokens by their names.
    bool bare = false;                    ///< Without what the tokenizer puts around every text.
    std::string chat;                     ///< Instead of the input: messages, JSON.
    std::string chat_template{"chatml"};  ///< A name, or a tokenizer_config.json.
    bool prompt = false;                  ///< The assistant is to speak next.
    std::vector<std::string> train;       ///< Texts to learn a tokenizer from.
    std::string kind{"bpe"};
    std::optional<std::int64_t> vocabulary{};  ///< Of bpe; nothing: as in TokenizerTraining.
    std::optional<std::int64_t> min_count{};   ///< The same.
    std::vector<std::string> special{"<|endoftext|>"};
    std::string output;  ///< A file; empty or "-": standard output.
};
/// `cambrian tokenize`: texts as ids and back, chats as texts, and training of tokenizers.
[[nodiscard]] int tokenize_command(const CommandContext& context, const TokenizeOptions& options);

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
struct ExplainOptions {
    std::string key;  ///< Or what has a name in a config; empty: a short list.
    bool all = false;
    bool json = false;
    bool markdown = false;
};
/// Prints a key of a config, or a layer, task, strategy and so on by its name; a short list of
/// both, all keys, all keys as a page, or the whole schema with every default.
[[nodiscard]] int explain_command(const CommandContext& context, const ExplainOptions& options);

}  // namespace cambrian::launch
