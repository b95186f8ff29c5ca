#include "cambrian/evolve/tasks/external/external_program.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/core/version.hpp"

namespace cambrian::evolve {
namespace {

using nlohmann::json;

constexpr std::size_t max_names = 1'000'000;
constexpr double largest_float = std::numeric_limits<float>::max();

[[noreturn]] void fail(const std::string& problem, const std::string& remedy) {
    throw ChildFailure(fmt::format("the program's answer {} {}", problem, remedy));
}

const json& member(const json& answer, const char* key) {
    const auto found = answer.find(key);
    if (found == answer.end())
        fail(fmt::format("has no \"{}\" (it is {})", key, json_text::shown(answer)),
             "answer with that key");
    return *found;
}

const json& list(const json& answer, const char* key, std::size_t length) {
    const json& value = member(answer, key);
    if (!value.is_array() || value.size() != length)
        fail(fmt::format("has {} \"{}\" (there are {} worlds)",
                         value.is_array() ? std::to_string(value.size()) + " values in"
                                          : std::string("no list in"),
                         key, length),
             "give one value for each world that was asked for, in their order");
    return value;
}

double number(const json& value, const char* key) {
    if (!value.is_number() || !std::isfinite(value.get<double>()))
        fail(fmt::format("has {} in \"{}\" (that is no finite number)", json_text::shown(value),
                         key),
             "give numbers");
    return value.get<double>();
}

float observation(const json& value) {
    const double held = number(value, "observations");
    if (std::abs(held) > largest_float)
        fail(fmt::format("has the observation {} (too large for a float)", held), "scale it");
    return static_cast<float>(held);
}

/// Names, or as many numbers as a count says.
std::vector<std::string> names(const json& answer, const char* key) {
    const json& value = member(answer, key);
    std::vector<std::string> names;
    if (value.is_number_integer() && value.get<std::int64_t>() >= 1 &&
        value.get<std::int64_t>() <= static_cast<std::int64_t>(max_names)) {
        for (std::int64_t i = 0; i < value.get<std::int64_t>(); ++i)
            names.push_back(fmt::format("{}_{}", key, i));
        return names;
    }
    std::set<std::string> seen;
    if (value.is_array() && value.size() <= max_names)
        for (const json& name : value)
            if (name.is_string() && seen.insert(name.get<std::string>()).second)
                names.push_back(name.get<std::string>());
    if (names.empty() || names.size() != value.size())
        fail(fmt::format("has {} in \"{}\" (neither a count nor different names)",
                         json_text::shown(value), key),
             "say how many there are, or list their names");
    return names;
}

std::vector<float> observations(const json& answer, std::size_t worlds, std::size_t width) {
    std::vector<float> values;
    values.reserve(worlds * width);
    for (const json& row : list(answer, "observations", worlds)) {
        if (!row.is_array() || row.size() != width)
            fail(fmt::format("has the observations {} (each world has {})", json_text::shown(row),
                             width),
                 "give a list of that many numbers for each world");
        for (const json& value : row) values.push_back(observation(value));
    }
    return values;
}

}  // namespace

ExternalProgram::ExternalProgram(const ExternalCommand& command)
    : settings_(command), process_(command.command, command.directory) {
    send(fmt::format(R"({{"cambrian": {{"protocol": {}, "version": "{}.{}.{}"}}, "settings": {}}})",
                     protocol, CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR,
                     CAMBRIAN_VERSION_PATCH, command.settings));
    const json answer = receive();
    if (const json& spoken = member(answer, "protocol"); spoken != protocol)
        fail(fmt::format("has protocol {} (this program speaks {})", json_text::shown(spoken),
                         protocol),
             "use the client that came with it");
    interface_ = {names(answer, "observations"), names(answer, "actions")};
}

void ExternalProgram::send(std::string_view message) {
    const auto patience = std::chrono::duration<double>(settings_.seconds);
    process_.send(message, std::chrono::steady_clock::now() +
                               std::chrono::duration_cast<std::chrono::milliseconds>(patience));
}

json ExternalProgram::receive() {
    const auto patience = std::chrono::duration<double>(settings_.seconds);
    const std::string line =
        process_.receive(std::chrono::steady_clock::now() +
                         std::chrono::duration_cast<std::chrono::milliseconds>(patience));
    json answer;
    try {
        answer = json_text::parse(line, {.length = line.size()});
    } catch (const InputError& error) {
        fail(fmt::format("is not understood (\"{}\": {})", shortened(line, 100), error.what()),
             "write one JSON object a line, and nothing else, to standard output");
    }
    if (!answer.is_object())
        fail(fmt::format("is {} (no JSON object)", json_text::shown(answer)),
             "write one JSON object a line");
    if (const auto error = answer.find("error"); error != answer.end())
        fail(fmt::format("is an error ({})", json_text::shown(*error)), "see what it says");
    return answer;
}

void ExternalProgram::send_reset(std::span<const ExternalWorld> worlds, std::string_view phase,
                                 std::uint64_t round) {
    std::string message = R"({"reset": [)";
    for (std::size_t i = 0; i < worlds.size(); ++i)
        fmt::format_to(std::back_inserter(message),
                       R"({}{{"world": {}, "network": {}, "episode": {}, "seed": {}}})",
                       i == 0 ? "" : ", ", i, worlds[i].network, worlds[i].episode, worlds[i].seed);
    fmt::format_to(std::back_inserter(message), R"(], "phase": "{}", "round": {}}})", phase, round);
    send(message);
}

std::vector<float> ExternalProgram::receive_reset(std::size_t worlds) {
    return observations(receive(), worlds, interface_.observations.size());
}

void ExternalProgram::send_step(std::span<const std::size_t> worlds,
                                std::span<const float> actions) {
    const std::size_t width = interface_.actions.size();
    std::string message = fmt::format(R"({{"step": [{}], "actions": [)", fmt::join(worlds, ", "));
    for (std::size_t i = 0; i < worlds.size(); ++i)
        fmt::format_to(std::back_inserter(message), "{}[{}]", i == 0 ? "" : ", ",
                       fmt::join(actions.subspan(i * width, width), ", "));
    message += "]}";
    send(message);
}

ExternalStep ExternalProgram::receive_step(std::size_t worlds) {
    const json answer = receive();
    ExternalStep step;
    step.observations = observations(answer, worlds, interface_.observations.size());
    for (const json& reward : list(answer, "rewards", worlds))
        step.rewards.push_back(number(reward, "rewards"));
    for (const json& done : list(answer, "done", worlds)) {
        if (!done.is_boolean())
            fail(fmt::format("has {} in \"done\" (neither true nor false)", json_text::shown(done)),
                 "say for each world whether its episode has ended");
        step.done.push_back(done.get<bool>() ? 1 : 0);
    }
    return step;
}

}  // namespace cambrian::evolve
