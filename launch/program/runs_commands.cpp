#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/program/command_line.hpp"
#include "cambrian/launch/program/number_options.hpp"

// Options of the commands of the room launch/commands/runs.
namespace cambrian::launch {

void CommandLine::add_new() {
    CLI::App& sub = add("new", "Write a config for the rows of a CSV file, with the reasons in it",
                        "  cambrian new --csv flowers.csv --target species\n"
                        "  cambrian new --csv load.csv --target load --time-offset 1 -o load.json",
                        [this] { return new_command(context_, new_); });
    sub.add_option("--csv", new_.csv, "The file, with a header line (commas, semicolons or tabs)")
        ->required();
    sub.add_option("--target", new_.targets, "The column to predict (repeatable)")
        ->allow_extra_args(false)
        ->required();
    sub.add_option("--time-offset", new_.time_offset,
                   "Rows are a time series: predict the target so many rows later")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1000000}));
    sub.add_option("--mode", new_.mode,
                   "Else texts and few different whole numbers are classes, other numbers are not")
        ->check(CLI::IsMember({"classification", "regression"}));
    sub.add_option("-o,--output", new_.output,
                   "The config, or - for standard output; else called as the CSV file is");
    sub.add_flag("--force", new_.force, "Replace a config that is there");
}

void CommandLine::add_evolve() {
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
    sub.add_flag("--print-config", evolve_.print_config,
                 "Print every setting but what follows from others, run nothing");
    sub.add_flag("--dry-run", evolve_.dry_run,
                 "Print network, memory, shards and ranks, run nothing");
    sub.add_flag("-q,--quiet", evolve_.quiet, "Print only warnings and errors");
    add_require_solved(sub, evolve_);
    add_gpu_flags(sub, evolve_.dump, evolve_.profile);
}

void CommandLine::add_resume() {
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
    sub.add_flag("--print-config", resume_.print_config,
                 "Print every setting but what follows from others, run nothing");
    sub.add_flag("--dry-run", resume_.dry_run,
                 "Print network, memory, shards and ranks, run nothing");
    sub.add_flag("-q,--quiet", resume_.quiet, "Print only warnings and errors");
    add_require_solved(sub, resume_);
    add_gpu_flags(sub, resume_.dump, resume_.profile);
}

void CommandLine::add_train() {
    CLI::App& sub =
        add("train", "Train a network, or several at once, by gradient or by targets of layers",
            "  cambrian train configs/train_spirals.json\n"
            "  cambrian train configs/train_sine.json --set "
            "'training.learning_rate=[0.1,0.03,0.01]'",
            [this] { return train_command(context_, train_); });
    sub.add_option("CONFIG", train_.config, "The config file")->required();
    add_overrides(sub, train_.overrides);
    sub.add_flag("--print-config", train_.print_config,
                 "Print every setting but what follows from others, run nothing");
    sub.add_flag("--dry-run", train_.dry_run, "Print network, data and memory, run nothing");
    sub.add_flag("-q,--quiet", train_.quiet, "Print only warnings and errors");
    add_gpu_flags(sub, train_.dump, train_.profile);
}

void CommandLine::add_trial_options(CLI::App& sub, TrialsOptions& options) {
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

void CommandLine::add_trials() {
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

void CommandLine::add_sweep() {
    CLI::App& sub =
        add("sweep", "Trials of every combination of values of some keys, in one table",
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

void CommandLine::add_status() {
    CLI::App& sub =
        add("status", "Say how a run stands, or how it ended",
            "  cambrian status runs/cart_pole-1\n"
            "  cambrian status runs/cart_pole-1 --json\n"
            "Exit code: that of the run; 0 while it goes on; 1 where it ended without a word",
            [this] { return status_command(context_, status_directory_, status_json_); });
    sub.add_option("RUN_DIRECTORY", status_directory_, "The directory of the run")->required();
    sub.add_flag("--json", status_json_, "Print JSON");
}

void CommandLine::add_adaptation() {
    CLI::App& sub =
        add("adaptation", "Say what changes of a task did to fitness, and how long recovery took",
            "  cambrian adaptation runs/near runs/far      # far began with near's networks\n"
            "  cambrian adaptation runs/changing-1         # its config has task.changes\n"
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
        ->type_name("GENERATION")
        ->check(whole_number_fault);
    sub.add_option("--measure", adaptation_.measure, "Column of generations.csv")
        ->capture_default_str()
        ->check(CLI::IsMember({"best", "mean", "worst", "validated"}));
    sub.add_option("--share", adaptation_.share,
                   "Of what was before a change: then it counts as recovered; losses by its "
                   "inverse")
        ->capture_default_str()
        ->check(positive_share());
    sub.add_flag("--json", adaptation_.json, "Print JSON");
}

void CommandLine::add_individuals() {
    CLI::App& sub = add("individuals", "Print the individuals of a run as CSV (log.individuals)",
                        "  cambrian individuals runs/cart_pole-1 --csv individuals.csv\n"
                        "  cambrian individuals runs/cart_pole-1 --generation 90-99 | head",
                        [this] { return individuals_command(context_, individuals_); });
    sub.add_option("RUN_DIRECTORY", individuals_.directory, "The directory of the run")->required();
    sub.add_option("--csv", individuals_.csv, "File for the rows; - or none: standard output")
        ->type_name("FILE");
    sub.add_option("--generation", individuals_.generation, "One generation, or a range")
        ->type_name("N|A-B");
}

void CommandLine::add_lineage() {
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

void CommandLine::add_extract() {
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
    CLI::Option* elite = sub.add_option("--elite", extract_.elite, "How many, the fittest first")
                             ->capture_default_str()
                             ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1000000}));
    sub.add_flag("--species-champions", extract_.species_champions,
                 "The fittest of each species that lives, where the run has species")
        ->excludes(elite);
    sub.add_option("-o,--output", extract_.output,
                   "Folder for elite-1.cmb, elite-2.cmb, ... (RUN/elites), or for "
                   "species-1.cmb, ... (RUN/species)");
}

void CommandLine::add_report() {
    CLI::App& sub =
        add("report", "Write one HTML page about a run, or about many of one experiment",
            "  cambrian report runs/cart_pole-1\n"
            "  cambrian report trials/xor -o xor.html\n"
            "  cambrian report runs/cart_pole-1 --watch\n"
            "The page needs no network and no other file",
            [this] { return report_command(context_, report_); });
    sub.add_option("RUN", report_.sources,
                   "Directories of runs, or of trials (all of the runs in it)")
        ->required();
    CLI::Option* output =
        sub.add_option("-o,--output", report_.output,
                       "The page, or - for standard output (report.html in the first RUN)")
            ->type_name("FILE");
    CLI::Option* watch =
        sub.add_flag("--watch", report_.watch,
                     "Serve the page over HTTP and renew it as the run goes on, until Ctrl-C; "
                     "whoever works on this host can read it")
            ->excludes(output);
    sub.add_option("--port", report_.port, "Of --watch; 0: one that is free")
        ->capture_default_str()
        ->check(CLI::Range(0, 65535))
        ->needs(watch);
    sub.add_option("--address", report_.address,
                   "Of --watch; another than that of this host alone lets everybody read who "
                   "reaches it")
        ->capture_default_str()
        ->needs(watch);
}

}  // namespace cambrian::launch
