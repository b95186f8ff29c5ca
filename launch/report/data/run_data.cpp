#include "cambrian/launch/report/run_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_log.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/trials/trial_set.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using distributed::whole_number;

void read_generations(RunData& run) {
    const fs::path path = run.directory / "generations.csv";
    const distributed::RunLog log = distributed::read_run_log(path);
    const std::vector<double>& generations = distributed::generations_of(log, path);
    for (const auto& [name, values] : log) {
        if (name == "generation") continue;
        LoggedColumn& column = run.columns[name];
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!std::isfinite(values[i])) continue;
            column.generation.push_back(generations[i]);
            column.value.push_back(values[i]);
        }
    }
}

void read_timings(RunData& run) {
    const fs::path path = run.directory / "timings.csv";
    if (!fs::exists(path)) return;
    const distributed::RunLog log = distributed::read_run_log(path);
    const auto ranks = log.find("rank");
    if (ranks == log.end()) return;
    const auto generations = log.find("generation");
    const auto evaluations = log.find("evaluate");
    if (generations != log.end() && evaluations != log.end())
        for (std::size_t i = 0; i < ranks->second.size(); ++i) {
            LoggedColumn& column = run.evaluation_by_rank[whole_number(ranks->second[i], path)];
            if (!std::isfinite(evaluations->second[i])) continue;
            column.generation.push_back(
                static_cast<double>(whole_number(generations->second[i], path)));
            column.value.push_back(evaluations->second[i]);
        }
    for (const char* name : {"evaluate", "vary", "wait", "communicate"})
        if (const auto seconds = log.find(name); seconds != log.end())
            for (std::size_t i = 0; i < seconds->second.size(); ++i)
                run.seconds_by_rank[whole_number(ranks->second[i], path)][name] +=
                    seconds->second[i];
}

void read_species(RunData& run) {
    const fs::path path = run.directory / "species.csv";
    if (!fs::exists(path)) return;
    const distributed::RunLog log = distributed::read_run_log(path);
    const auto generations = log.find("generation");
    const auto ids = log.find("id");
    const auto sizes = log.find("size");
    if (generations == log.end() || ids == log.end() || sizes == log.end()) return;
    const auto islands = log.find("island");
    for (std::size_t i = 0; i < ids->second.size(); ++i) {
        const std::int64_t island =
            islands == log.end() ? 0 : whole_number(islands->second[i], path);
        run.species[whole_number(generations->second[i], path)]
                   [{island, whole_number(ids->second[i], path)}] += sizes->second[i];
    }
}

void read_standing(RunData& run) {
    // The lock first: who frees it has written how it ended.
    const bool held = is_held(run.directory);
    run.status = distributed::read_status_file(run.directory / "status.json");
    const distributed::RunStatus known = distributed::known_status(run.status, run.directory);
    run.generations = known.generation;
    run.state = known.state == "running" && !held ? "ended without a word" : known.state;
}

}  // namespace

bool is_held(const fs::path& directory) {
    try {
        return distributed::holder_of_run(directory).has_value();
    } catch (const Error&) {
        return true;
    }
}

RunData read_run(const fs::path& directory) {
    RunData run;
    run.directory = directory;
    if (!fs::exists(directory / "generations.csv"))
        throw InputError(fmt::format(
            "{} holds no generations.csv (it is not the directory of an evolution) name one",
            directory.string()));
    run.config = distributed::read_text_file(directory / "config.json", network_text_limits.length)
                     .value_or("");
    run.name = fs::absolute(directory).lexically_normal().filename().string();
    if (!run.config.empty()) {
        const Json config = parse_config(run.config, (directory / "config.json").string());
        const auto text_at = [&](const char* place, std::string& text) {
            const Json::json_pointer pointer(place);
            if (config.contains(pointer) && config.at(pointer).is_string())
                text = config.at(pointer).get<std::string>();
        };
        text_at("/run/name", run.name);
        text_at("/fingerprint", run.arithmetic);
        for (const char* counted : {"bytes", "products"}) {
            const Json::json_pointer weight(fmt::format("/selection/{}_weight", counted));
            if (config.contains(weight) && config.at(weight).is_number() &&
                config.at(weight).get<double>() > 0.0)
                run.prices[counted] = config.at(weight).get<double>();
        }
    }
    read_standing(run);
    read_generations(run);
    read_timings(run);
    read_species(run);
    if (fs::exists(directory / "best.cmb"))
        run.best = distributed::read_network(directory / "best.cmb");
    return run;
}

std::vector<fs::path> runs_in(const fs::path& path) {
    if (fs::exists(path / "generations.csv")) return {path};
    // Beside trials lie damaged ones that were set aside.
    const bool trials = holds_trials(path);
    std::vector<fs::path> runs;
    std::error_code unreadable;  // Another's folder, or a link that leads nowhere.
    if (fs::is_directory(path))
        for (const auto& entry : fs::directory_iterator(path))
            if (fs::exists(entry.path() / "generations.csv", unreadable) &&
                (!trials || is_folder_of_trial(entry.path().filename().string())))
                runs.push_back(entry.path());
    if (runs.empty())
        throw InputError(
            fs::exists(path / "epochs.csv")
                ? fmt::format("{} is the directory of a training (reports are of evolutions and "
                              "trials) see its epochs.csv, or name another directory",
                              path.string())
                : fmt::format("there is no run in {} (no generations.csv is there or one folder "
                              "below) name the directory of an evolution, or of trials",
                              path.string()));
    std::ranges::sort(runs, [](const fs::path& a, const fs::path& b) {
        const std::string left = a.filename();
        const std::string right = b.filename();
        return std::pair(left.size(), left) < std::pair(right.size(), right);
    });
    return runs;
}

}  // namespace cambrian::launch
