#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv/records.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/trials/grid.hpp"
#include "cambrian/launch/trials/trial_set.hpp"
#include "cambrian/launch/trials/trials_summary.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* default_sweep_directory = "sweeps/{name}";

TrialsContext trials_context(const CommandContext& context) {
    return {context.tasks, context.strategies, context.genomes, context.out, context.err};
}

/// Throws ConfigError where other ranks wait for this one.
void require_one_process() {
    if (distributed::launched_ranks() > 1)
        throw ConfigError(fmt::format(
            "trials run in one process (this is one of {}) start them without mpirun or "
            "srun, and give --jobs",
            distributed::launched_ranks()));
}

std::string go_on_text(const std::string& directory, std::uint64_t left) {
    return fmt::format("interrupted, {} {} left; the same command goes on\n  {}\n", left,
                       left == 1 ? "run is" : "runs are", directory);
}

/// The trials of each point, in a folder of the sweep's directory.
std::vector<TrialsOptions> trials_of(const SweepOptions& options,
                                     const std::vector<Dimension>& dimensions,
                                     const std::vector<Point>& points) {
    const std::vector<std::string> folders = folders_of(dimensions, points);
    const fs::path base =
        options.trials.directory.empty() ? default_sweep_directory : options.trials.directory;
    std::vector<TrialsOptions> result(points.size(), options.trials);
    for (std::size_t i = 0; i < points.size(); ++i) {
        for (std::size_t k = 0; k < dimensions.size(); ++k)
            result[i].overrides.push_back(fmt::format("{}={}", dimensions[k].key, points[i][k]));
        result[i].directory = (base / folders[i]).string();
    }
    return result;
}

/// Checks all points: better now than after the trials of those before. → Their directories, in one
/// folder, which is for the table.
std::vector<fs::path> check_points(const TrialsContext& context, const Schema& schema,
                                   const std::vector<TrialsOptions>& points) {
    std::vector<fs::path> directories;
    for (const TrialsOptions& point : points) {
        directories.push_back(check_trials(context, schema, point));
        const fs::path folder = directories.front().parent_path();
        const fs::path own = directories.back().parent_path();
        if (own != folder)
            throw ConfigError(fmt::format(
                "the points of the sweep lie in several folders, {} and {} (a key of --over stands "
                "in the directory of the sweep, whose sweep.csv has all points) give a --directory "
                "without that key: each point has a folder with its values there",
                folder.string(), own.string()));
    }
    return directories;
}

/// Wanted runs of all points that have not ended.
std::uint64_t runs_left(const std::vector<fs::path>& points, const SeedRange& wanted) {
    std::uint64_t left = 0;
    for (const fs::path& point : points) {
        const auto ended = std::ranges::count_if(
            read_trials(point), [&](const Trial& trial) { return wanted.contains(trial.seed); });
        left += wanted.count - static_cast<std::uint64_t>(ended);
    }
    return left;
}

/// The table of a sweep, a row for each point that has trials.
class SweepTable {
  public:
    explicit SweepTable(const std::vector<Dimension>& dimensions) : dimensions_(dimensions) {}

    void add(const Point& point, const TrialsSummary& summary) {
        const auto columns = columns_of(summary);
        if (text_.empty()) {
            for (const Dimension& dimension : dimensions_) text_ += csv_cell(dimension.key) + ",";
            append(columns, &std::pair<std::string, std::string>::first);
        }
        for (const std::string& value : point) text_ += csv_cell(value) + ",";
        append(columns, &std::pair<std::string, std::string>::second);
    }
    void write(const fs::path& directory) const {
        distributed::replace_text(directory / "sweep.csv", text_);
    }

  private:
    void append(const std::vector<std::pair<std::string, std::string>>& columns,
                std::string std::pair<std::string, std::string>::*part) {
        for (std::size_t i = 0; i < columns.size(); ++i)
            text_ += (i == 0 ? "" : ",") + columns[i].*part;
        text_ += '\n';
    }

    const std::vector<Dimension>& dimensions_;
    std::string text_;
};

}  // namespace

int trials_command(const CommandContext& context, const TrialsOptions& options) {
    require_one_process();
    const SignalGuard signals;
    const Schema schema(context.tasks, context.genomes);
    const TrialsDone done = run_trials(trials_context(context), schema, options, signals.flag());
    if (!done.trials.empty()) context.out << summary_text(summary_of(done.trials));
    if (done.interrupted) {
        context.out << go_on_text(done.directory, options.runs - done.trials.size());
        return exit_interrupted;
    }
    context.out << fmt::format("  {}/trials.csv, summary.json, seed-*/best.cmb\n", done.directory);
    return exit_done;
}

int sweep_command(const CommandContext& context, const SweepOptions& options) {
    require_one_process();
    const SignalGuard signals;
    const Schema schema(context.tasks, context.genomes);
    const std::vector<Dimension> dimensions = dimensions_of(options.over);
    const std::vector<Point> points = points_of(dimensions);
    const TrialsContext trials = trials_context(context);
    const std::vector<TrialsOptions> all = trials_of(options, dimensions, points);
    const std::vector<fs::path> directories = check_points(trials, schema, all);
    const fs::path directory = directories.front().parent_path();
    SweepTable table(dimensions);
    for (std::size_t i = 0; i < points.size(); ++i) {
        context.out << name_of(dimensions, points[i]) << '\n';
        const TrialsDone done = run_trials(trials, schema, all[i], signals.flag());
        if (!done.trials.empty()) {
            const TrialsSummary summary = summary_of(done.trials);
            context.out << summary_text(summary) << std::flush;
            table.add(points[i], summary);
            table.write(directory);
        }
        if (done.interrupted) {
            const SeedRange wanted{options.trials.first_seed, options.trials.runs};
            context.out << go_on_text(directory.string(), runs_left(directories, wanted));
            return exit_interrupted;
        }
    }
    context.out << fmt::format("{} points: {}/sweep.csv\n", points.size(), directory.string());
    return exit_done;
}

}  // namespace cambrian::launch
