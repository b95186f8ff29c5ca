#include "cambrian/evolve/runs/run_status.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <system_error>
#include <thread>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/run_file.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::uint64_t largest_status = std::uint64_t{1} << 20U;
constexpr const char* lock_name = "lock";

/// JSON has no infinities.
Json number(std::optional<double> value) {
    if (!value) {
        return nullptr;
    }
    if (std::isnan(*value)) {
        return "nan";  // Its sign says nothing.
    }
    return std::isfinite(*value) ? Json(*value) : Json(fmt::format("{}", *value));
}

/// A part of status.json; null where it is missing.
class StatusReader {
  public:
    explicit StatusReader(const nlohmann::json& json) : json_(json) {
        if (!json.is_object()) {
            throw InputError("it is no object");
        }
    }

    [[nodiscard]] std::string text(const char* key) const {
        const nlohmann::json value = member(key);
        if (!value.is_string()) {
            refuse(key, value);
        }
        return shortened(value.get<std::string>(), largest_status);
    }
    [[nodiscard]] std::optional<std::uint64_t> count(
        const char* key, std::uint64_t largest = std::numeric_limits<std::uint64_t>::max()) const {
        const nlohmann::json value = member(key);
        if (value.is_null()) {
            return std::nullopt;
        }
        if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest) {
            refuse(key, value);
        }
        return value.get<std::uint64_t>();
    }
    [[nodiscard]] std::optional<bool> truth(const char* key) const {
        const nlohmann::json value = member(key);
        if (!value.is_null() && !value.is_boolean()) {
            refuse(key, value);
        }
        return value.is_null() ? std::nullopt : std::optional(value.get<bool>());
    }
    [[nodiscard]] std::optional<double> number(const char* key) const {
        const nlohmann::json value = member(key);
        if (value.is_null()) {
            return std::nullopt;
        }
        if (value.is_number()) {
            return value.get<double>();
        }
        for (const char* text : {"inf", "-inf", "nan", "-nan"}) {
            if (value == text) {
                return number_in<double>(text);
            }
        }
        refuse(key, value);
    }
    /// Bytes on average.
    [[nodiscard]] std::optional<double> bytes(const char* key) const {
        const std::optional<double> value = number(key);
        if (value && !(*value >= 0.0 && *value <= 0x1p53)) {
            refuse(key, member(key));
        }
        return value;
    }
    [[noreturn]] static void refuse(const char* key, const nlohmann::json& value) {
        throw InputError(fmt::format("\"{}\" is {}", key, json_text::shown(value)));
    }

  private:
    [[nodiscard]] nlohmann::json member(const char* key) const {
        return json_.value(key, nlohmann::json());
    }

    const nlohmann::json& json_;
};

RunStatus status_of(const nlohmann::json& json) {
    constexpr std::array states{"running", "done", "interrupted", "failed"};
    constexpr std::uint64_t largest_exit_code = 255;
    const StatusReader reader(json);
    RunStatus status;
    status.state = reader.text("state");
    if (std::ranges::find(states, status.state) == states.end()) {
        StatusReader::refuse("state", status.state);
    }
    if (const auto code = reader.count("exit_code", largest_exit_code)) {
        status.exit_code = static_cast<int>(*code);
    }
    if (const auto generation = reader.count("generation")) {
        status.generation = *generation;
    } else {
        StatusReader::refuse("generation", nullptr);
    }
    status.best = reader.number("best");
    status.validated = reader.number("validated");
    status.tested = reader.number("tested");
    status.solved = reader.truth("solved");
    status.reason = reader.text("reason");
    status.champion_tests = reader.count("champion_tests");
    status.journal_bytes = reader.bytes("journal_bytes_per_generation");
    status.individuals_bytes = reader.bytes("individuals_bytes_per_generation");
    return status;
}

std::string holder_of(int lock) {
    std::array<char, 300> text{};
    const ssize_t length = ::pread(lock, text.data(), text.size() - 1, 0);
    std::string holder(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    std::erase_if(holder, [](char c) { return c < ' '; });
    return holder.empty() ? "another process" : "process " + holder;
}

std::string host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "a host";
}

/// What the system says of a process of this host: a letter for its state, and when it began, in
/// ticks since the host did. Nothing where it is gone.
struct ProcessStanding {
    char state = '?';
    std::uint64_t begun = 0;
};

std::optional<ProcessStanding> standing_of(pid_t process) {
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text;
    std::getline(file, text);
    // The name before it may hold anything.
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream fields(text.substr(name_end + 1));
    ProcessStanding standing;
    fields >> standing.state;
    constexpr int between = 18;  // From the third field, the state, to the 22nd.
    std::string ignored;
    for (int i = 0; i < between; ++i) {
        fields >> ignored;
    }
    fields >> standing.begun;
    return fields ? std::optional(standing) : std::nullopt;
}

/// "71 on node3 since tick 12345": who holds the lock.
std::string own_words() {
    const auto standing = standing_of(::getpid());
    return fmt::format("{} on {} since tick {}\n", ::getpid(), host_name(),
                       standing ? standing->begun : 0);
}

/// Takes the lock: 0, or the error number. Waits a moment for whoever only asks (holder_of_run).
int try_lock(int file) {
    constexpr int attempts = 5;
    constexpr std::chrono::milliseconds pause{20};
    for (int i = 0; i < attempts; ++i) {
        if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
            return 0;
        }
        if (errno != EWOULDBLOCK) {
            return errno;
        }
        std::this_thread::sleep_for(pause);
    }
    return EWOULDBLOCK;
}

/// The first cell of the last whole line of a table; nothing where that is no count.
std::optional<std::uint64_t> last_count(const fs::path& table) {
    constexpr std::streamoff longest_line = 1 << 16;
    if (std::error_code ignored; !fs::is_regular_file(table, ignored)) {
        return std::nullopt;
    }
    std::ifstream file(table, std::ios::binary | std::ios::ate);
    file.seekg(std::max<std::streamoff>(file.tellg() - std::streampos(longest_line), 0));
    std::string text((std::istreambuf_iterator<char>(file)), {});
    text.resize(text.rfind('\n') + 1);  // What is after it is still being written.
    if (text.empty()) {
        return std::nullopt;
    }
    text.pop_back();
    const std::string line = text.substr(text.rfind('\n') + 1);
    return number_in<std::uint64_t>(std::string_view(line).substr(0, line.find(',')));
}

}  // namespace

void write_status_file(const fs::path& path, const RunStatus& status) {
    Json json;
    json["state"] = status.state;
    json["exit_code"] = status.exit_code ? Json(*status.exit_code) : Json();
    json["generation"] = status.generation;
    json["best"] = number(status.best);
    json["validated"] = number(status.validated);
    json["tested"] = number(status.tested);
    json["solved"] = status.solved ? Json(*status.solved) : Json();
    json["champion_tests"] = status.champion_tests ? Json(*status.champion_tests) : Json();
    json["reason"] = status.reason;
    json["journal_bytes_per_generation"] = number(status.journal_bytes);
    json["individuals_bytes_per_generation"] = number(status.individuals_bytes);
    replace_text(path, json.dump(4, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::optional<RunStatus> read_status_file(const fs::path& path) {
    std::error_code missing;
    if (!fs::exists(path, missing) && !missing) {
        return std::nullopt;
    }
    const std::vector<std::byte> bytes = read_file(path, largest_status);
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    try {
        return status_of(json_text::parse(text));
    } catch (const InputError& error) {
        throw InputError(fmt::format("{} says no status ({}) restore it, or go on with the run",
                                     path.string(), error.what()));
    }
}

std::uint64_t rounds_done(const RunStatus& status, const fs::path& directory) {
    if (status.state != "running") {
        return status.generation;
    }
    const auto generation = last_count(directory / "generations.csv");
    const auto epoch = last_count(directory / "epochs.csv");  // They count from 1.
    return std::max({status.generation, generation ? *generation + 1 : 0, epoch.value_or(0)});
}

RunLock::RunLock(const fs::path& directory)
    : file_(open_own_file(directory / lock_name, O_RDWR | O_CREAT)) {
    if (const int error = try_lock(file_); error != 0 && error != EWOULDBLOCK) {
        ::close(file_);
        throw ConfigError(
            fmt::format("the run directory {} cannot be locked ({}) choose a run.directory on a "
                        "file system with locks",
                        directory.string(), std::strerror(error)));
    } else if (error != 0) {
        const std::string holder = holder_of(file_);
        ::close(file_);
        throw ConfigError(
            fmt::format("the run directory {} is in use ({} holds its lock) wait for "
                        "it or choose another run.directory",
                        directory.string(), holder));
    }
    const std::string owner = own_words();
    // The words serve messages and kill_stopped_holder; the lock itself is the system's.
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, owner.data(), owner.size(), 0) < 0) {
        const std::string why = std::strerror(errno);
        ::close(file_);
        throw OutputError(fmt::format("the lock of {} cannot be written ({}) check the disk",
                                      directory.string(), why));
    }
}

bool RunLock::is_of(const fs::path& directory) const {
    struct stat own {};
    struct stat found {};
    return ::fstat(file_, &own) == 0 && ::stat((directory / lock_name).c_str(), &found) == 0 &&
           own.st_dev == found.st_dev && own.st_ino == found.st_ino;
}

RunLock::~RunLock() {
    ::close(file_);
}

std::optional<std::string> kill_stopped_holder(const fs::path& directory) {
    const auto holder = holder_of_run(directory);
    std::istringstream words(holder.value_or(""));
    std::string what, on, host, since, tick;
    pid_t process = 0;
    std::uint64_t begun = 0;
    words >> what >> process >> on >> host >> since >> tick >> begun;
    if (!words || process <= 1 || begun == 0 || host != host_name()) {
        return std::nullopt;
    }
    // A handle first: what is looked at is what is killed, whatever becomes of the number.
    const auto handle = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
    const auto standing = handle < 0 ? std::nullopt : standing_of(process);
    const bool same = standing && standing->begun == begun && standing->state == 'T';
    const bool killed = same && ::syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0) == 0;
    if (handle >= 0) {
        ::close(handle);
    }
    return killed ? holder : std::nullopt;
}

std::optional<std::string> holder_of_run(const fs::path& directory) {
    std::error_code missing;
    if (!fs::exists(directory / lock_name, missing) && !missing) {
        return std::nullopt;
    }
    const int file = open_own_file(directory / lock_name, O_RDONLY);
    std::optional<std::string> holder;
    const int error = ::flock(file, LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
    if (error != 0) {
        holder = holder_of(file);
    }
    ::close(file);
    if (error != 0 && error != EWOULDBLOCK) {
        throw InputError(fmt::format("the lock of {} cannot be asked ({}) ask on its host",
                                     directory.string(), std::strerror(error)));
    }
    return holder;
}

}  // namespace cambrian::distributed
