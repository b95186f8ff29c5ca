#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/tasks/external/child_process.hpp"
#include "cambrian/evolve/tasks/external/external_messages.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// How a program is started and what it is told at first.
struct ExternalCommand {
    std::vector<std::string> command;
    std::string directory;
    std::string settings = "{}";  ///< JSON that only the program understands.
    double seconds = 10.0;        ///< For an answer; of networks, for each of them.
    ExternalLevel level = ExternalLevel::policy;
    ExternalFrames frames = ExternalFrames::json;
};

/// One episode of one network.
struct ExternalWorld {
    std::int64_t network = 0;  ///< Its place among those that are evaluated together.
    std::int64_t episode = 0;
    std::uint64_t seed = 0;               ///< Below 2^53, so that every JSON reader holds it.
    std::optional<BirthId> individual{};  ///< The network's origin, see Population.
};

/// The episodes of an evaluation, common to all networks.
struct ExternalEpisodes {
    std::vector<std::uint64_t> seeds;  ///< One for each.
    std::int64_t steps = 0;            ///< Of the longest.
    std::string_view phase;
    std::uint64_t round = 0;
};

/// A program in any language: an answer for each message (the protocol is described in the README
/// of this room). After a ChildFailure it is of no use any more.
class ExternalProgram {
  public:
    static constexpr int protocol = 1;

    /// Starts the program and asks what it simulates. Throws ConfigError when it cannot be started,
    /// ChildFailure when its answer is none, or it does not do what the command says.
    explicit ExternalProgram(const ExternalCommand& command,
                             ErrorOutput errors = ErrorOutput::shown);

    [[nodiscard]] const ExternalInterface& interface() const { return interface_; }
    [[nodiscard]] ErrorOutput errors() const { return errors_; }
    /// How long an answer may take from now on, in place of ExternalCommand::seconds.
    void set_patience(double seconds) { settings_.seconds = seconds; }
    /// Tells the program to end; nothing else may follow.
    void hang_up() { process_.hang_up(); }

    // A message and its answer apart, so that several programs work at once. An answer to another
    // message is a ChildFailure where the program repeats ids.
    void send_reset(std::span<const ExternalWorld> worlds, std::string_view phase,
                    std::uint64_t round);
    /// Observations [worlds, observations].
    [[nodiscard]] std::vector<float> receive_reset(std::size_t worlds);
    /// @param worlds positions in the last reset, of those that go on.
    /// @param actions [worlds, actions]
    void send_step(std::span<const std::size_t> worlds, std::span<const float> actions);
    [[nodiscard]] ExternalStep receive_step(std::size_t worlds);
    /// @param networks a list, see network_message().
    void send_networks(nlohmann::ordered_json networks, const ExternalEpisodes& episodes);
    /// Their fitness.
    [[nodiscard]] std::vector<double> receive_fitness(std::size_t networks);
    /// Throws as ChildProcess::require_silence does.
    void require_silence() const;

    /// Whether what it answered counts, from its first group on, though it may have been the answer
    /// to something else.
    [[nodiscard]] bool may_have_miscounted() const { return counts_ && !ids_; }
    void note_counts() { counts_ = true; }

  private:
    /// When the answer to a message of so many parts is late.
    [[nodiscard]] ChildProcess::Deadline deadline(std::size_t parts = 1) const;
    void send(nlohmann::ordered_json message, std::size_t parts = 1);
    /// @param values numbers, words and lists that the answer may hold, beside a million.
    [[nodiscard]] nlohmann::json receive(std::size_t values, std::size_t parts = 1);
    void check_handshake(const nlohmann::json& answer) const;
    void check_id(const nlohmann::json& answer) const;

    ExternalCommand settings_;
    ErrorOutput errors_;
    ChildProcess process_;
    ExternalInterface interface_;
    bool ids_ = false;        ///< Whether answers repeat the ids of messages.
    std::uint64_t last_ = 0;  ///< The id of the last message.
    bool counts_ = false;
};

}  // namespace cambrian::evolve
