#include "cambrian/evolve/runs/status_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/own_file.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::uint64_t largest_status = std::uint64_t{1} << 20U;

/// 0, or the error number.
int write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t count = ::write(file, text.data(), text.size());
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        text.remove_prefix(count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return 0;
}

/// Writes a file that was just opened and closes it. 0, or the error number.
int write_and_close(int file, std::string_view text) {
    const int error = write_all(file, text);
    return ::close(file) != 0 && error == 0 ? errno : error;
}

/// Writes over a file without asking for room on the disk. False where it needs more than it has,
/// and nothing was touched.
bool write_over(const fs::path& path, std::string_view text) {
    constexpr std::uint64_t unit = 512;  // Of st_blocks, on every system.
    const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status {};
    if (file < 0 || ::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) ||
        static_cast<std::uint64_t>(status.st_blocks) * unit < text.size()) {
        ::close(file);
        return false;
    }
    const bool cut = ::ftruncate(file, static_cast<off_t>(text.size())) == 0;
    return write_and_close(file, text) == 0 && cut;
}

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

}  // namespace

void replace_text(const fs::path& path, std::string_view text) {
    const fs::path temporary = path.string() + ".new";
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const int file = ::open(temporary.c_str(), flags, 0644);
    int error = file < 0 ? errno : write_and_close(file, text);
    if (error == ELOOP) {
        throw InputError(
            fmt::format("{} cannot be written (it is a symbolic link, which is not followed in a "
                        "run directory) remove it",
                        temporary.string()));
    }
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
        error = errno;
    }
    if (error == 0) {
        return;
    }
    // Half a file must not replace a whole one.
    ::unlink(temporary.c_str());
    // A limit on the size of files would cut the old one, too.
    if (error == EFBIG || !write_over(path, text)) {
        throw InputError(fmt::format("{} cannot be written ({}) check the disk and its permissions",
                                     path.string(), std::generic_category().message(error)));
    }
}

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

}  // namespace cambrian::distributed
