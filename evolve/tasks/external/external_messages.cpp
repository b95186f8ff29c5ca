#include "cambrian/evolve/tasks/external/external_messages.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/little_endian.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/evolve/tasks/external/child_process.hpp"

namespace cambrian::evolve::external_messages {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// Values of keys that nobody asked for.
constexpr std::size_t spare_values = 1'000'000;
constexpr double largest_float = std::numeric_limits<float>::max();

/// Numbers as little-endian bytes; `word` gives the bits of one.
template <class Values, class Word>
ordered_json packed(const Values& values, Word word) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(std::uint32_t));
    std::byte* at = std::as_writable_bytes(std::span(bytes)).data();
    for (const auto& value : values) little_endian::put(at, word(value));
    return ordered_json::binary(std::move(bytes));
}

ordered_json packed(std::span<const float> values) {
    return packed(values, [](float value) { return std::bit_cast<std::uint32_t>(value); });
}

/// Where an answer has bytes for numbers of a kind, and how many.
template <class Word>
const std::byte* numbers_in(const json& value, const char* key, std::size_t count) {
    const json::binary_t& bytes = value.get_binary();
    if (bytes.size() != count * sizeof(Word))
        fail(fmt::format("has {} bytes in \"{}\" ({} numbers have {})", bytes.size(), key, count,
                         count * sizeof(Word)),
             "give that many, or a list");
    return std::as_bytes(std::span(bytes)).data();
}

const json& list_of(const json& answer, const char* key, std::size_t length) {
    const json& value = member(answer, key);
    if (!value.is_array() || value.size() != length)
        fail(fmt::format("has {} \"{}\" ({} were asked for)",
                         value.is_array() ? std::to_string(value.size()) + " values in"
                                          : std::string("no list in"),
                         key, length),
             "give one value for each, in their order");
    return value;
}

double finite(double value, const char* key) {
    if (!std::isfinite(value))
        fail(fmt::format("has {} in \"{}\" (that is no finite number)", value, key),
             "give numbers");
    return value;
}

double number(const json& value, const char* key) {
    if (!value.is_number())
        fail(fmt::format("has {} in \"{}\" (that is no finite number)", json_text::shown(value),
                         key),
             "give numbers");
    return finite(value.get<double>(), key);
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
            if (name.is_string() && name != "" && seen.insert(name.get<std::string>()).second)
                names.push_back(name.get<std::string>());
    if (names.empty() || names.size() != value.size())
        fail(fmt::format("has {} in \"{}\" (neither a count nor different names)",
                         json_text::shown(value), key),
             "say how many there are, or list their names");
    return names;
}

std::vector<std::uint8_t> done_of(const json& answer, std::size_t worlds) {
    std::vector<std::uint8_t> done;
    const auto refuse = [](const std::string& value) {
        fail(fmt::format("has {} in \"done\" (neither true nor false)", value),
             "say for each world whether its episode has ended");
    };
    if (const json& value = member(answer, "done"); value.is_binary()) {
        const std::byte* at = numbers_in<std::uint8_t>(value, "done", worlds);
        for (std::size_t i = 0; i < worlds; ++i) {
            done.push_back(std::to_integer<std::uint8_t>(at[i]));
            if (done.back() > 1) refuse(std::to_string(done.back()));
        }
        return done;
    }
    for (const json& value : list_of(answer, "done", worlds)) {
        if (!value.is_boolean()) refuse(json_text::shown(value));
        done.push_back(value.get<bool>() ? 1 : 0);
    }
    return done;
}

}  // namespace

ordered_json rows(std::span<const float> values, std::size_t width, ExternalFrames frames) {
    if (frames == ExternalFrames::msgpack) return packed(values);
    ordered_json rows = ordered_json::array();
    for (std::size_t first = 0; first < values.size(); first += width)
        rows.push_back(values.subspan(first, width));
    return rows;
}

ordered_json list(std::span<const float> values, ExternalFrames frames) {
    return frames == ExternalFrames::msgpack ? packed(values) : ordered_json(values);
}

ordered_json list(std::span<const std::size_t> numbers, ExternalFrames frames) {
    if (frames == ExternalFrames::json) return numbers;
    return packed(numbers, [](std::size_t number) { return static_cast<std::uint32_t>(number); });
}

void fail(const std::string& problem, const std::string& remedy) {
    throw ChildFailure(fmt::format("the program's answer {} {}", problem, remedy));
}

json parse(const std::string& text, ExternalFrames frames, std::size_t values) {
    const bool lines = frames == ExternalFrames::json;
    const char* remedy =
        lines ? "write one JSON object a line, and nothing else, to standard output"
              : "write one MessagePack map a frame, after its length in four bytes, and nothing "
                "else, to standard output";
    json answer;
    try {
        const json_text::Limits limits{.length = text.size(), .values = values + spare_values};
        answer = lines ? json_text::parse(text, limits) : json_text::parse_packed(text, limits);
    } catch (const InputError& error) {
        fail(
            fmt::format("is not understood ({}{})",
                        lines ? "\"" + shortened(text, 100) + "\": " : std::string(), error.what()),
            remedy);
    }
    if (!answer.is_object())
        fail(fmt::format("is {} (no JSON object)", json_text::shown(answer)), remedy);
    if (const auto error = answer.find("error"); error != answer.end())
        fail(fmt::format("is an error ({})", json_text::shown(*error)), "see what it says");
    return answer;
}

const json& member(const json& answer, const char* key) {
    const auto found = answer.find(key);
    if (found == answer.end())
        fail(fmt::format("has no \"{}\" (it is {})", key, json_text::shown(answer)),
             "answer with that key");
    return *found;
}

ExternalInterface interface(const json& answer) {
    return {.observations = names(answer, "observations"),
            .actions = names(answer, "actions"),
            .named_observations = answer["observations"].is_array(),
            .named_actions = answer["actions"].is_array()};
}

bool repeats_ids(const json& answer) {
    const auto ids = answer.find("ids");
    if (ids == answer.end()) return false;
    if (!ids->is_boolean())
        fail(fmt::format("has {} in \"ids\" (neither true nor false)", json_text::shown(*ids)),
             "say true where each answer repeats the id of its message, or leave it out");
    return ids->get<bool>();
}

std::vector<float> observations(const json& answer, std::size_t worlds, std::size_t width) {
    std::vector<float> values;
    values.reserve(worlds * width);
    if (const json& value = member(answer, "observations"); value.is_binary()) {
        const std::byte* at = numbers_in<float>(value, "observations", worlds * width);
        for (std::size_t i = 0; i < worlds * width; ++i) {
            const float held = std::bit_cast<float>(little_endian::get<std::uint32_t>(at));
            values.push_back(static_cast<float>(finite(double{held}, "observations")));
        }
        return values;
    }
    for (const json& row : list_of(answer, "observations", worlds)) {
        if (!row.is_array() || row.size() != width)
            fail(fmt::format("has the observations {} (each world has {})", json_text::shown(row),
                             width),
                 "give a list of that many numbers for each world");
        for (const json& value : row) values.push_back(observation(value));
    }
    return values;
}

std::vector<double> numbers(const json& answer, const char* key, std::size_t count) {
    std::vector<double> values;
    values.reserve(count);
    if (const json& value = member(answer, key); value.is_binary()) {
        const std::byte* at = numbers_in<double>(value, key, count);
        for (std::size_t i = 0; i < count; ++i)
            values.push_back(finite(little_endian::get_double(at), key));
        return values;
    }
    for (const json& value : list_of(answer, key, count)) values.push_back(number(value, key));
    return values;
}

ExternalStep step(const json& answer, std::size_t worlds, std::size_t width) {
    ExternalStep step;
    step.observations = observations(answer, worlds, width);
    step.rewards = numbers(answer, "rewards", worlds);
    step.done = done_of(answer, worlds);
    return step;
}

}  // namespace cambrian::evolve::external_messages
