#include "cambrian/engine/core/json/json_read.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian::json_read {

namespace {

using nlohmann::json;

/// The value as a reader of the message may see it: never long.
std::string shown(const json& value) {
    constexpr std::size_t longest = 40;
    if (value.is_structured()) return value.is_object() ? "an object" : "a list";
    return json_text::shown(value, longest);
}

[[noreturn]] void wrong_type(const json& value, std::string_view path, std::string_view wanted) {
    fail(path, "is " + shown(value), std::string(wanted) + " is needed", "change it");
}

}  // namespace

void fail(std::string_view path, std::string_view problem, std::string_view why,
          std::string_view suggestion) {
    throw ConfigError(std::string(path) + " " + std::string(problem) + " (" + std::string(why) +
                      ") " + std::string(suggestion));
}

void object(const json& value, std::string_view path, std::span<const std::string_view> keys) {
    if (!value.is_object()) wrong_type(value, path, "an object");
    for (const auto& item : value.items()) {
        if (std::ranges::find(keys, item.key()) != keys.end()) continue;
        fail(member(path, shortened(item.key())), "is not a key", "known here: " + joined(keys),
             nearest_hint(item.key(), keys));
    }
}

std::size_t list(const json& value, std::string_view path) {
    if (!value.is_array()) wrong_type(value, path, "a list");
    return value.size();
}

const json& at(const json& list, std::size_t index) {
    return list[index];
}

const json* find(const json& object, std::string_view key) {
    const auto found = object.find(std::string(key));
    return found == object.end() ? nullptr : &*found;
}

std::int64_t integer(const json& value, std::string_view path, std::int64_t least,
                     std::int64_t most) {
    const std::string wanted =
        "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    if (!value.is_number_integer()) wrong_type(value, path, wanted);
    constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > largest)
        wrong_type(value, path, wanted);
    const auto number = value.get<std::int64_t>();
    if (number < least || number > most) wrong_type(value, path, wanted);
    return number;
}

float real(const json& value, std::string_view path) {
    if (!value.is_number()) wrong_type(value, path, "a number");
    const auto number = value.get<double>();
    if (!(std::abs(number) <= static_cast<double>(std::numeric_limits<float>::max())))
        wrong_type(value, path, "a number that a 32-bit float can hold");
    const auto result = static_cast<float>(number);
    if (result == 0.0F && number != 0.0)
        wrong_type(value, path, "a number that a 32-bit float can tell from 0");
    return result;
}

bool boolean(const json& value, std::string_view path) {
    if (!value.is_boolean()) wrong_type(value, path, "true or false");
    return value.get<bool>();
}

std::string text(const json& value, std::string_view path) {
    if (!value.is_string()) wrong_type(value, path, "a text");
    return value.get<std::string>();
}

std::size_t choice(const json& value, std::string_view path,
                   std::span<const std::string_view> allowed) {
    const std::string chosen = text(value, path);
    const auto found = std::ranges::find(allowed, chosen);
    if (found == allowed.end())
        fail(path, "is " + shown(value), "known: " + joined(allowed),
             nearest_hint(chosen, allowed));
    return static_cast<std::size_t>(found - allowed.begin());
}

std::string member(std::string_view path, std::string_view key) {
    return path.empty() ? std::string(key) : std::string(path) + "." + std::string(key);
}

std::string element(std::string_view path, std::size_t index) {
    return std::string(path) + "[" + std::to_string(index) + "]";
}

}  // namespace cambrian::json_read
