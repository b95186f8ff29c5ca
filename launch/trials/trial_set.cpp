#include "cambrian/launch/trials/trial_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/trials/trials_summary.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";
constexpr const char* table_name = "trials.csv";
constexpr const char* summary_name = "summary.json";
constexpr std::string_view folder_prefix = "seed-";
constexpr std::uint64_t longest_table = std::uint64_t{1} << 30U;

/// The folder, made where it is missing.
fs::path made(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error)
        throw OutputError(
            fmt::format("{} cannot be made ({}) give another --directory, or check its permissions",
                        path.string(), error.message()));
    return path;
}

/// Whether a key decides what a trial comes to: who it is and when it ends. Seeds and places are
/// each run's own.
bool decides(const Difference& change) {
    return change.key != "run.seed" &&
           (change.key_class == "identity" || change.key.starts_with("run.stop"));
}

}  // namespace

TrialSet::TrialSet(const ResolvedConfig& config, const Schema& schema, SeedRange wanted,
                   TrialContent content)
    : path_(made(config.effective->at("run").at("directory").get<std::string>())),
      wanted_(wanted),
      content_(std::move(content)),
      lock_(std::make_unique<distributed::RunLock>(path_)) {
    check_config(config, schema);
    trials_ = read_trials(path_);
    // A run without hashes goes on from its own checkpoint, which compares them and has ended.
    const std::vector<std::uint64_t> unknown = content_.take(path_, wanted_seeds());
    std::erase_if(trials_, [&](const Trial& trial) {
        return std::ranges::find(unknown, trial.seed) != unknown.end();
    });
    const std::string text = config.written->dump(2) + "\n";
    check_network_text(text, (path_ / config_name).string());
    distributed::replace_text(path_ / config_name, text);
    content_.write(path_);
    write_table();
}

void TrialSet::check_config(const ResolvedConfig& config, const Schema& schema) const {
    const auto text = distributed::read_text_file(path_ / config_name, network_text_limits.length);
    if (!text) return;
    if (!holds_trials(path_))
        throw ConfigError(
            fmt::format("{} holds a run of its own (trials have a directory for many) give another "
                        "--directory",
                        path_.string()));
    const Json then = with_defaults(schema, parse_config(*text, (path_ / config_name).string()));
    for (const Difference& change : differences(schema, then, *config.written))
        if (decides(change))
            throw ConfigError(fmt::format(
                "{} holds trials with another {} (it was {}, now it is {}) restore it, or give "
                "another --directory",
                path_.string(), change.key, shortened(change.before), shortened(change.after)));
}

std::vector<std::uint64_t> TrialSet::wanted_seeds() const {
    std::vector<std::uint64_t> seeds;
    for (const Trial& trial : trials_)
        if (wanted_.contains(trial.seed)) seeds.push_back(trial.seed);
    return seeds;
}

void TrialSet::write_table() const {
    std::string table = trials_header();
    for (const Trial& trial : trials_) table += trial_line(trial);
    distributed::replace_text(path_ / table_name, table);
}

fs::path TrialSet::directory_of(std::uint64_t seed) const {
    return path_ / fmt::format("{}{}", folder_prefix, seed);
}

bool TrialSet::holds(std::uint64_t seed) const {
    return std::ranges::find(trials_, seed, &Trial::seed) != trials_.end();
}

void TrialSet::add(const Trial& trial, const distributed::Experiment& experiment) {
    // Before its row: a run whose content is not known is made again.
    content_.add(path_, trial.seed, experiment);
    append_line(path_ / table_name, trial_line(trial));
    trials_.push_back(trial);
}

std::vector<Trial> TrialSet::finish() {
    std::ranges::sort(trials_, {}, &Trial::seed);
    write_table();
    std::vector<Trial> wanted;
    std::ranges::copy_if(trials_, std::back_inserter(wanted),
                         [&](const Trial& trial) { return wanted_.contains(trial.seed); });
    Json summary{{"first_seed", wanted_.first}, {"wanted", wanted_.count}};
    summary.update(to_json(summary_of(wanted)));
    distributed::replace_text(path_ / summary_name, summary.dump(2) + "\n");
    return wanted;
}

std::vector<Trial> read_trials(const fs::path& directory) {
    const fs::path table = directory / table_name;
    const std::string text = distributed::read_text_file(table, longest_table).value_or("");
    if (!text.empty() && !text.starts_with(trials_header()))
        throw InputError(fmt::format(
            "{} is no table of trials (its first line is another) move it away", table.string()));
    std::istringstream lines(text);
    std::string line;
    std::getline(lines, line);
    std::vector<Trial> trials;
    std::set<std::uint64_t> seeds;
    while (std::getline(lines, line)) {
        // A line that was cut short is of a run that ends again.
        if (const auto trial = read_trial_line(line);
            trial && !lines.eof() && seeds.insert(trial->seed).second)
            trials.push_back(*trial);
    }
    return trials;
}

bool is_folder_of_trial(std::string_view name) {
    return name.starts_with(folder_prefix) &&
           number_in<std::uint64_t>(name.substr(folder_prefix.size()));
}

}  // namespace cambrian::launch
