#include "cambrian/launch/trials/trial_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/schema_validator.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr const char* content_name = "content.json";
constexpr const char* seeds_name = "seeds.jsonl";
constexpr const char* data_key = "data";
constexpr std::uint64_t longest_content = std::uint64_t{16} << 20U;
constexpr std::uint64_t longest_seeds = std::uint64_t{1} << 30U;

Json content_of(const distributed::Experiment& experiment) {
    return Json::parse(distributed::run_identity(experiment)).at("content");
}

/// The value of a name, as messages have it.
std::string value_text(const Json& content, const std::string& name) {
    if (content.contains(name)) return shortened(content[name].dump());
    return content.contains(data_key) ? "none" : "that of each seed";
}

/// Throws ConfigError for the first name of which `now` has another value than `then`.
/// @param whose of which runs, after the name.
void check_same(const fs::path& directory, const Json& then, const Json& now,
                const std::string& whose) {
    for (const Json* content : {&now, &then})
        for (const auto& [name, value] : content->items())
            if (!then.contains(name) || !now.contains(name) || then[name] != now[name])
                throw ConfigError(fmt::format(
                    "{} holds trials with another {}{} (it was {}, now it is {}) restore it, or "
                    "give another --directory",
                    directory.string(), name, whose, value_text(then, name),
                    value_text(now, name)));
}

std::string seed_line(std::uint64_t seed, const Json& content) {
    return Json{{"seed", seed}, {"content", content}}.dump() + "\n";
}

/// The lines of a seeds.jsonl by their seeds.
std::map<std::uint64_t, std::shared_ptr<const Json>> seeds_of(const fs::path& path) {
    std::istringstream lines(distributed::read_text_file(path, longest_seeds).value_or(""));
    std::map<std::uint64_t, std::shared_ptr<const Json>> seeds;
    for (std::string line; std::getline(lines, line);) {
        const Json entry = Json::parse(line, nullptr, false);
        // A line that was cut short is of a run that is not known, and ends again.
        if (entry.is_object() && entry.contains("content") && entry["content"].is_object() &&
            entry.contains("seed") && entry["seed"].is_number_unsigned())
            seeds[entry["seed"].get<std::uint64_t>()] =
                std::make_shared<const Json>(entry["content"]);
    }
    return seeds;
}

/// Takes out what the program of a task is told.
void leave_out_program(Json& task, const std::string& usual_type) {
    if (!task.is_object() || task.value("type", usual_type) != "external") return;
    task.erase("command");
    task.erase("settings");
}

}  // namespace

TrialContent::TrialContent(const std::string& arithmetic, const distributed::Experiment& first,
                           Prepare prepare)
    : prepare_(std::move(prepare)) {
    Json of_all = prepare_ ? Json::object() : content_of(first);
    of_all["arithmetic"] = arithmetic;
    of_all_ = std::make_shared<const Json>(std::move(of_all));
}

std::vector<std::uint64_t> TrialContent::take(const fs::path& directory,
                                              const std::vector<std::uint64_t>& seeds) {
    const fs::path path = directory / content_name;
    if (const auto text = distributed::read_text_file(path, longest_content))
        check_same(directory, parse_config(*text, path.string()), *of_all_, "");
    if (!prepare_) return {};
    by_seed_ = seeds_of(directory / seeds_name);
    std::vector<std::uint64_t> unknown;
    std::ranges::copy_if(seeds, std::back_inserter(unknown),
                         [&](std::uint64_t seed) { return !by_seed_.contains(seed); });
    for (const std::uint64_t seed : seeds) {
        const auto found = by_seed_.find(seed);
        if (found == by_seed_.end()) continue;
        const auto experiment = prepare_(seed);
        if (!experiment) break;
        check_same(directory, *found->second, content_of(*experiment),
                   fmt::format(" of seed {}", seed));
    }
    return unknown;
}

void TrialContent::write(const fs::path& directory) const {
    distributed::replace_text(directory / content_name, of_all_->dump(2) + "\n");
    if (!prepare_) return;
    std::string lines;
    for (const auto& [seed, own] : by_seed_) lines += seed_line(seed, *own);
    distributed::replace_text(directory / seeds_name, lines);
}

void TrialContent::add(const fs::path& directory, std::uint64_t seed,
                       const distributed::Experiment& experiment) {
    if (prepare_) append_line(directory / seeds_name, seed_line(seed, content_of(experiment)));
}

bool seed_names_data(const Schema& schema, const Json& config, const std::string& base_directory) {
    Json read = keys_of_class(schema, config, "identity");
    read["base_directory"] = base_directory;
    Json& task = read["task"];
    const std::string type = task.value("type", "");
    leave_out_program(task, type);
    if (task.contains("changes"))
        for (Json& change : task["changes"]) leave_out_program(change["task"], type);
    return read.dump().find("{seed}") != std::string::npos;
}

bool holds_trials(const fs::path& directory) {
    std::error_code unknown;
    return fs::exists(directory / content_name, unknown);
}

void append_line(const fs::path& table, std::string_view line) {
    std::ofstream file(table, std::ios::app | std::ios::binary);
    file << line << std::flush;
    if (!file)
        throw OutputError(
            fmt::format("{} cannot be written (the disk is full, or the system refuses) free space "
                        "and give the command again: it goes on",
                        table.string()));
}

}  // namespace cambrian::launch
