#include "cambrian/launch/scaling/scaling_program.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/program/number_options.hpp"
#include "cambrian/launch/scaling/scaling_run.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// What is evolved where no config is named: every individual is evaluated in every generation.
constexpr const char* default_config = R"({
    "run": {"name": "scaling"},
    "task": {"type": "cart_pole", "episode_seeds": "per_generation"},
    "network": {"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}],
                "grid": {"depth": 1, "rows": 1, "cols": 1, "layers_per_cell": 4}},
    "log": {"individuals": "none"}
})";

struct ScalingOptions {
    std::vector<int> ranks{1, 64, 1024};
    std::uint64_t per_rank = 64;
    std::uint64_t population = 0;  ///< 0: by the ranks.
    std::optional<std::uint64_t> generations;
    std::string exchange;  ///< Empty: that of the config.
    std::string config;
    std::vector<std::string> overrides;
    std::string directory;
    bool calibrate = false;
    Price price;
    double slow_share = 0.0;
    double slow_factor = 2.0;
    distributed::NetworkCosts costs;
};

/// Where runs without a directory of their own lie, until the end.
class TemporaryFolder {
  public:
    TemporaryFolder() : path_((fs::temp_directory_path() / "cambrian-scaling-XXXXXX").string()) {
        if (mkdtemp(path_.data()) == nullptr)
            throw OutputError(
                fmt::format("{} cannot be made (the system refuses it) name a --directory", path_));
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

void add_options(CLI::App& app, ScalingOptions& options) {
    const CLI::AsNumberWithUnit seconds(
        std::map<std::string, double>{{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}});
    const CLI::AsNumberWithUnit rate(std::map<std::string, double>{
        {"B", 1.0}, {"MB", 1e6}, {"GB", 1e9}, {"Mbit", 1.25e5}, {"Gbit", 1.25e8}});
    const CLI::Range positive(1, 1000000);
    const CLI::Range time(0.0, 86400.0);
    app.add_option("--ranks", options.ranks, "Numbers of ranks to simulate, such as 64,1024")
        ->delimiter(',')
        ->check(CLI::Range(1, 65536));
    app.add_option("--per-rank", options.per_rank, "Individuals for each rank")->check(positive);
    app.add_option("--population", options.population, "Individuals, however many the ranks are")
        ->check(positive);
    app.add_option("--cost", options.price.seconds, "Mean time of one evaluation, such as 1ms")
        ->transform(seconds)
        ->check(time);
    app.add_option("--cost-spread", options.price.spread,
                   "Standard deviation of that time, as a part of it (lognormal)")
        ->check(CLI::Range(0.0, 100.0));
    app.add_option("--slow-ranks", options.slow_share, "Share of the ranks that are slower")
        ->check(CLI::Range(0.0, 1.0));
    app.add_option("--slow-factor", options.slow_factor, "How many times as long these take")
        ->check(CLI::Range(1.0, 1000.0));
    app.add_option("--generations", options.generations,
                   "Generations, of which the first 2 do not count; in the steady state rows, of "
                   "which those of the first window do not count either (8, or twice as many as do "
                   "not count)")
        ->check(CLI::Range(3, 1000000));
    app.add_option("--exchange", options.exchange, "What travels between ranks")
        ->check(CLI::IsMember({"births", "genomes"}));
    app.add_option(
           "--config", options.config,
           "A config with the strategy, the network and all else; its task gives the shapes")
        ->type_name("FILE");
    app.add_option("--set", options.overrides,
                   "Set a key of the config, such as run.seed=2; none that an option here sets")
        ->allow_extra_args(false)
        ->type_name("KEY=VALUE");
    app.add_option("--directory", options.directory, "Keep the run directories there")
        ->type_name("DIRECTORY");
    app.add_option("--latency", options.costs.latency, "Between two links, such as 2us")
        ->transform(seconds)
        ->check(time);
    app.add_option("--bandwidth", options.costs.bandwidth,
                   "Of the link of a rank, in a second, such as 10GB or 100Gbit")
        ->transform(rate)
        ->check(CLI::Range(1.0, 1e15));
    app.add_option("--per-message", options.costs.per_message,
                   "Work of the communication library for a message, at both ends")
        ->transform(seconds)
        ->check(time);
    app.add_option("--late-wakeup", options.costs.late_wakeup,
                   "How much later than it wanted to a rank wakes that sleeps between messages")
        ->transform(seconds)
        ->check(time);
    app.add_option("--processors", options.costs.processors,
                   "Processors that all ranks share for all but evaluations; 0: each has its own")
        ->check(CLI::Range(0, 65536));
    app.add_flag("--calibrate", options.calibrate,
                 "Measure latency, bandwidth and work of messages (on two real ranks)");
}

/// @param number of the run among those with so many ranks.
fs::path directory_of(const std::string& folder, int ranks, int number = 1) {
    const std::string name = fmt::format("ranks-{}", ranks);
    return fs::path(folder) / (number == 1 ? name : fmt::format("{}-{}", name, number));
}

/// What this program sets itself, and the options that say how.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> own_keys{
    {{"population.size", "--population or --per-rank"},
     {"run.stop", "--generations"},
     {"run.directory", "--directory"}}};

/// Throws ConfigError for assignments that would change nothing.
void check_overrides(const std::vector<std::string>& overrides) {
    const ConfigDocument set = document_from(Json::object(), "", fs::current_path(), overrides);
    for (const auto& [key, option] : own_keys) {
        std::string pointer = fmt::format("/{}", key);
        std::ranges::replace(pointer, '.', '/');
        if (set.json->contains(Json::json_pointer(pointer)))
            throw ConfigError(fmt::format(
                "--set of {} changes nothing (an option takes its place) give {}", key, option));
    }
}

void check_generations(const ScalingRun& run) {
    const std::uint64_t generations = run.experiment.stop.generations;
    if (generations <= run.warm_up())
        throw ConfigError(
            fmt::format("--generations is {} (the first {} rows of this steady state do not count: "
                        "2, and those of a window) give {} or more",
                        generations, run.warm_up(), 2 * run.warm_up()));
}

/// The config with the population of this run in it: what is checked is what runs.
ConfigDocument document_of(const ScalingOptions& options, int ranks) {
    check_overrides(options.overrides);
    ConfigDocument document =
        options.config.empty()
            ? document_from(parse_config(default_config, "the built-in config"),
                            "the built-in config", fs::current_path(), options.overrides)
            : read_config(options.config, options.overrides);
    const bool fixed = options.population > 0;
    Json json = *document.json;
    if (Json& population = json["population"]; population.is_null() || population.is_object())
        population["size"] =
            fixed ? options.population : options.per_rank * static_cast<std::uint64_t>(ranks);
    document.json = std::make_shared<const Json>(std::move(json));
    document.origins.record(
        "population.size", fixed
                               ? fmt::format("--population {}", options.population)
                               : fmt::format("--per-rank {} on {} ranks", options.per_rank, ranks));
    return document;
}

void check_learning(const evolve::LearningSettings& learning) {
    if (learning.on())
        throw ConfigError(fmt::format(
            "learning.mode is {} (evaluations are replaced by the time they take, so nothing "
            "learns) set it to \"off\", and give a --cost with the steps of gradient in it",
            evolve::learning_mode_names[static_cast<std::size_t>(learning.mode)]));
}

ScalingRun make_run(const ScalingOptions& options, int ranks, const fs::path& directory) {
    const evolve::TaskRegistry tasks = evolve::standard_tasks();
    const Schema schema(tasks);
    const ResolvedConfig config = resolve_evolution(document_of(options, ranks), schema);
    ScalingRun run;
    run.experiment = make_experiment(config, schema, tasks);
    check_learning(run.experiment.learning);
    run.price = options.price;
    run.slow_share = options.slow_share;
    run.slow_factor = options.slow_factor;
    distributed::Experiment& experiment = run.experiment;
    experiment.directory = directory;
    experiment.stop = {};
    experiment.stop.generations =
        options.generations.value_or(std::max<std::uint64_t>(8, 2 * run.warm_up()));
    if (!options.exchange.empty())
        experiment.distribution.exchange = options.exchange == "genomes"
                                               ? distributed::Exchange::genomes
                                               : distributed::Exchange::births;
    // Nobody dies, and the ranks of one process share its locks.
    experiment.distribution.takeover = distributed::Takeover::never;
    check_generations(run);
    return run;
}

std::string header() {
    return fmt::format("{:>6} {:>12} {:>10} {:>11} {:>9} {:>13} {:>12} {:>12}\n", "ranks",
                       "generation", "efficiency", "coordinator", "decide", "besides/birth",
                       "to/birth", "from/birth");
}

std::string line_of(const ScalingResult& result) {
    return fmt::format(
        "{:>6} {:>9.3f} ms {:>10.3f} {:>9.1f} % {:>6.3f} ms {:>10.3f} us {:>10.1f} B {:>10.1f} B\n",
        result.ranks, 1e3 * result.generation_seconds, result.efficiency,
        100.0 * result.coordinator_share, 1e3 * result.decide_seconds,
        1e6 * result.coordinator_seconds, result.bytes_to_coordinator,
        result.bytes_from_coordinator);
}

std::string costs_text(const distributed::NetworkCosts& costs) {
    return fmt::format("--latency {:.2f}us --bandwidth {:.2f}GB --per-message {:.2f}us",
                       1e6 * costs.latency, 1e-9 * costs.bandwidth, 1e6 * costs.per_message);
}

int run_simulations(const ScalingOptions& options, std::ostream& out) {
    if (options.calibrate)
        throw ConfigError(
            "--calibrate measures real messages (there is one process only) start it with "
            "launch/mpi "
            "-n 2 cambrian_scaling --calibrate");
    const SignalGuard signals;
    std::optional<TemporaryFolder> temporary;
    if (options.directory.empty()) temporary.emplace();
    std::vector<ScalingRun> simulated;  // All are checked before the first is simulated.
    std::map<int, int> runs;  // With so many ranks: whoever asks for them twice sees the spread.
    for (const int ranks : options.ranks) {
        const std::string& folder = temporary ? temporary->path() : options.directory;
        simulated.push_back(make_run(options, ranks, directory_of(folder, ranks, ++runs[ranks])));
    }
    out << fmt::format("simulated: evaluations of {:g} ms, {} --late-wakeup {:.0f}us\n",
                       1e3 * options.price.seconds, costs_text(options.costs),
                       1e6 * options.costs.late_wakeup)
        << header() << std::flush;
    for (std::size_t i = 0; i < simulated.size(); ++i)
        out << line_of(simulate(simulated[i], options.ranks[i], options.costs, signals.flag()))
            << std::flush;
    return exit_done;
}

/// Under a launcher of ranks the run is real.
int run_real(const ScalingOptions& options, std::ostream& out, std::ostream& err) {
    constexpr double start_seconds = 60.0;
    const SignalGuard signals;
    distributed::MpiSession session(start_seconds, announce_mpi());
    const bool speaks = session.rank() == 0;
    if (speaks) record_start();
    int code = exit_done;
    try {
        distributed::Communicator communicator = session.communicator();
        if (session.size() < 2)
            throw ConfigError(
                "a real run wants two ranks or more (there is one) start it with launch/mpi -n 2");
        if (options.calibrate) {
            const distributed::NetworkCosts costs = measure_network(communicator);
            if (speaks) out << costs_text(costs) << std::endl;
        } else {
            if (options.directory.empty())
                throw ConfigError(
                    "a real run wants a directory (that all ranks see) name it with --directory");
            const ScalingRun run =
                make_run(options, session.size(), directory_of(options.directory, session.size()));
            const ScalingResult result = run_for_real(run, communicator, signals.flag());
            if (speaks)
                out << fmt::format("real: evaluations of {:g} ms\n", 1e3 * options.price.seconds)
                    << header() << line_of(result) << std::flush;
        }
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        code = failure.exit_code;
        if (speaks) {
            err << error_line(failure.text, "cambrian_scaling") << std::flush;
            record_exit_code(code, session.patience());
            session.abort(code);
        }
    }
    session.set_exit_code(code);
    if (speaks) record_exit_code(code, session.patience());
    return code;
}

}  // namespace

int run_scaling(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
    ScalingOptions options;
    CLI::App app(
        "Says how well a run would use many ranks: the whole run is done here, in virtual time, by "
        "as many simulated ranks; only evaluations are replaced by the time they take. Under a "
        "launcher (launch/mpi -n 8 cambrian_scaling …) it runs on real ranks, which sleep that "
        "long.",
        "cambrian_scaling");
    add_options(app, options);
    check_numbers(app);
    app.footer(
        "Examples:\n"
        "  cambrian_scaling --ranks 64,1024 --cost 1ms\n"
        "  cambrian_scaling --ranks 256 --cost 20ms --config configs/cart_pole.json --latency 25us "
        "--bandwidth 10Gbit\n"
        "  launch/mpi -n 2 cambrian_scaling --calibrate\n"
        "Columns: time of a generation; efficiency, the part of it in which all ranks evaluate; "
        "part "
        "of it that the coordinator is busy, of which the strategy decides so long, and all else "
        "comes to so much for a birth; bytes for a birth to and from the coordinator.");
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(std::move(reversed));
    } catch (const CLI::Success& request) {
        return app.exit(request, out, err);
    } catch (const CLI::ParseError& error) {
        if (launcher_rank() == 0)
            err << error_line(
                fmt::format("{} (wrong usage) see 'cambrian_scaling --help'", error.what()),
                "cambrian_scaling");
        return exit_config;
    }
    if (under_launcher()) return run_real(options, out, err);
    try {
        return run_simulations(options, out);
    } catch (...) {
        const Failure failure = failure_of(std::current_exception());
        err << error_line(failure.text, "cambrian_scaling") << std::flush;
        return failure.exit_code;
    }
}

}  // namespace cambrian::launch
