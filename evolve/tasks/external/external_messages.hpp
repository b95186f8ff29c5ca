#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What is said between Cambrian and a program, in JSON or in MessagePack (the README of this room).
namespace cambrian::evolve {

/// How messages look after the first one and its answer, which are JSON lines.
enum class ExternalFrames : std::uint8_t {
    json,     ///< Lines of JSON.
    msgpack,  ///< MessagePack after four bytes with its length; lists of numbers are bytes.
};
inline constexpr std::array<std::string_view, 2> external_frames_names{"json", "msgpack"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(ExternalFrames) {
    return external_frames_names;
}
[[nodiscard]] constexpr std::string_view name(ExternalFrames frames) {
    return external_frames_names[static_cast<std::size_t>(frames)];
}

/// What a program does with networks.
enum class ExternalLevel : std::uint8_t {
    policy,   ///< It steps worlds, and is told what the networks answer to its observations.
    network,  ///< It gets the networks themselves, and says how good they are.
};
inline constexpr std::array<std::string_view, 2> external_level_names{"policy", "network"};
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(ExternalLevel) {
    return external_level_names;
}
[[nodiscard]] constexpr std::string_view name(ExternalLevel level) {
    return external_level_names[static_cast<std::size_t>(level)];
}

/// What networks see and do, as the program says: where it only counts, by numbers.
struct ExternalInterface {
    std::vector<std::string> observations;
    std::vector<std::string> actions;
    bool named_observations = false;
    bool named_actions = false;
    bool operator==(const ExternalInterface&) const = default;
};

/// What a step gives, in the order of the worlds it was asked for.
struct ExternalStep {
    std::vector<float> observations;  ///< [worlds, observations]
    std::vector<double> rewards;
    std::vector<std::uint8_t> done;
};

// Parts of messages. In MessagePack numbers are little-endian bytes.
namespace external_messages {

/// [rows, width] as lists of one row each, or float32.
[[nodiscard]] nlohmann::ordered_json rows(std::span<const float> values, std::size_t width,
                                          ExternalFrames frames);
/// One list, or float32.
[[nodiscard]] nlohmann::ordered_json list(std::span<const float> values, ExternalFrames frames);
/// One list, or 32-bit numbers.
[[nodiscard]] nlohmann::ordered_json list(std::span<const std::size_t> numbers,
                                          ExternalFrames frames);

/// What is said of an answer that is of no use. Throws ChildFailure.
[[noreturn]] void fail(const std::string& problem, const std::string& remedy);
/// Names of one kind that a program may have.
inline constexpr std::size_t max_names = 1'000'000;
/// What a program sent. Throws ChildFailure unless it is an object, and for one that is an error.
/// @param values that the answer needs; it may hold a million more.
[[nodiscard]] nlohmann::json parse(const std::string& answer, ExternalFrames frames,
                                   std::size_t values);

// Parts of answers, as lists or as bytes. All throw ChildFailure for anything else than they say.

/// The value of a key that must be there.
[[nodiscard]] const nlohmann::json& member(const nlohmann::json& answer, const char* key);
[[nodiscard]] ExternalInterface interface(const nlohmann::json& answer);
/// What the answer to the first message says of "ids"; older programs do not know them.
[[nodiscard]] bool repeats_ids(const nlohmann::json& answer);
/// [worlds, width] of "observations": rows of finite numbers, or float32.
[[nodiscard]] std::vector<float> observations(const nlohmann::json& answer, std::size_t worlds,
                                              std::size_t width);
/// As many finite numbers, or float64.
[[nodiscard]] std::vector<double> numbers(const nlohmann::json& answer, const char* key,
                                          std::size_t count);
/// "observations", "rewards", and "done" of so many worlds; bytes of `done` are 0 or 1.
[[nodiscard]] ExternalStep step(const nlohmann::json& answer, std::size_t worlds,
                                std::size_t width);

}  // namespace external_messages
}  // namespace cambrian::evolve
