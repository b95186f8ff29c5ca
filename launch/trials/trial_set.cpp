#include "cambrian/launch/trials/trial_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/trials/trials_summary.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* config_name = "config.json";
constexpr const char* content_name = "content.json";
constexpr const char* table_name = "trials.csv";
constexpr const char* summary_name = "summary.json";

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

/// The text of a file; nothing where there is none.
std::optional<std::string> file_text(const fs::path& path) {
    std::error_code error;
    if (!fs::exists(path, error)) return std::nullopt;
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file)
        throw InputError(fmt::format("{} cannot be read (the system refuses) check its permissions",
                                     path.string()));
    return text.str();
}

/// Whether a key decides what a trial comes to: who it is and when it ends. Seeds and places are
/// each run's own.
bool decides(const Difference& change) {
    return change.key != "run.seed" &&
           (change.key_class == "identity" || change.key.starts_with("run.stop"));
}

[[noreturn]] void refuse(const fs::path& path, const std::string& what, const std::string& before,
                         const std::string& now) {
    throw ConfigError(
        fmt::format("{} holds trials with another {} (it was {}, now it is {}) restore it, or give "
                    "another --directory",
                    path.string(), what, shortened(before), shortened(now)));
}

}  // namespace

TrialSet::TrialSet(const ResolvedConfig& config, const Schema& schema, const Json& content)
    : path_(made(config.effective->at("run").at("directory").get<std::string>())),
      lock_(std::make_unique<distributed::RunLock>(path_)) {
    check_config(config, schema);
    check_content(content);
    distributed::replace_text(path_ / config_name, config.written->dump(2) + "\n");
    distributed::replace_text(path_ / content_name, content.dump(2) + "\n");
    read_trials();
}

void TrialSet::check_config(const ResolvedConfig& config, const Schema& schema) const {
    const auto text = file_text(path_ / config_name);
    if (!text) return;
    if (!fs::exists(path_ / content_name))
        throw ConfigError(
            fmt::format("{} holds a run of its own (trials have a directory for many) give another "
                        "--directory",
                        path_.string()));
    const Json then = with_defaults(schema, parse_config(*text, (path_ / config_name).string()));
    for (const Difference& change : differences(schema, then, *config.written))
        if (decides(change)) refuse(path_, change.key, change.before, change.after);
}

void TrialSet::check_content(const Json& content) const {
    const auto text = file_text(path_ / content_name);
    if (!text) return;
    const Json then = parse_config(*text, (path_ / content_name).string());
    for (const auto& [name, value] : content.items())
        if (const std::string before = then.contains(name) ? then[name].dump() : "none";
            before != value.dump())
            refuse(path_, name, before, value.dump());
}

void TrialSet::read_trials() {
    const fs::path table = path_ / table_name;
    const auto text = file_text(table);
    if (text && !text->empty() && !text->starts_with(trials_header()))
        throw InputError(fmt::format(
            "{} is no table of trials (its first line is another) move it away", table.string()));
    std::istringstream lines(text.value_or(""));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line)) {
        // A line that was cut short is of a run that ends again.
        if (const auto trial = read_trial_line(line); trial && !lines.eof() && !holds(trial->seed))
            trials_.push_back(*trial);
    }
    std::string whole = trials_header();
    for (const Trial& trial : trials_) whole += trial_line(trial);
    distributed::replace_text(table, whole);
}

fs::path TrialSet::directory_of(std::uint64_t seed) const {
    return path_ / fmt::format("seed-{}", seed);
}

bool TrialSet::holds(std::uint64_t seed) const {
    return std::ranges::find(trials_, seed, &Trial::seed) != trials_.end();
}

void TrialSet::add(const Trial& trial) {
    std::ofstream table(path_ / table_name, std::ios::app | std::ios::binary);
    table << trial_line(trial) << std::flush;
    if (!table)
        throw OutputError(
            fmt::format("{} cannot be written (the disk is full, or the system refuses) free space "
                        "and give the command again: it goes on",
                        (path_ / table_name).string()));
    trials_.push_back(trial);
}

std::vector<Trial> TrialSet::finish(std::uint64_t first_seed, std::uint64_t runs) {
    std::ranges::sort(trials_, {}, &Trial::seed);
    std::string table = trials_header();
    std::vector<Trial> wanted;
    for (const Trial& trial : trials_) {
        table += trial_line(trial);
        if (trial.seed >= first_seed && trial.seed - first_seed < runs) wanted.push_back(trial);
    }
    distributed::replace_text(path_ / table_name, table);
    Json summary{{"first_seed", first_seed}, {"wanted", runs}};
    summary.update(to_json(summary_of(wanted)));
    distributed::replace_text(path_ / summary_name, summary.dump(2) + "\n");
    return wanted;
}

}  // namespace cambrian::launch
