#include "cambrian/evolve/runs/run_status.hpp"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/number_text.hpp"
#include "cambrian/evolve/runs/run_file.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

namespace {

constexpr std::uint64_t largest_status = std::uint64_t{1} << 20U;

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
    const std::optional<std::string> text = read_text_file(path, largest_status);
    if (!text) {
        return std::nullopt;
    }
    try {
        return status_of(json_text::parse(*text));
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

RunStatus known_status(const std::optional<RunStatus>& status, const fs::path& directory) {
    RunStatus known = status.value_or(RunStatus{});
    if (!status) {
        known.state = "running";
    }
    known.generation = rounds_done(known, directory);
    return known;
}

}  // namespace cambrian::distributed
