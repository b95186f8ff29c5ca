#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/models/model_files.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/registry.hpp"
#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/main.hpp"
#include "cambrian/launch/process.hpp"

namespace cambrian::launch {
namespace {

/// The command line: fills the options of the chosen sub-command and knows how to run it.
class CommandLine {
  public:
    explicit CommandLine(const CommandContext& context) : context_(context) {
        app_.description("Evolves neural networks, on one rank or many, and trains them.");
        app_.name("cambrian");
        app_.require_subcommand(1);
        app_.set_version_flag("--version",
                              fmt::format("cambrian {}.{}.{}", CAMBRIAN_VERSION_MAJOR,
                                          CAMBRIAN_VERSION_MINOR, CAMBRIAN_VERSION_PATCH));
        app_.footer(
            "Examples:\n"
            "  cambrian evolve configs/quickstart.json\n"
            "  launch/mpi -n 4 cambrian evolve configs/cart_pole.json\n"
            "  cambrian train configs/train_spirals.json\n"
            "  cambrian explain population.size\n"
            "'cambrian COMMAND --help' tells more of a command.");
        add_evolve();
        add_resume();
        add_train();
        add_trials();
        add_sweep();
        add_status();
        add_adaptation();
        add_individuals();
        add_lineage();
        add_extract();
        add_report();
        add_evaluate();
        add_infer();
        add_generate();
        add_inspect();
        add_compare();
        add_splice();
        add_convert();
        add_tokenize();
        add_quantise();
        add_validate();
        add_explain();
        add_devices();
        add_ops();
        add_layers();
        add_check();
        add_registry();
    }

    int run(std::vector<std::string> arguments) {
        if (!arguments.empty()) first_ = arguments.front();
        std::reverse(arguments.begin(), arguments.end());
        try {
            app_.parse(std::move(arguments));
        } catch (const CLI::Success& request) {
            return app_.exit(request, context_.out, context_.err);
        } catch (const CLI::ParseError& error) {
            if (launcher_rank() == 0) context_.err << "cambrian: error: " << usage(error) << '\n';
            return exit_config;
        }
        return command_();
    }

  private:
    CLI::App& add(const char* name, const char* description, const char* examples,
                  std::function<int()> command) {
        CLI::App& sub = *app_.add_subcommand(name, description);
        sub.footer(std::string("Examples:\n") + examples);
        sub.final_callback([this, command = std::move(command)] { command_ = command; });
        return sub;
    }

    static void add_overrides(CLI::App& sub, std::vector<std::string>& overrides) {
        sub.add_option("--set", overrides,
                       "Set a key of the config, such as population.size=64 (repeatable)")
            ->allow_extra_args(false)
            ->type_name("KEY=VALUE");
    }

    static void add_require_solved(CLI::App& sub, RunOptions& options) {
        sub.add_flag(
            "--require-solved", options.require_solved,
            "Exit with 6 when the run ends below run.stop.fitness, or fails run.stop.solved");
    }

    static void add_gpu_flags(CLI::App& sub, std::string& dump, bool& profile) {
        sub.add_option("--dump", dump, "Write graphs, plans and generated shaders there")
            ->type_name("DIRECTORY");
        sub.add_flag(
            "--profile", profile,
            "Print time and traffic of each kernel of rank 0 at the end (slows a run down)");
    }

    std::string chosen() const {
        for (const CLI::App* sub : app_.get_subcommands()) return " " + sub->get_name();
        return "";
    }

    /// What was wrong with the command line, and what to write instead.
    std::string usage(const CLI::ParseError& error) const {
        if (!chosen().empty() || first_.empty() || first_.starts_with("-"))
            return fmt::format("{} (wrong usage) see 'cambrian{} --help'", error.what(), chosen());
        std::vector<std::string> names;
        for (const CLI::App* sub : app_.get_subcommands(nullptr)) names.push_back(sub->get_name());
        const auto near = nearest(first_, names);
        return fmt::format(
            "{} is not a command (known: {}) {}", first_, fmt::join(names, ", "),
            near ? fmt::format("did you mean {}?", *near) : std::string("see 'cambrian --help'"));
    }

    void add_evolve() {
        CLI::App& sub = add("evolve", "Evolve networks as a config says",
                            "  cambrian evolve configs/xor.json\n"
                            "  cambrian evolve configs/cart_pole.json --set population.size=1024 "
                            "--set run.seed=7\n"
                            "  cambrian evolve configs/cart_pole.json --continue\n"
                            "  launch/mpi -n 4 cambrian evolve configs/cart_pole.json",
                            [this] { return evolve_command(context_, evolve_); });
        sub.add_option("CONFIG", evolve_.config, "The config file")->required();
        add_overrides(sub, evolve_.overrides);
        sub.add_flag("--continue", evolve_.proceed, "Go on from the newest checkpoint, if any");
        sub.add_flag("--print-config", evolve_.print_config, "Print every setting, run nothing");
        sub.add_flag("--dry-run", evolve_.dry_run,
                     "Print network, memory, shards and ranks, run nothing");
        sub.add_flag("-q,--quiet", evolve_.quiet, "Print only warnings and errors");
        add_require_solved(sub, evolve_);
        add_gpu_flags(sub, evolve_.dump, evolve_.profile);
    }

    void add_resume() {
        CLI::App& sub =
            add("resume", "Go on with a run: an evolution on any number of ranks, or a training",
                "  cambrian resume runs/cart_pole-1\n"
                "  cambrian resume runs/cart_pole-1 --set run.stop.generations=500",
                [this] {
                    resume_.resume = true;
                    if (holds_training(resume_.config)) return train_command(context_, resume_);
                    return evolve_command(context_, resume_);
                });
        sub.add_option("RUN_DIRECTORY", resume_.config, "The directory of the run")->required();
        add_overrides(sub, resume_.overrides);
        sub.add_flag("--print-config", resume_.print_config, "Print every setting, run nothing");
        sub.add_flag("--dry-run", resume_.dry_run,
                     "Print network, memory, shards and ranks, run nothing");
        sub.add_flag("-q,--quiet", resume_.quiet, "Print only warnings and errors");
        add_require_solved(sub, resume_);
        add_gpu_flags(sub, resume_.dump, resume_.profile);
    }

    void add_train() {
        CLI::App& sub =
            add("train", "Train a network, or several at once, by gradient or by targets of layers",
                "  cambrian train configs/train_spirals.json\n"
                "  cambrian train configs/train_sine.json --set "
                "'training.learning_rate=[0.1,0.03,0.01]'",
                [this] { return train_command(context_, train_); });
        sub.add_option("CONFIG", train_.config, "The config file")->required();
        add_overrides(sub, train_.overrides);
        sub.add_flag("--print-config", train_.print_config, "Print every setting, run nothing");
        sub.add_flag("--dry-run", train_.dry_run, "Print network, data and memory, run nothing");
        sub.add_flag("-q,--quiet", train_.quiet, "Print only warnings and errors");
        add_gpu_flags(sub, train_.dump, train_.profile);
    }

    static void add_trial_options(CLI::App& sub, TrialsOptions& options) {
        sub.add_option("CONFIG", options.config, "The config file")->required();
        sub.add_option("--runs", options.runs, "How many runs, each with a seed of its own")
            ->required()
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
        sub.add_option("--first-seed", options.first_seed, "run.seed of the first; then one higher")
            ->capture_default_str()
            ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 53U));
        sub.add_option("--jobs", options.jobs,
                       "Runs at a time; without it as many as processors, or one on a GPU or of a "
                       "task of a "
                       "program's own functions")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1024}));
        add_overrides(sub, options.overrides);
        sub.add_flag("-q,--quiet", options.quiet, "Print only results, warnings and errors");
    }

    void add_trials() {
        CLI::App& sub =
            add("trials", "Run a config with many seeds: success rate, evaluations to solve",
                "  cambrian trials configs/xor.json --runs 100\n"
                "  cambrian trials configs/xor.json --runs 20 --first-seed 1000 --jobs 2 --set "
                "mutation.weight_power=0.3 --directory 'trials/{name}-{mutation.weight_power}'\n"
                "The same command goes on after an interrupt, and with more --runs",
                [this] { return trials_command(context_, trials_); });
        add_trial_options(sub, trials_);
        sub.add_option("--directory", trials_.directory,
                       "For trials.csv, summary.json and a directory for each run; a key in braces "
                       "is its value. Without it trials/{name}")
            ->type_name("DIRECTORY");
    }

    void add_sweep() {
        CLI::App& sub = add(
            "sweep", "Trials of every combination of values of some keys, in one table",
            "  cambrian sweep configs/xor.json --over mutation.weight_power=0.1,0.3,0.5 --runs 20\n"
            "  cambrian sweep configs/xor.json --over population.size=50,150 --over "
            "population.elite_fraction=0.1,0.25 --runs 20 --first-seed 1000",
            [this] { return sweep_command(context_, sweep_); });
        add_trial_options(sub, sweep_.trials);
        sub.add_option("--over", sweep_.over, "A key and the values it takes (repeatable)")
            ->required()
            ->allow_extra_args(false)
            ->type_name("KEY=VALUE,VALUE");
        sub.add_option("--directory", sweep_.trials.directory,
                       "For sweep.csv and a directory for the trials of each point. Without it "
                       "sweeps/{name}")
            ->type_name("DIRECTORY");
    }

    void add_status() {
        CLI::App& sub =
            add("status", "Say how a run stands, or how it ended",
                "  cambrian status runs/cart_pole-1\n"
                "  cambrian status runs/cart_pole-1 --json\n"
                "Exit code: that of the run; 0 while it goes on; 1 where it ended without a word",
                [this] { return status_command(context_, status_directory_, status_json_); });
        sub.add_option("RUN_DIRECTORY", status_directory_, "The directory of the run")->required();
        sub.add_flag("--json", status_json_, "Print JSON");
    }

    void add_adaptation() {
        CLI::App& sub = add(
            "adaptation", "Say what changes of a task did to fitness, and how long recovery took",
            "  cambrian adaptation runs/near runs/far      # far began with near's networks\n"
            "  cambrian adaptation runs/mine-1 --change 50 --change 100 --share 0.9",
            [this] { return adaptation_command(context_, adaptation_); });
        sub.add_option("RUN_DIRECTORIES", adaptation_.runs,
                       "A run, or several of which each begins with the networks of the one before "
                       "(network.initial) on another task")
            ->required();
        sub.add_option("--change", adaptation_.changes,
                       "First generation after a change, where the task of a single run changes by "
                       "itself (repeatable)")
            ->allow_extra_args(false)
            ->type_name("GENERATION");
        sub.add_option("--measure", adaptation_.measure, "Column of generations.csv")
            ->capture_default_str()
            ->check(CLI::IsMember({"best", "mean", "worst", "validated"}));
        sub.add_option("--share", adaptation_.share,
                       "Of what was before a change: then it counts as recovered; losses by its "
                       "inverse")
            ->capture_default_str()
            ->check(CLI::Range(0.0, 1.0));
        sub.add_flag("--json", adaptation_.json, "Print JSON");
    }

    void add_individuals() {
        CLI::App& sub =
            add("individuals", "Print the individuals of a run as CSV (log.individuals)",
                "  cambrian individuals runs/cart_pole-1 --csv individuals.csv\n"
                "  cambrian individuals runs/cart_pole-1 --generation 90-99 | head",
                [this] { return individuals_command(context_, individuals_); });
        sub.add_option("RUN_DIRECTORY", individuals_.directory, "The directory of the run")
            ->required();
        sub.add_option("--csv", individuals_.csv, "File for the rows; - or none: standard output")
            ->type_name("FILE");
        sub.add_option("--generation", individuals_.generation, "One generation, or a range")
            ->type_name("N|A-B");
    }

    void add_lineage() {
        CLI::App& sub = add("lineage", "Print the ancestors of a network as CSV, the oldest first",
                            "  cambrian lineage runs/xor-1 --csv lineage.csv\n"
                            "  cambrian lineage runs/xor-1 --birth 4711",
                            [this] { return lineage_command(context_, lineage_); });
        sub.add_option("RUN_DIRECTORY", lineage_.run, "The directory of the run")->required();
        sub.add_option("--birth", lineage_.birth,
                       "A birth of 'cambrian individuals'; without it that of best.cmb");
        sub.add_option("--csv", lineage_.csv, "File for the rows; - or none: standard output")
            ->type_name("FILE");
    }

    void add_extract() {
        CLI::App& sub =
            add("extract",
                "Write the fittest networks of a run's checkpoint as files, and their genotypes "
                "where these develop",
                "  cambrian extract runs/xor-1 --elite 5\n"
                "  cambrian extract runs/xor_species-1 --species-champions\n"
                "  cambrian extract runs/xor-1/checkpoint-10.cmb --elite 5 -o elites-10",
                [this] { return extract_command(context_, extract_); });
        sub.add_option("RUN", extract_.run, "The directory of the run, or one of its checkpoints")
            ->required();
        CLI::Option* elite =
            sub.add_option("--elite", extract_.elite, "How many, the fittest first")
                ->capture_default_str()
                ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
        sub.add_flag("--species-champions", extract_.species_champions,
                     "The fittest of each species that lives, where the run has species")
            ->excludes(elite);
        sub.add_option("-o,--output", extract_.output,
                       "Folder for elite-1.cmb, elite-2.cmb, ... (RUN/elites), or for "
                       "species-1.cmb, ... (RUN/species)");
    }

    void add_report() {
        CLI::App& sub =
            add("report", "Write one HTML page about a run, or about many of one experiment",
                "  cambrian report runs/cart_pole-1\n"
                "  cambrian report trials/xor -o xor.html\n"
                "The page needs no network and no other file",
                [this] { return report_command(context_, report_); });
        sub.add_option("RUN", report_.sources,
                       "Directories of runs, or of trials (all of the runs in it)")
            ->required();
        sub.add_option("-o,--output", report_.output, "The page (report.html in the first RUN)")
            ->type_name("FILE");
    }

    static void add_ensemble(CLI::App& sub, std::string& ensemble, std::vector<double>& weights) {
        const auto& names = evolve::ensemble_names;
        sub.add_option("--ensemble", ensemble,
                       "All networks answer together. majority: a vote each, the larger sum of "
                       "probabilities decides between equals; weighted: votes by weights, or the "
                       "weighted mean of numbers; mean: of probabilities or numbers")
            ->check(CLI::IsMember(std::vector<std::string>(names.begin(), names.end())));
        sub.add_option("--weights", weights, "Of --ensemble weighted, one for each network")
            ->delimiter(',')
            ->allow_extra_args(false)
            ->type_name("W,W,..");
    }

    void add_evaluate() {
        CLI::App& sub =
            add("evaluate",
                "Evaluate a network on the task it was evolved for, or several side by side",
                "  cambrian evaluate runs/cart_pole-1/best.cmb --episodes 100\n"
                "  cambrian evaluate runs/coal-7/best.cmb --phase test --metrics\n"
                "  cambrian evaluate a.cmb b.cmb c.cmb --ensemble weighted --pairs 3\n"
                "  cambrian evaluate runs/digits-1 --elite 10 --pairs 5 --json",
                [this] { return evaluate_command(context_, evaluate_); });
        sub.add_option("NETWORKS", evaluate_.networks,
                       "Networks (.cmb); checkpoints or directories of runs stand for the networks "
                       "that may become parents")
            ->required();
        sub.add_option("--elite", evaluate_.elite,
                       "How many of each checkpoint, the fittest first; without it all")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
        sub.add_flag("--metrics", evaluate_.metrics,
                     "Of rows with right answers: mse, mae, r2, buckets of deviations; of classes "
                     "accuracy, precision, recall, f1, log loss, Brier, confusion, calibration");
        sub.add_flag("--json", evaluate_.json, "Print JSON, with every metric");
        add_ensemble(sub, evaluate_.ensemble, evaluate_.weights);
        sub.add_option("--pairs", evaluate_.pairs,
                       "Print so many pairs of networks that are right on different rows")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
        sub.add_option("--coverage", evaluate_.coverage,
                       "Of --pairs: the least share of rows that one of the two answers right")
            ->check(CLI::Range(0.0, 1.0));
        sub.add_option("--episodes", evaluate_.episodes, "Episodes, where the task has episodes")
            ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
        sub.add_option("--config", evaluate_.config, "Evaluate on the task of this config");
        sub.add_option("--phase", evaluate_.phase,
                       "Data to use, or champion: the test that tells whether the task is solved; "
                       "without it the last data that the task has")
            ->check(CLI::IsMember({"train", "validation", "test", "champion"}));
        add_gpu_flags(sub, evaluate_.dump, evaluate_.profile);
        add_overrides(sub, evaluate_.overrides);
    }

    void add_infer() {
        CLI::App& sub =
            add("infer",
                "Run a network on the rows of a CSV file; nothing else is needed: columns are "
                "found by name, scaled and answered in the units of the data it learnt",
                "  cambrian infer runs/xor-1/best.cmb --input rows.csv -o answers.csv\n"
                "  cambrian infer a.cmb b.cmb c.cmb --ensemble mean --input rows.csv\n"
                "  tail -n +1 rows.csv | cambrian infer best.cmb --input -",
                [this] { return infer_command(context_, infer_); });
        sub.add_option(
               "NETWORKS", infer_.networks,
               "The network, a .cmb file, or a .safetensors that cambrian convert wrote; or "
               "several that answer together")
            ->required();
        add_ensemble(sub, infer_.ensemble, infer_.weights);
        sub.add_option("--input", infer_.input,
                       "CSV file with a header line, or - for standard input")
            ->required();
        sub.add_option("-o,--output", infer_.output, "File for the answers; else standard output");
        sub.add_flag(
            "--raw", infer_.raw,
            "Pass all columns by position, as they are, and outputs as the network gives them");
        sub.add_flag("--observe", infer_.observe,
                     "Say on standard error what every layer gives: mean, largest, least, active");
        add_overrides(sub, infer_.overrides);
    }

    void add_generate() {
        CLI::App& sub = add("generate", "Continue texts by networks that read tokens",
                            "  cambrian generate runs/characters-1/best.cmb --prompt 'The '\n"
                            "  cambrian generate best.cmb --tokenizer tokenizer.json --prompts "
                            "prompts.txt --temperature 0 --json\n"
                            "  cambrian generate a.cmb b.cmb --prompt 'The ' --top-p 0.9 --speed",
                            [this] { return generate_command(context_, generate_); });
        GenerationSettings& settings = generate_.settings;
        SamplingSettings& sampling = settings.sampling;
        sub.add_option("NETWORKS", generate_.networks,
                       "Networks (.cmb) of one structure; each continues every prompt")
            ->required();
        sub.add_option(
            "--tokenizer", generate_.tokenizer,
            "tokenizer.json, or \"bytes\"; else the characters or bytes that the network "
            "was trained on");
        sub.add_option("--prompt", generate_.prompts, "Text to continue (repeatable)")
            ->allow_extra_args(false);
        sub.add_option("--prompts", generate_.prompts_file,
                       "File with a prompt in each line, or - for standard input");
        sub.add_option("--max-tokens", settings.max_tokens, "Most tokens after a prompt")
            ->capture_default_str();
        sub.add_option("--temperature", sampling.temperature,
                       "Divides the logits; 0: always the most likely token")
            ->capture_default_str();
        sub.add_option("--top-k", sampling.top_k, "Only so many of the most likely; 0: all")
            ->capture_default_str();
        sub.add_option("--top-p", sampling.top_p,
                       "Only the fewest of the most likely that have this probability together")
            ->capture_default_str();
        sub.add_option("--min-p", sampling.min_p,
                       "Only those with this share of the probability of the most likely")
            ->capture_default_str();
        sub.add_option("--repetition-penalty", sampling.repetition_penalty,
                       "Makes tokens that were there less likely; 1: no")
            ->capture_default_str();
        sub.add_option("--stop", generate_.stop, "End a text before this word (repeatable)")
            ->allow_extra_args(false);
        sub.add_option(
               "--seed", settings.seed,
               "Of the choices: of equal seeds, a prompt in the same place becomes the same "
               "text, whatever stands beside it")
            ->capture_default_str();
        sub.add_flag("!--no-cache", settings.cache,
                     "Pass over the whole text for each token: the same, slower");
        sub.add_option("--block", settings.block, "Positions of the first cache, which grows")
            ->capture_default_str();
        sub.add_flag("--json", generate_.json, "Print a line of JSON for each text");
        sub.add_flag("--speed", generate_.speed,
                     "Say on standard error, or with --json in a last "
                     "line, how fast it was");
        add_overrides(sub, generate_.overrides);
    }

    void add_inspect() {
        CLI::App& sub = add("inspect", "Show the structure, genes and origin of a network",
                            "  cambrian inspect runs/xor-1/best.cmb\n"
                            "  cambrian inspect runs/xor-1/best.cmb --dot | dot -Tsvg > best.svg",
                            [this] { return inspect_command(context_, inspect_); });
        sub.add_option("NETWORK", inspect_.network, "The network, a .cmb file")->required();
        CLI::Option* json = sub.add_flag("--json", inspect_.json, "Print JSON");
        sub.add_flag("--dot", inspect_.dot, "Print a graphviz graph")->excludes(json);
    }

    void add_compare() {
        CLI::App& sub = add("compare", "Compare the DNA of networks",
                            "  cambrian compare runs/xor-1/best.cmb runs/xor-2/best.cmb\n"
                            "  cambrian compare a.cmb b.cmb --measure permutation\n"
                            "  cambrian compare a.cmb b.cmb c.cmb --measure activation --csv -\n"
                            "  cambrian compare runs/xor-1 --csv alike.csv\n"
                            "  cambrian compare runs/xor-1 --cluster 3 --csv clusters.csv\n"
                            "  cambrian compare runs/xor-1 --group 0.3 --linkage complete\n"
                            "  cambrian compare runs/xor-1 --measure history --tree newick",
                            [this] { return compare_command(context_, compare_); });
        sub.add_option("SOURCES", compare_.sources,
                       "Networks (.cmb), checkpoints, or directories of runs")
            ->required();
        sub.add_option(
               "--measure", compare_.measure,
               "strict: weight by weight; permutation: after the units of the later network "
               "are brought into the best order; activation: by what layers give (CKA); history: "
               "the compatibility distance of genes by their history")
            ->capture_default_str()
            ->check(CLI::IsMember({"strict", "permutation", "activation", "history"}));
        sub.add_option("--csv", compare_.csv,
                       "File for the similarities of all pairs, or - for standard output");
        sub.add_option("--probes", compare_.probes,
                       "activation: sequences of random numbers that networks are asked about")
            ->capture_default_str()
            ->check(CLI::Range(2, 4096));
        sub.add_option("--seed", compare_.seed,
                       "activation: key of these numbers; --cluster: of the first centres")
            ->capture_default_str();
        add_grouping(sub);
    }

    /// Distances are 1 - similarity.
    void add_grouping(CLI::App& sub) {
        CLI::Option* clusters =
            sub.add_option("--cluster", compare_.clusters,
                           "So many clusters by k-means, a network being the point of its "
                           "distances (1 - similarity) to all; --csv has a row for each network")
                ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
        CLI::Option* within =
            sub.add_option("--group", compare_.group,
                           "Groups that are merged while they are at most so far from each other")
                ->type_name("DISTANCE")
                ->check(CLI::NonNegativeNumber)
                ->excludes(clusters);
        sub.add_option("--groups", compare_.groups, "So many groups, the nearest merged first")
            ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}))
            ->excludes(clusters)
            ->excludes(within);
        sub.add_option("--linkage", compare_.linkage,
                       "How far groups are from each other: by their nearest members (single), all "
                       "(average) or farthest (complete)")
            ->capture_default_str()
            ->check(CLI::IsMember({"single", "average", "complete"}));
        sub.add_option("--tree", compare_.tree, "Print the tree of all merges")
            ->check(CLI::IsMember({"text", "newick"}));
    }

    void add_graft(CLI::App& sub) {
        sub.add_option("--at", splice_.at,
                       "Grafts: the slot of A that gets a layer of B; without it both networks as "
                       "a whole, side by side")
            ->type_name("SLOT")
            ->check(CLI::NonNegativeNumber);
        sub.add_option("--from", splice_.from, "Grafts: the slot of B; else that of --at")
            ->type_name("SLOT")
            ->check(CLI::NonNegativeNumber);
        sub.add_option("--combine", splice_.combine,
                       "graft: concat begins as A alone, average and filter as the mean; else "
                       "average")
            ->check(CLI::IsMember({"concat", "add", "average", "filter"}));
        sub.add_option("--gain", splice_.gain,
                       "residual_graft: how much of B is added; 0, the default: the child begins "
                       "as A");
    }

    void add_splice() {
        CLI::App& sub = add("splice", "Make a child of two networks",
                            "  cambrian splice a.cmb b.cmb -o child.cmb --mode blend --report\n"
                            "  cambrian splice a.cmb b.cmb -o both.cmb --mode graft --combine "
                            "average\n"
                            "  cambrian splice a.cmb b.cmb -o more.cmb --mode residual_graft --at "
                            "1 --gain 0.1",
                            [this] { return splice_command(context_, splice_); });
        sub.add_option("A", splice_.first, "A network, a .cmb file")->required();
        sub.add_option("B", splice_.second, "Another one; the fitter one gives the structure")
            ->required();
        sub.add_option("-o,--output", splice_.output, "File for the child")->required();
        sub.add_option("--mode", splice_.mode,
                       "How weights are mixed; neat: crossover of single neurons by their history; "
                       "graft: A with all of B, or with a layer of it, beside its own; "
                       "residual_graft: added to what is there")
            ->capture_default_str()
            ->check(CLI::IsMember({"blend", "point", "uniform", "gene", "neuron", "neat", "graft",
                                   "residual_graft"}));
        add_graft(sub);
        sub.add_option("--align", splice_.align,
                       "permutation: bring the units of the other parent into the fitter's order")
            ->capture_default_str()
            ->check(CLI::IsMember({"none", "permutation"}));
        sub.add_option("--alpha", splice_.alpha, "blend: share of the other parent")
            ->capture_default_str()
            ->check(CLI::Range(0.0F, 1.0F));
        sub.add_option("--split", splice_.split, "point: share of the fitter parent")
            ->capture_default_str()
            ->check(CLI::Range(0.0F, 1.0F));
        sub.add_option("--seed", splice_.seed, "Key of the random numbers")
            ->capture_default_str()
            ->check([](const std::string& text) {
                return text.starts_with("-") ? text + " is negative" : std::string();
            });
        sub.add_option("--fitness", splice_.fitness,
                       "Fitness of A and of B; else that of the files, unknown as equal")
            ->expected(2)
            ->type_name("A B");
        sub.add_flag("--report", splice_.report, "Print what became of each gene");
    }

    void add_quantise() {
        CLI::App& sub = add(
            "quantise", "Say what a number format makes of a network, and write the network in it",
            "  cambrian quantise runs/digits-1/best.cmb --dtype int8\n"
            "  cambrian quantise best.cmb --dtype int4 --calibrate -o best_int4.cmb",
            [this] { return quantise_command(context_, quantise_); });
        sub.add_option("NETWORK", quantise_.network, "The network, a .cmb file")->required();
        sub.add_option("--dtype", quantise_.dtype,
                       "Number format of matrices, kernels and connections, such as int8; float32: "
                       "none")
            ->required();
        sub.add_option("--activation-dtype", quantise_.activation_dtype,
                       "Number format of the rows that enter layers")
            ->capture_default_str();
        sub.add_flag("--calibrate", quantise_.calibrate,
                     "Choose for each tensor the share of its range that codes span, by the "
                     "fitness on the training data of the task");
        sub.add_option("--config", quantise_.config, "Judge it on the task of this config");
        sub.add_option("-o,--output", quantise_.output, "File for the network in its format");
        add_overrides(sub, quantise_.overrides);
    }

    void add_convert() {
        CLI::App& sub =
            add("convert", "Write a network in another format, by the endings of the files",
                "  cambrian convert runs/xor-1/best.cmb best.safetensors --dtype F16\n"
                "  cambrian convert best.safetensors again.cmb\n"
                "  cambrian convert best.cmb small.safetensors --inference --dtype int8\n"
                "  cambrian convert torch.safetensors mine.cmb --network configs/xor.json "
                "--rename fc1=slot.0 --rename fc2=head\n"
                "  cambrian convert runs/xor-1/best.cmb network.json\n"
                "  cambrian convert network.json fresh.cmb --seed 3\n"
                "  cambrian convert Llama-folder llama.cmb\n"
                "  cambrian convert llama.cmb other-folder --family llama --shard-size 2GB\n"
                "  cambrian convert mlp.safetensors mlp.cmb --family torch --activation relu",
                [this] { return convert_command(context_, convert_); });
        sub.add_option("INPUT", convert_.input,
                       "A .cmb, .safetensors or .json file, or the folder or index of a model")
            ->required();
        sub.add_option("OUTPUT", convert_.output, "Another one; a folder with --family")
            ->required();
        sub.add_option("--dtype", convert_.dtype,
                       "Type of the weights of tensors written, such as F16; else F32");
        sub.add_flag("--inference", convert_.inference,
                     "Write codes and scales of number formats in place of weights: those of its "
                     "layers, or --dtype such as int8 for all");
        add_convert_model(sub);
        sub.add_flag("--force", convert_.force,
                     "Convert even where more than one weight in a hundred would become zero or be "
                     "limited");
        sub.add_option("--network", convert_.network,
                       "Config whose network the weights of a .safetensors belong to");
        sub.add_option("--rename", convert_.renames,
                       "Name tensors anew: a whole name, or what is before a dot (repeatable)")
            ->allow_extra_args(false)
            ->type_name("FROM=TO");
        sub.add_option("--seed", convert_.seed, "Key of the weights of a .json; else 1")
            ->check(CLI::NonNegativeNumber);
    }

    void add_tokenize() {
        CLI::App& sub =
            add("tokenize", "Turn a text into ids and back, or learn a tokenizer from texts",
                "  cambrian tokenize text.txt --tokenizer tokenizer.json\n"
                "  echo Hello | cambrian tokenize - --tokenizer tokenizer.json --text\n"
                "  cambrian tokenize ids.txt --tokenizer tokenizer.json --decode\n"
                "  cambrian tokenize --chat messages.json --template chatml --prompt\n"
                "  cambrian tokenize --train text.txt --vocabulary 4096 -o tokenizer.json\n"
                "  cambrian tokenize --train text.txt --kind character -o tokenizer.json",
                [this] { return tokenize_command(context_, tokenize_); });
        CLI::Option* input = sub.add_option("INPUT", tokenize_.input,
                                            "The text, or with --decode the ids; - is standard "
                                            "input");
        CLI::Option* tokenizer = sub.add_option("--tokenizer", tokenize_.tokenizer,
                                                "A tokenizer.json of Hugging Face's format, of the "
                                                "kind BPE, or its folder");
        const auto form = [&](const char* flag, TokenForm value, const char* text) {
            return sub.add_flag_callback(
                flag, [this, value] { tokenize_.form = value; }, text);
        };
        CLI::Option* ids = form("--ids", TokenForm::ids, "Print the ids in a line (the default)");
        CLI::Option* lines =
            form("--text", TokenForm::text, "Print id and name of each token in a line")
                ->excludes(ids);
        CLI::Option* json =
            form("--json", TokenForm::json, "Print JSON")->excludes(ids)->excludes(lines);
        CLI::Option* bare = sub.add_flag("--bare", tokenize_.bare,
                                         "Leave out the tokens that the tokenizer puts around "
                                         "every text");
        CLI::Option* decode = sub.add_flag("--decode", tokenize_.decode, "Turn ids into their text")
                                  ->needs(input)
                                  ->needs(tokenizer);
        for (CLI::Option* other : {ids, lines, json, bare}) decode->excludes(other);
        sub.add_flag("--special", tokenize_.show_special,
                     "--decode: show special tokens by their names")
            ->needs(decode);
        CLI::Option* chat =
            sub.add_option("--chat", tokenize_.chat,
                           "Messages as JSON, [{\"role\": \"user\", \"content\": ..}, ..]; without "
                           "--tokenizer their text is printed")
                ->excludes(input)
                ->excludes(bare);
        sub.add_option("--template", tokenize_.chat_template,
                       "--chat: chatml, llama2, llama3, gemma, phi3, mistral, zephyr, or a "
                       "tokenizer_config.json whose template is one of them")
            ->capture_default_str()
            ->needs(chat);
        sub.add_flag("--prompt", tokenize_.prompt, "--chat: end where the assistant speaks next")
            ->needs(chat);
        CLI::Option* train = sub.add_option("--train", tokenize_.train,
                                            "Texts to learn a tokenizer from, written to --output")
                                 ->excludes(input)
                                 ->excludes(tokenizer)
                                 ->excludes(chat);
        sub.add_option("--kind", tokenize_.kind,
                       "--train: bpe (byte-pair encoding), character or byte")
            ->capture_default_str()
            ->check(CLI::IsMember({"bpe", "character", "byte"}))
            ->needs(train);
        sub.add_option("--vocabulary", tokenize_.vocabulary,
                       "--train: how many tokens, special ones included, bpe has")
            ->capture_default_str()
            ->check(CLI::Range(1, 1 << 20))
            ->needs(train);
        sub.add_option("--least-count", tokenize_.least_count,
                       "--train: pairs of bpe that stand more rarely stay apart")
            ->capture_default_str()
            ->check(CLI::PositiveNumber)
            ->needs(train);
        sub.add_option("--special-tokens", tokenize_.special,
                       "--train: names of special tokens, which get the last ids")
            ->capture_default_str()
            ->needs(train);
        sub.add_option("-o,--output", tokenize_.output,
                       "File for the result; else standard output");
    }

    void add_convert_model(CLI::App& sub) {
        std::vector<std::string> families;
        for (const std::string_view name : models::family_choices()) families.emplace_back(name);
        sub.add_option("--family", convert_.family,
                       "Names of a model: of a folder written, or else of what is read (auto: as "
                       "its config.json says, without one from names and shapes)")
            ->check(CLI::IsMember(families));
        sub.add_option("--shard-size", convert_.shard_bytes,
                       "Most bytes of a file in a folder written, such as 2GB; else 5GB")
            ->transform(CLI::AsSizeValue(true))
            ->check(CLI::PositiveNumber);
        sub.add_option("--with", convert_.model.fields,
                       "What names and shapes do not tell: a field of all layers that have it, or "
                       "of one module (repeatable)")
            ->allow_extra_args(false)
            ->type_name("[MODULE.]FIELD=VALUE");
        sub.add_option("--heads", convert_.heads, "As --with heads=..");
        sub.add_option(
            "--activation", convert_.activation,
            "As --with activation=..: of dense layers and convolutions but the last one");
        sub.add_option("--after", convert_.model.insertions,
                       "A layer without weights after a module: a type, or JSON (repeatable)")
            ->allow_extra_args(false)
            ->type_name("MODULE=LAYER");
        sub.add_option("--order", convert_.model.order, "Modules that come first, in their order")
            ->delimiter(',');
        sub.add_option("--blocks", convert_.model.blocks,
                       "pre_norm: in numbered blocks a norm and what follows it is added to what "
                       "enters; plain: one after another")
            ->check(CLI::IsMember({"pre_norm", "plain"}));
        sub.add_option("--input", convert_.model.input, "Extents of what enters, such as 3,32,32")
            ->delimiter(',')
            ->check(CLI::PositiveNumber);
    }

    void add_validate() {
        CLI::App& sub =
            add("validate", "Check a config, its data and its network",
                "  cambrian validate configs/coal.json",
                [this] { return validate_command(context_, evolve_.config, evolve_.overrides); });
        sub.add_option("CONFIG", evolve_.config, "The config file")->required();
        add_overrides(sub, evolve_.overrides);
    }

    void add_explain() {
        CLI::App& sub = add("explain", "Explain a key of a config, or list them all",
                            "  cambrian explain\n"
                            "  cambrian explain mutation.link_add_rate\n"
                            "  cambrian explain --json > schema.json",
                            [this] { return explain_command(context_, key_, schema_json_); });
        CLI::Option* key = sub.add_option("KEY", key_, "The key, such as population.size");
        sub.add_flag("--json", schema_json_, "Print the JSON schema of configs, with every default")
            ->excludes(key);
    }

    void add_devices() {
        CLI::App& sub = add("devices", "List the GPUs of this host",
                            "  cambrian devices\n"
                            "  cambrian devices --json",
                            [this] { return devices_command(context_, devices_json_); });
        sub.add_flag("--json", devices_json_, "Print JSON");
    }

    void add_ops() {
        CLI::App& sub = add("ops", "List every operation a graph can hold, with its rules",
                            "  cambrian ops\n"
                            "  cambrian ops --json",
                            [this] { return ops_command(context_, ops_json_); });
        sub.add_flag("--json", ops_json_, "Print JSON");
    }

    void add_layers() {
        CLI::App& sub =
            add("layers", "List every layer type, or one, with its fields, shapes and formula",
                "  cambrian layers\n"
                "  cambrian layers lstm\n"
                "  cambrian layers --json",
                [this] { return layers_command(context_, layers_); });
        CLI::Option* type = sub.add_option("TYPE", layers_.type, "The layer type, such as dense");
        sub.add_flag("--activations", layers_.activations, "List the activations that layers take")
            ->excludes(type);
        sub.add_flag("--json", layers_.json, "Print JSON");
    }

    void add_check() {
        CLI::App& sub = add(
            "check",
            "Check a network: gradients against central differences in f64, steps against "
            "sequences, a backend against the reference. Exit code 1 where a bound is passed",
            "  cambrian check runs/xor-1/best.cmb\n"
            "  cambrian check configs/coal.json --all\n"
            "  cambrian check best.cmb --set engine.backend=vulkan --set engine.device=software",
            [this] { return check_command(context_, check_); });
        CheckSettings& check = check_.check;
        sub.add_option("NETWORK", check_.network,
                       "A .cmb file, or a config, whose network gets fresh weights")
            ->required();
        CLI::Option* samples =
            sub.add_option("--samples", check.samples, "Elements of each tensor that are checked")
                ->capture_default_str()
                ->check(CLI::Range(1, 1 << 24));
        sub.add_flag("--all", check_.all, "Check every element")->excludes(samples);
        sub.add_option("--bound", check.bound, "Largest relative error of a gradient in f64")
            ->capture_default_str()
            ->check(CLI::PositiveNumber);
        sub.add_option("--backend-bound", check.backend_bound,
                       "Largest relative error of the backend in f32")
            ->capture_default_str()
            ->check(CLI::PositiveNumber);
        sub.add_option("--step", check.step, "Of differences, times max(1, |value|)")
            ->capture_default_str()
            ->check(CLI::Range(1e-12, 1.0));
        sub.add_option("--batch", check.batch, "Rows, or sequences")
            ->capture_default_str()
            ->check(CLI::Range(1, 4096));
        sub.add_option("--time", check.time, "Steps of a sequence, for networks with a state")
            ->capture_default_str()
            ->check(CLI::Range(1, 4096));
        sub.add_option("--seed", check.seed, "Key of the random numbers")->capture_default_str();
        sub.add_flag("--json", check_.json, "Print JSON");
        sub.add_option(
               "--set", check_.overrides,
               "Set a key of the section engine, such as engine.backend=vulkan (repeatable)")
            ->allow_extra_args(false)
            ->type_name("KEY=VALUE");
    }

    void add_registry() {
        CLI::App& sub =
            add("registry",
                "List all that is registered: ops, layers, losses, optimizers, tasks, strategies, "
                "commands, with fields, defaults and what they mean",
                "  cambrian registry\n"
                "  cambrian registry --json | jq '.layers[].name'",
                [this] { return registry_command(context_, commands(), registry_json_); });
        sub.add_flag("--json", registry_json_, "Print JSON");
    }

    /// The sub-commands with their options.
    [[nodiscard]] Json commands() const {
        Json list = Json::array();
        for (const CLI::App* sub : app_.get_subcommands(nullptr)) {
            Json options = Json::array();
            for (const CLI::Option* option : sub->get_options())
                options.push_back(
                    {{"name", option->get_name(true, true)},
                     {"allowed", option->get_type_name()},
                     {"default",
                      option->get_default_str().empty() ? Json() : Json(option->get_default_str())},
                     {"required", option->get_required()},
                     {"meaning", option->get_description()}});
            list.push_back({{"name", sub->get_name()},
                            {"summary", sub->get_description()},
                            {"fields", std::move(options)},
                            {"examples", sub->get_footer()}});
        }
        return list;
    }

    CommandContext context_;
    CLI::App app_;
    std::function<int()> command_;
    std::string first_;  ///< The first word after the program.
    RunOptions evolve_;
    RunOptions resume_;
    RunOptions train_;
    TrialsOptions trials_;
    SweepOptions sweep_;
    std::string status_directory_;
    bool status_json_ = false;
    AdaptationOptions adaptation_;
    IndividualsOptions individuals_;
    LineageOptions lineage_;
    ExtractOptions extract_;
    ReportOptions report_;
    EvaluateOptions evaluate_;
    InferOptions infer_;
    GenerateOptions generate_;
    InspectOptions inspect_;
    CompareOptions compare_;
    SpliceOptions splice_;
    ConvertOptions convert_;
    TokenizeOptions tokenize_;
    QuantiseOptions quantise_;
    std::string key_;
    bool schema_json_ = false;
    bool devices_json_ = false;
    bool ops_json_ = false;
    LayersOptions layers_;
    CheckOptions check_;
    bool registry_json_ = false;
};

}  // namespace

int run_program(const std::vector<std::string>& arguments, const evolve::TaskRegistry& tasks,
                std::ostream& out, std::ostream& err, const evolve::StrategyRegistry& strategies,
                const evolve::GenomeRegistry& genomes) {
    int code = exit_failed;
    try {
        CommandLine command_line({tasks, out, err, strategies, genomes});
        code = command_line.run(arguments);
        // A full disk may only be told now.
        if (!out.flush() && launcher_rank() == 0)
            throw InputError(
                "standard output cannot be written (the disk is full, or its reader has gone) free "
                "space, or send it elsewhere");
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        code = failure.exit_code;
        if (launcher_rank() == 0) {
            out.flush();
            err << "cambrian: error: " << failure.text << std::endl;
        }
    }
    if (launcher_rank() == 0) record_exit_code(code);
    return code;
}

}  // namespace cambrian::launch

namespace cambrian {

int main(int argc, char** argv, const evolve::TaskRegistry& tasks,
         const evolve::StrategyRegistry& strategies, const evolve::GenomeRegistry& genomes) {
    try {
        launch::open_standard_descriptors();
    } catch (const Error& error) {
        std::cerr << "cambrian: error: " << error.what() << std::endl;
        return exit_failed;
    }
    const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
    return launch::run_program(arguments, tasks, std::cout, std::cerr, strategies, genomes);
}

}  // namespace cambrian
