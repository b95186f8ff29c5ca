#include "cambrian/launch/report/run_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/csv.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_config = std::uint64_t{16} << 20U;

std::string text_of(const fs::path& path) {
    if (!fs::exists(path)) return "";
    const std::vector<std::byte> bytes = read_file(path, longest_config);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A column may have gaps (validated): it is read with the generation alone.
void read_generations(RunData& run) {
    const std::string path = run.directory / "generations.csv";
    for (const std::string& name : read_csv_header(path)) {
        if (name == "generation") continue;
        const std::array<std::string, 2> columns{"generation", name};
        try {
            const NumberTable table = read_csv(path, columns, MissingValues::drop);
            LoggedColumn& column = run.columns[name];
            for (std::int64_t row = 0; row < table.rows; ++row) {
                column.generation.push_back(table.at(row, 0));
                column.value.push_back(table.at(row, 1));
            }
        } catch (const InputError&) {
            // A column without any number, such as `validated` of a run that never validates.
            if (name == "best" || name == "evaluations") throw;
            run.columns.erase(name);
        }
    }
}

void read_timings(RunData& run) {
    const fs::path path = run.directory / "timings.csv";
    if (!fs::exists(path)) return;
    static const std::vector<std::string> columns{"rank", "evaluate", "vary", "wait",
                                                  "communicate"};
    const NumberTable table = read_csv(path.string(), columns, MissingValues::drop);
    for (std::int64_t row = 0; row < table.rows; ++row)
        for (std::size_t i = 1; i < columns.size(); ++i)
            run.seconds_by_rank[static_cast<std::int64_t>(table.at(row, 0))][columns[i]] +=
                table.at(row, i);
}

void read_species(RunData& run) {
    const fs::path path = run.directory / "species.csv";
    if (!fs::exists(path)) return;
    const std::vector<std::string> header = read_csv_header(path.string());
    const std::vector<std::string> columns{"generation", "id", "size"};
    for (const std::string& column : columns)
        if (std::ranges::find(header, column) == header.end()) return;
    const NumberTable table = read_csv(path.string(), columns, MissingValues::drop);
    for (std::int64_t row = 0; row < table.rows; ++row)
        run.species[static_cast<std::int64_t>(table.at(row, 0))]
                   [static_cast<std::int64_t>(table.at(row, 1))] += table.at(row, 2);
}

}  // namespace

RunData read_run(const fs::path& directory) {
    RunData run;
    run.directory = directory;
    if (!fs::exists(directory / "generations.csv"))
        throw InputError(fmt::format(
            "{} holds no generations.csv (it is not the directory of an evolution) name one",
            directory.string()));
    run.config = text_of(directory / "config.json");
    run.name = fs::absolute(directory).lexically_normal().filename().string();
    if (!run.config.empty()) {
        const nlohmann::json config = json_text::parse(run.config);
        if (config.contains("/run/name"_json_pointer))
            run.name = config.at("/run/name"_json_pointer).get<std::string>();
        run.arithmetic = config.value("fingerprint", "");
    }
    run.status = distributed::read_status_file(directory / "status.json");
    read_generations(run);
    read_timings(run);
    read_species(run);
    if (fs::exists(directory / "best.cmb"))
        run.best = distributed::read_network(directory / "best.cmb");
    return run;
}

std::vector<fs::path> runs_in(const fs::path& path) {
    if (fs::exists(path / "generations.csv")) return {path};
    std::vector<fs::path> runs;
    if (fs::is_directory(path))
        for (const auto& entry : fs::directory_iterator(path))
            if (fs::exists(entry.path() / "generations.csv")) runs.push_back(entry.path());
    if (runs.empty())
        throw InputError(
            fmt::format("there is no run in {} (no generations.csv is there or one folder below) "
                        "name the directory of a run, or of trials",
                        path.string()));
    std::ranges::sort(runs, [](const fs::path& a, const fs::path& b) {
        const std::string left = a.filename();
        const std::string right = b.filename();
        return std::pair(left.size(), left) < std::pair(right.size(), right);
    });
    return runs;
}

}  // namespace cambrian::launch
