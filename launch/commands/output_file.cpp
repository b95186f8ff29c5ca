#include "cambrian/launch/commands/output_file.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/event_log.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/launch/commands/commands.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

bool is_standard(const std::string& path) {
    return path.empty() || path == "-" || descriptor_of(path) == STDOUT_FILENO;
}

bool same(const struct stat& a, const struct stat& b) {
    return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// Whether an input is this file, by name or as what standard input comes from.
bool is_file(const std::string& input, const struct stat& file) {
    struct stat found {};
    if (::stat(input.c_str(), &found) == 0 && same(found, file)) return true;
    return input == "-" && ::fstat(STDIN_FILENO, &found) == 0 && same(found, file);
}

void refuse_input(const std::string& output, const std::vector<std::string>& inputs) {
    struct stat there {};
    // Of devices and pipes nothing is lost.
    const bool file = ::stat(output.c_str(), &there) == 0 && S_ISREG(there.st_mode);
    for (const std::string& input : inputs)
        if (output == input || (file && is_file(input, there)))
            throw ConfigError(
                fmt::format("{} would replace what it is made of ({} is the same file) name "
                            "another",
                            output, input == "-" ? "standard input" : input));
}

/// Lines on standard output would end in the file that is replaced, or go over the result.
void refuse_standard_output(const std::string& output) {
    struct stat there {};
    struct stat lines {};
    if (::stat(output.c_str(), &there) == 0 && S_ISREG(there.st_mode) &&
        ::fstat(STDOUT_FILENO, &lines) == 0 && same(there, lines))
        throw ConfigError(
            fmt::format("{} would hold the result and the lines about it (standard output goes to "
                        "that file) name another, or '-' for the result alone",
                        output));
}

/// What runs, trainings, trials and sweeps write into their directories.
constexpr std::array<std::string_view, 22> names_of_run{"best.cmb",
                                                        "best_genotype.cmb",
                                                        distributed::newest_checkpoint,
                                                        "config.json",
                                                        "content.json",
                                                        "epochs.csv",
                                                        "coordinator.json",
                                                        "generations.csv",
                                                        "initial.cmb",
                                                        distributed::individuals_name,
                                                        "islands.csv",
                                                        "last.cmb",
                                                        "lock",
                                                        "seeds.jsonl",
                                                        "observations.jsonl",
                                                        "species.csv",
                                                        "status.json",
                                                        "summary.json",
                                                        "sweep.csv",
                                                        "timings.csv",
                                                        "training.cmb",
                                                        "trials.csv"};
/// How others begin.
constexpr std::array<std::string_view, 3> beginnings_of_run{"checkpoint-", "journal-",
                                                            distributed::events_name};
/// Folders below, all of whose files are a run's.
constexpr std::array<std::string_view, 2> folders_of_run{"initial", "logs"};

bool is_run(const fs::path& folder) {
    static constexpr std::array<std::string_view, 4> signs{"status.json", "content.json",
                                                           "trials.csv", "sweep.csv"};
    std::error_code none;
    return std::ranges::any_of(
        signs, [&](std::string_view name) { return fs::exists(folder / name, none); });
}

/// The directory of the run that has written a file; nothing where none has.
std::optional<fs::path> run_of(const fs::path& file) {
    const std::string name = file.filename().string();
    const fs::path folder = file.parent_path();
    const bool named = std::ranges::find(names_of_run, name) != names_of_run.end() ||
                       std::ranges::any_of(beginnings_of_run, [&](std::string_view beginning) {
                           return name.starts_with(beginning);
                       });
    if (named && is_run(folder)) return folder;
    const bool below =
        std::ranges::find(folders_of_run, folder.filename().string()) != folders_of_run.end();
    if (below && is_run(folder.parent_path())) return folder.parent_path();
    return std::nullopt;
}

void refuse_file_of_run(const std::string& output) {
    std::error_code none;
    const fs::path file = fs::canonical(output, none);
    if (none || !fs::is_regular_file(file, none)) return;
    if (const auto run = run_of(file))
        throw ConfigError(
            fmt::format("{} would be replaced (it is a file of the run in {}) name another", output,
                        run->string()));
}

}  // namespace

Destination::Destination(const CommandContext& context, std::string path,
                         const std::vector<std::string>& inputs)
    : path_(std::move(path)),
      standard_(is_standard(path_)),
      out_(context.out),
      lines_(standard_ ? context.err : context.out) {
    if (standard_) return;
    refuse_input(path_, inputs);
    refuse_standard_output(path_);
    refuse_file_of_run(path_);
    // Later the number may be that of a file of this process.
    if (descriptor_of(path_)) file();
}

bool Destination::replaces() const {
    std::error_code none;
    return !standard_ && !descriptor_of(path_) && fs::is_regular_file(path_, none);
}

OutputFile& Destination::file() {
    if (!file_) file_.emplace(path_);
    return *file_;
}

void Destination::write(std::span<const std::byte> bytes) {
    if (!standard_)
        file().write(bytes);
    else if (!out_.write(reinterpret_cast<const char*>(bytes.data()),
                         static_cast<std::streamsize>(bytes.size())))
        flush_standard_output(out_);
}

void Destination::write(std::string_view text) {
    write(std::as_bytes(std::span(text)));
}

void Destination::finish() {
    if (standard_)
        flush_standard_output(out_);
    else
        file().finish();
}

void flush_standard_output(std::ostream& out) {
    if (!out.flush())
        throw InputError(
            "standard output cannot be written (the disk is full, or its reader has gone) free "
            "space, or send it elsewhere");
}

}  // namespace cambrian::launch
