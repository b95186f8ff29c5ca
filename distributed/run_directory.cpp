#include "cambrian/distributed/run_directory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

constexpr const char* newest_name = "checkpoint.cmb";
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

std::string holder_of(int lock) {
    std::array<char, 32> text{};
    const ssize_t length = ::pread(lock, text.data(), text.size() - 1, 0);
    std::string holder(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    std::erase(holder, '\n');
    return holder.empty() ? "another process" : "process " + holder;
}

/// Replaces a file without waiting for the disk: for what may be lost.
void replace_file(const fs::path& path, const std::string& text) {
    const fs::path temporary = path.string() + ".new";
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    std::error_code error;
    // A full disk leaves half a file, which must not replace a whole one.
    if (!file) {
        error = std::make_error_code(std::errc::no_space_on_device);
        error = errno != 0 ? std::error_code(errno, std::generic_category()) : error;
    } else {
        fs::rename(temporary, path, error);
    }
    if (error) {
        std::error_code ignored;
        fs::remove(temporary, ignored);
        throw InputError(fmt::format("{} cannot be written ({}) check the disk and its permissions",
                                     path.string(), error.message()));
    }
}

/// JSON has no infinities.
nlohmann::ordered_json number(double value) {
    if (std::isfinite(value)) {
        return value;
    }
    return fmt::format("{}", value);
}

}  // namespace

RunDirectory::RunDirectory(fs::path path, std::uint64_t keep)
    : path_(std::move(path)), keep_(std::max<std::uint64_t>(keep, 1)) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) {
        throw ConfigError(
            fmt::format("the run directory {} cannot be made ({}) choose another "
                        "run.directory",
                        path_.string(), error.message()));
    }
    lock();
    sweep();
}

/// Removes what a killed owner was writing.
void RunDirectory::sweep() const {
    std::vector<fs::path> halves;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
        const std::string name = entry.path().filename().string();
        const bool half = name.find(".cmb.partial.") != std::string::npos ||
                          name.starts_with("config.json.partial.");
        if (half) {
            halves.push_back(entry.path());
        }
    }
    for (const fs::path& half : halves) {
        std::error_code ignored;
        fs::remove(half, ignored);
    }
}

RunDirectory::~RunDirectory() {
    ::close(lock_);
}

void RunDirectory::lock() {
    const fs::path file = path_ / "lock";
    lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock_ < 0) {
        throw ConfigError(
            fmt::format("the run directory {} cannot be locked ({}) check its "
                        "permissions",
                        path_.string(), std::strerror(errno)));
    }
    if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        const std::string holder = holder_of(lock_);
        ::close(lock_);
        throw ConfigError(
            fmt::format("the run directory {} is in use ({} holds its lock) wait for "
                        "it or choose another run.directory",
                        path_.string(), holder));
    }
    const std::string pid = fmt::format("{}\n", ::getpid());
    // The number only serves the message above; the lock itself is the system's.
    if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, pid.data(), pid.size(), 0) < 0) {
        const std::string why = std::strerror(errno);
        ::close(lock_);
        throw ConfigError(fmt::format("the lock of {} cannot be written ({}) check the disk",
                                      path_.string(), why));
    }
}

bool RunDirectory::holds_run() const {
    for (const char* name : {"generations.csv", newest_name, "config.json"}) {
        if (fs::exists(path_ / name)) {
            return true;
        }
    }
    return !older().empty();
}

std::vector<RunDirectory::Candidate> RunDirectory::older() const {
    std::vector<Candidate> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
        if (const auto generation = generation_of(entry.path().filename().string())) {
            found.push_back({entry.path(), *generation});
        }
    }
    std::sort(found.begin(), found.end(),
              [](const Candidate& a, const Candidate& b) { return a.generation > b.generation; });
    return found;
}

bool RunDirectory::load_newest(const std::function<void(Checkpoint&&)>& accept,
                               const std::function<void(const std::string&)>& warn) {
    std::vector<Candidate> candidates = older();
    if (fs::exists(path_ / newest_name)) {
        candidates.insert(candidates.begin(), {path_ / newest_name, 0});
    }
    std::vector<fs::path> refused;
    for (const Candidate& candidate : candidates) {
        try {
            Checkpoint checkpoint =
                decode_checkpoint(read_file(candidate.path), candidate.path.string());
            if (const auto log = GenerationLog::shorter(path_, checkpoint.logs)) {
                throw InputError(
                    fmt::format("{} cannot be used ({} is shorter than it says) restore that log",
                                candidate.path.string(), *log));
            }
            const std::uint64_t generation = checkpoint.generation;
            accept(std::move(checkpoint));
            if (candidate.path.filename() == newest_name) {
                newest_ = generation;
            }
            // Out of the way of the next save, and kept for whoever wants to look.
            for (const fs::path& path : refused) {
                fs::rename(path, path.string() + ".damaged");
            }
            return true;
        } catch (const InputError& error) {
            warn(fmt::format("{}; trying an older checkpoint", error.what()));
            refused.push_back(candidate.path);
        }
    }
    if (!candidates.empty()) {
        throw InputError(
            fmt::format("no checkpoint in {} can be used ({} tried) start the run anew "
                        "in another directory",
                        path_.string(), candidates.size()));
    }
    return false;
}

void RunDirectory::save(const Checkpoint& checkpoint) {
    const std::vector<std::byte> bytes = encode(checkpoint);
    const fs::path newest = path_ / newest_name;
    if (newest_ && *newest_ != checkpoint.generation && fs::exists(newest)) {
        fs::rename(newest, path_ / fmt::format("{}{}{}", older_prefix, *newest_, suffix));
    }
    write_file_atomically(newest, bytes);
    newest_ = checkpoint.generation;
    const std::vector<Candidate> past = older();
    for (std::size_t i = keep_ - 1; i < past.size(); ++i) {
        fs::remove(past[i].path);
    }
}

void RunDirectory::write_config(const std::string& resolved_json,
                                const std::string& fingerprint) const {
    nlohmann::ordered_json config = nlohmann::ordered_json::parse(resolved_json);
    config["fingerprint"] = fingerprint;
    const std::string text = config.dump(2) + "\n";
    write_file_atomically(path_ / "config.json", std::as_bytes(std::span(text)));
}

void RunDirectory::write_status(const RunStatus& status) const {
    nlohmann::ordered_json json;
    json["state"] = status.state;
    json["exit_code"] = status.exit_code;
    json["generation"] = status.generation;
    json["best"] = status.best ? number(*status.best) : nlohmann::ordered_json();
    if (status.best_validated) {
        json["best_validated"] = number(*status.best_validated);
    }
    if (status.best_tested) {
        json["best_tested"] = number(*status.best_tested);
    }
    json["reason"] = status.reason;
    replace_file(path_ / "status.json", json.dump(4) + "\n");
}

}  // namespace cambrian::distributed
