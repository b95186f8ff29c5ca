#include "cambrian/launch/report/data/run_data.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"
#include "cambrian/evolve/runs/run_log.hpp"
#include "cambrian/launch/config/config_file.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using distributed::LogReader;
using distributed::whole_number;

/// Generations of which the sizes of species are kept; even, as every second one goes.
constexpr std::size_t max_species_generations = 2048;

/// Those that tell of the best network, which there is none of where nobody is valid.
bool is_of_best(const std::string& column) {
    return column == "parameters" || column == "bytes" || column == "products";
}

void read_generations(RunData& run) {
    LogReader log(run.directory / "generations.csv");
    const std::size_t generation_at = log.at("generation");
    const std::optional<std::size_t> best_at = log.find("best");
    std::vector<std::pair<std::size_t, double>> prices;
    for (const auto& [name, price] : run.prices)
        if (const auto at = log.find(name)) prices.emplace_back(*at, price);
    const bool unpriced = best_at && !prices.empty() && prices.size() == run.prices.size();
    std::vector<ColumnThinner> columns(log.columns().size());
    ColumnThinner best;
    while (const auto row = log.next()) {
        const double generation = log.generation();
        const bool nobody = best_at && !std::isfinite((*row)[*best_at]);
        for (std::size_t i = 0; i < columns.size(); ++i) {
            // Not every generation is validated: where one is not, nothing is missing.
            if (log.columns()[i] == "validated" && !std::isfinite((*row)[i])) continue;
            const bool none = nobody && is_of_best(log.columns()[i]);
            columns[i].add(generation, none ? std::nan("") : (*row)[i]);
        }
        if (!unpriced) continue;
        double value = (*row)[*best_at];
        for (const auto& [at, price] : prices) value += price * (*row)[at];
        best.add(generation, value);
    }
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (i != generation_at) run.columns[log.columns()[i]] = columns[i].column();
    if (best_at) run.sampled_best = columns[*best_at].sample();
    if (const auto mean_at = log.find("mean")) run.sampled_mean = columns[*mean_at].sample();
    run.unpriced = best.column();
}

void read_timings(RunData& run) {
    const fs::path path = run.directory / "timings.csv";
    if (!fs::exists(path)) return;
    LogReader log(path);
    const auto rank_at = log.find("rank");
    if (!rank_at) return;
    const auto generation_at = log.find("generation");
    const auto evaluate_at = log.find("evaluate");
    std::vector<std::pair<const char*, std::size_t>> summed;
    for (const char* name : {"evaluate", "vary", "wait", "communicate"})
        if (const auto at = log.find(name)) summed.emplace_back(name, *at);
    while (const auto row = log.next()) {
        const std::int64_t rank = whole_number((*row)[*rank_at], path);
        if (generation_at && evaluate_at) {
            const auto generation = static_cast<double>(whole_number((*row)[*generation_at], path));
            MeanColumn& column = run.evaluation_by_rank[rank];
            const double seconds = (*row)[*evaluate_at];
            if (std::isfinite(seconds)) column.add(generation, seconds);
        }
        for (const auto& [name, at] : summed) run.seconds_by_rank[rank][name] += (*row)[at];
    }
}

void read_species(RunData& run) {
    const fs::path path = run.directory / "species.csv";
    if (!fs::exists(path)) return;
    LogReader log(path);
    const auto generation_at = log.find("generation");
    const auto id_at = log.find("id");
    const auto size_at = log.find("size");
    if (!generation_at || !id_at || !size_at) return;
    const auto island_at = log.find("island");
    std::optional<std::int64_t> last;
    std::size_t seen = 0;
    std::size_t stride = 1;
    bool kept = false;
    while (const auto row = log.next()) {
        const std::int64_t generation = whole_number((*row)[*generation_at], path);
        if (generation != last) {
            last = generation;
            kept = seen++ % stride == 0;
            if (kept && run.species.size() == max_species_generations) {
                bool second = true;
                std::erase_if(run.species, [&](const auto&) { return (second = !second); });
                stride *= 2;
            }
        }
        if (!kept) continue;
        const std::int64_t island = island_at ? whole_number((*row)[*island_at], path) : 0;
        run.species[generation][{island, whole_number((*row)[*id_at], path)}] += (*row)[*size_at];
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

}  // namespace cambrian::launch
