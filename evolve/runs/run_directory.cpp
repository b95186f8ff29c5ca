#include "cambrian/evolve/runs/run_directory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/network_text.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

constexpr const char* status_name = "status.json";
constexpr std::string_view older_prefix = "checkpoint-";
constexpr std::string_view suffix = ".cmb";

std::optional<std::uint64_t> generation_of(const std::string& file) {
    if (!file.starts_with(older_prefix) || !file.ends_with(suffix)) {
        return std::nullopt;
    }
    const char* begin = file.data() + older_prefix.size();
    const char* end = file.data() + file.size() - suffix.size();
    std::uint64_t generation = 0;
    const auto [at, error] = std::from_chars(begin, end, generation);
    return error == std::errc() && at == end ? std::optional(generation) : std::nullopt;
}

/// The directory, made where it is not there.
fs::path made(fs::path path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) {
        throw OutputError(
            fmt::format("the run directory {} cannot be made ({}) choose another run.directory",
                        path.string(), error.message()));
    }
    return path;
}

/// What lies in a folder. Throws OutputError where the system refuses to say it.
std::vector<fs::path> listed(const fs::path& folder) {
    std::vector<fs::path> paths;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
        paths.push_back(entry->path());
    }
    if (error) {
        throw OutputError(
            fmt::format("the run directory {} cannot be read ({}) check its "
                        "permissions",
                        folder.string(), error.message()));
    }
    return paths;
}

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// Whether a table has a line after its header, or a part of one.
bool has_lines(const fs::path& path) {
    if (std::error_code ignored; !fs::is_regular_file(path, ignored)) {
        return false;
    }
    std::ifstream file(path, std::ios::binary);
    std::string header;
    return std::getline(file, header) && file.get() != std::ifstream::traits_type::eof();
}

bool has_individuals(const fs::path& path) {
    if (std::error_code ignored; !fs::is_regular_file(fs::symlink_status(path, ignored))) {
        return false;
    }
    try {
        return IndividualReader(path).next().has_value();
    } catch (const InputError&) {
        return true;  // Whatever it is, a run from the start would lose it.
    }
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(made(std::move(path))), lock_(path_) {
    sweep();
}

/// Removes what a killed owner was writing.
void RunDirectory::sweep() const {
    std::vector<fs::path> halves;
    for (const fs::path& path : listed(path_)) {
        const std::string name = path.filename().string();
        const bool half = name.find(".cmb.partial.") != std::string::npos ||
                          name.starts_with("config.json.partial.");
        if (half) {
            halves.push_back(path);
        }
    }
    for (const fs::path& half : halves) {
        std::error_code ignored;
        fs::remove(half, ignored);
    }
}

std::vector<OlderCheckpoint> older_checkpoints(const fs::path& folder) {
    std::vector<OlderCheckpoint> found;
    for (const fs::path& path : listed(folder)) {
        if (const auto generation = generation_of(path.filename().string())) {
            found.push_back({path, *generation});
        }
    }
    std::sort(found.begin(), found.end(), [](const OlderCheckpoint& a, const OlderCheckpoint& b) {
        return a.generation > b.generation;
    });
    return found;
}

std::string older_checkpoint(std::uint64_t generation) {
    return fmt::format("{}{}{}", older_prefix, generation, suffix);
}

bool holds_checkpoint(const fs::path& directory) {
    return is_there(directory / newest_checkpoint) || !older_checkpoints(directory).empty();
}

std::optional<std::string> RunDirectory::kept_network() const {
    for (const char* name : {"best.cmb", "last.cmb"}) {
        if (is_there(path_ / name)) {
            return name;
        }
    }
    return std::nullopt;
}

std::optional<std::string> RunDirectory::kept_file() const {
    for (const char* name : {newest_checkpoint, "training.cmb"}) {
        if (is_there(path_ / name)) {
            return name;
        }
    }
    if (const std::vector<OlderCheckpoint> past = older_checkpoints(path_); !past.empty()) {
        return past.front().path.filename().string();
    }
    for (const char* name :
         {"generations.csv", "islands.csv", "epochs.csv", "observations.jsonl"}) {
        if (has_lines(path_ / name)) {
            return name;
        }
    }
    if (has_individuals(path_ / individuals_name)) {
        return individuals_name;
    }
    return kept_network();
}

std::optional<std::string> RunDirectory::unfinished(std::string_view units) const {
    try {
        const auto status = read_status_file(path_ / status_name);
        if (status && status->state == "running") {
            return fmt::format(
                "the last run in {} ended without a word (it was killed, or its host went down) "
                "after {} {}",
                path_.string(), rounds_done(*status, path_), units);
        }
    } catch (const InputError&) {
        // The next status replaces it.
    }
    return std::nullopt;
}

void RunDirectory::write_config(const std::string& resolved_json,
                                const std::string& fingerprint) const {
    nlohmann::ordered_json config = nlohmann::ordered_json::parse(resolved_json);
    config["fingerprint"] = fingerprint;
    const std::string text = config.dump(2) + "\n";
    check_network_text(text, (path_ / "config.json").string());
    write_file_atomically(path_ / "config.json", std::as_bytes(std::span(text)));
}

void RunDirectory::require_own() const {
    if (!lock_.is_of(path_)) {
        throw InputError(
            fmt::format("{} is not this run's directory any more (it was moved, or removed and "
                        "made anew, while "
                        "the run wrote to it) nothing more is written; move directories of runs "
                        "that have ended",
                        path_.string()));
    }
}

void RunDirectory::write_status(const RunStatus& status) const {
    require_own();
    write_status_file(path_ / status_name, status);
}

}  // namespace cambrian::distributed
