#include "cambrian/evolve/tasks/external/external_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/version.hpp"

namespace cambrian::evolve {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// What an answer to the first message says of a key that older programs do not know.
std::string spoken(const json& answer, const char* key, std::string_view otherwise) {
    const auto found = answer.find(key);
    if (found == answer.end()) return std::string(otherwise);
    return found->is_string() ? found->get<std::string>() : json_text::shown(*found);
}

}  // namespace

ExternalProgram::ExternalProgram(const ExternalCommand& command, ErrorOutput errors)
    : settings_(command), errors_(errors), process_(command.command, command.directory, errors) {
    const ordered_json first{
        {"cambrian",
         {{"protocol", protocol},
          {"version", fmt::format("{}.{}.{}", CAMBRIAN_VERSION_MAJOR, CAMBRIAN_VERSION_MINOR,
                                  CAMBRIAN_VERSION_PATCH)},
          {"level", name(command.level)},
          {"frames", name(command.frames)}}},
        {"settings", ordered_json::parse(command.settings)}};
    process_.send_line(first.dump(), deadline());
    const json answer = external_messages::parse(
        process_.receive_line(deadline()), ExternalFrames::json, 2 * external_messages::max_names);
    check_handshake(answer);
    ids_ = external_messages::repeats_ids(answer);
    interface_ = external_messages::interface(answer);
}

void ExternalProgram::check_handshake(const json& answer) const {
    if (const json& own = external_messages::member(answer, "protocol"); own != protocol)
        external_messages::fail(fmt::format("has protocol {} (this program speaks {})",
                                            json_text::shown(own), protocol),
                                "use the client that came with it");
    const std::string level = spoken(answer, "level", name(ExternalLevel::policy));
    if (level != name(settings_.level))
        external_messages::fail(
            fmt::format("has level {} (task.level is {})", level, name(settings_.level)),
            "set task.level to what the program does, or answer with the level that is asked for");
    const std::string frames = spoken(answer, "frames", name(ExternalFrames::json));
    if (frames != name(settings_.frames))
        external_messages::fail(
            fmt::format("has frames {} (task.frames is {})", frames, name(settings_.frames)),
            "set task.frames to what the program speaks, or answer with the frames that are asked "
            "for");
}

ChildProcess::Deadline ExternalProgram::deadline(std::size_t parts) const {
    constexpr double longest = 1e9;  // Thirty years: more is more than a clock counts.
    const std::chrono::duration<double> patience(
        std::min(settings_.seconds * static_cast<double>(parts), longest));
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::milliseconds>(patience);
}

void ExternalProgram::check_id(const json& answer) const {
    if (!ids_) return;
    if (const json& id = external_messages::member(answer, "id"); id != last_)
        external_messages::fail(
            fmt::format("has id {} (the message has {})", json_text::shown(id), last_),
            "answer each message once, with its id");
}

void ExternalProgram::send(ordered_json message, std::size_t parts) {
    if (ids_) message["id"] = ++last_;
    if (settings_.frames == ExternalFrames::json) {
        process_.send_line(message.dump(), deadline(parts));
        return;
    }
    std::string bytes;
    ordered_json::to_msgpack(message, bytes);
    process_.send_frame(bytes, deadline(parts));
}

json ExternalProgram::receive(std::size_t values, std::size_t parts) {
    json answer = external_messages::parse(settings_.frames == ExternalFrames::json
                                               ? process_.receive_line(deadline(parts))
                                               : process_.receive_frame(deadline(parts)),
                                           settings_.frames, values);
    check_id(answer);
    return answer;
}

void ExternalProgram::require_silence() const {
    process_.require_silence(settings_.frames != ExternalFrames::json);
}

void ExternalProgram::send_reset(std::span<const ExternalWorld> worlds, std::string_view phase,
                                 std::uint64_t round) {
    ordered_json episodes = ordered_json::array();
    for (std::size_t i = 0; i < worlds.size(); ++i) {
        ordered_json& one = episodes.emplace_back(ordered_json{{"world", i},
                                                               {"network", worlds[i].network},
                                                               {"episode", worlds[i].episode},
                                                               {"seed", worlds[i].seed}});
        if (worlds[i].individual) one["individual"] = *worlds[i].individual;
    }
    send({{"reset", std::move(episodes)}, {"phase", phase}, {"round", round}});
}

std::vector<float> ExternalProgram::receive_reset(std::size_t worlds) {
    const std::size_t width = interface_.observations.size();
    return external_messages::observations(receive(worlds * (width + 1)), worlds, width);
}

void ExternalProgram::send_step(std::span<const std::size_t> worlds,
                                std::span<const float> actions) {
    send({{"step", external_messages::list(worlds, settings_.frames)},
          {"actions",
           external_messages::rows(actions, interface_.actions.size(), settings_.frames)}});
}

ExternalStep ExternalProgram::receive_step(std::size_t worlds) {
    const std::size_t width = interface_.observations.size();
    return external_messages::step(receive(worlds * (width + 3)), worlds, width);
}

void ExternalProgram::send_networks(ordered_json networks, const ExternalEpisodes& episodes) {
    const std::size_t count = networks.size();
    send({{"judge", std::move(networks)},
          {"seeds", episodes.seeds},
          {"phase", episodes.phase},
          {"round", episodes.round}},
         count);
}

std::vector<double> ExternalProgram::receive_fitness(std::size_t networks) {
    return external_messages::numbers(receive(networks, networks), "fitness", networks);
}

}  // namespace cambrian::evolve
