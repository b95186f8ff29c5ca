#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/tasks/external/child_process.hpp"

namespace cambrian::evolve {

/// How a program is started and what it is told at first.
struct ExternalCommand {
    std::vector<std::string> command;
    std::string directory;
    std::string settings = "{}";  ///< JSON that only the program understands.
    double seconds = 10.0;        ///< For an answer.
};

/// Names of what networks see and do, as the program says.
struct ExternalInterface {
    std::vector<std::string> observations;
    std::vector<std::string> actions;
    bool operator==(const ExternalInterface&) const = default;
};

/// One episode of one network.
struct ExternalWorld {
    std::int64_t network = 0;  ///< Its place among those that are evaluated together.
    std::int64_t episode = 0;
    std::uint64_t seed = 0;  ///< Below 2^53, so that every JSON reader holds it.
};

/// What a step gives, in the order of the worlds it was asked for.
struct ExternalStep {
    std::vector<float> observations;  ///< [worlds, observations]
    std::vector<double> rewards;
    std::vector<std::uint8_t> done;
};

/// A simulator in any language: JSON objects, one a line, an answer for each message (the protocol
/// is described in the README of this room). After a ChildFailure it is of no use any more.
class ExternalProgram {
  public:
    static constexpr int protocol = 1;

    /// Starts the program and asks what it simulates. Throws ConfigError when it cannot be started,
    /// ChildFailure when its answer is none.
    explicit ExternalProgram(const ExternalCommand& command);

    [[nodiscard]] const ExternalInterface& interface() const { return interface_; }

    // A message and its answer apart, so that several programs work at once.
    void send_reset(std::span<const ExternalWorld> worlds, std::string_view phase,
                    std::uint64_t round);
    /// Observations [worlds, observations].
    [[nodiscard]] std::vector<float> receive_reset(std::size_t worlds);
    /// @param worlds positions in the last reset, of those that go on.
    /// @param actions [worlds, actions]
    void send_step(std::span<const std::size_t> worlds, std::span<const float> actions);
    [[nodiscard]] ExternalStep receive_step(std::size_t worlds);

  private:
    void send(std::string_view message);
    [[nodiscard]] nlohmann::json receive();

    ExternalCommand settings_;
    ChildProcess process_;
    ExternalInterface interface_;
};

}  // namespace cambrian::evolve
