#include "cambrian/evolve/runs/run_status.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
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
    return std::isfinite(*value) ? Json(*value) : Json(fmt::format("{}", *value));
}

std::optional<double> read_number(const Json& json, const char* key) {
    const auto found = json.find(key);
    if (found == json.end() || found->is_null()) {
        return std::nullopt;
    }
    return found->is_string() ? std::strtod(found->get<std::string>().c_str(), nullptr)
                              : found->get<double>();
}

template <class Value>
std::optional<Value> read_optional(const Json& json, const char* key) {
    const auto found = json.find(key);
    return found == json.end() || found->is_null() ? std::nullopt
                                                   : std::optional(found->get<Value>());
}

RunStatus status_of(const Json& json) {
    RunStatus status;
    status.state = json.at("state").get<std::string>();
    status.exit_code = read_optional<int>(json, "exit_code");
    status.generation = json.at("generation").get<std::uint64_t>();
    status.best = read_number(json, "best");
    status.validated = read_number(json, "validated");
    status.tested = read_number(json, "tested");
    status.solved = read_optional<bool>(json, "solved");
    status.reason = json.at("reason").get<std::string>();
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

/// Whether the lock is ours now. Waits a moment for whoever only asks (holder_of_run).
bool try_lock(int file) {
    constexpr int attempts = 5;
    constexpr std::chrono::milliseconds pause{20};
    for (int i = 0; i < attempts; ++i) {
        if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
            return true;
        }
        std::this_thread::sleep_for(pause);
    }
    return false;
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
    json["reason"] = status.reason;
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
        return status_of(json_text::parse_ordered(text));
    } catch (const std::exception& error) {
        throw InputError(fmt::format("{} says no status ({}) restore it, or go on with the run",
                                     path.string(), error.what()));
    }
}

RunLock::RunLock(const fs::path& directory)
    : file_(open_own_file(directory / lock_name, O_RDWR | O_CREAT)) {
    if (!try_lock(file_)) {
        const std::string holder = holder_of(file_);
        ::close(file_);
        throw ConfigError(
            fmt::format("the run directory {} is in use ({} holds its lock) wait for "
                        "it or choose another run.directory",
                        directory.string(), holder));
    }
    const std::string owner = fmt::format("{} on {}\n", ::getpid(), host_name());
    // The words only serve messages; the lock itself is the system's.
    if (::ftruncate(file_, 0) != 0 || ::pwrite(file_, owner.data(), owner.size(), 0) < 0) {
        const std::string why = std::strerror(errno);
        ::close(file_);
        throw ConfigError(fmt::format("the lock of {} cannot be written ({}) check the disk",
                                      directory.string(), why));
    }
}

RunLock::~RunLock() {
    ::close(file_);
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
