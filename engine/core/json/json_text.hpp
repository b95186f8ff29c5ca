#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

// JSON texts, and the same values as MessagePack, from outside. Each is checked here before any of
// it is kept: JSON is copied, compared and printed by recursion, so that what is nested without a
// bound would end the program.
namespace cambrian::json_text {

/// Lists and objects that may be open at once.
inline constexpr int deepest = 100;

struct Limits {
    int depth = deepest;
    std::size_t length = std::size_t{16} << 20U;  ///< Bytes.
    /// Keys of one object; an ordered object looks at all of them for each.
    std::size_t keys = std::numeric_limits<std::size_t>::max();
    /// Numbers, texts, lists and objects in all: an empty list is a byte of MessagePack, but
    /// dozens in memory.
    std::size_t values = std::numeric_limits<std::size_t>::max();
};

/// Why a text is refused.
struct Fault {
    std::string why;
    std::optional<std::size_t> byte;  ///< Where in the text, if that is known.
    bool is_json = false;             ///< JSON that is not wanted, rather than no JSON.
};

/// What keeps a text from being read, if anything: it is no JSON, is too long or nested too
/// deeply, has a key twice in one object or too many keys, a number that no double can hold, a NUL
/// character, or bytes that are not UTF-8. Memory does not grow with the nesting.
[[nodiscard]] std::optional<Fault> fault(std::string_view text, const Limits& limits = {});

/// The value; throws InputError that says only what is wrong, for a caller who knows the source.
[[nodiscard]] nlohmann::json parse(std::string_view text, const Limits& limits = {});
/// The same with keys in the order of the text.
[[nodiscard]] nlohmann::ordered_json parse_ordered(std::string_view text,
                                                   const Limits& limits = {});

/// What MessagePack (msgpack.org) holds; strings of bytes become JSON's binary values, which
/// parse() never gives. Refuses what parse() refuses, extensions, numbers that are not finite, keys
/// that are no texts, and bytes after the value; a length beyond the bytes that are there costs no
/// memory.
[[nodiscard]] nlohmann::json parse_packed(std::string_view bytes, const Limits& limits = {});

/// A value as a message shows it: JSON, cut when long.
[[nodiscard]] std::string shown(const nlohmann::json& value, std::size_t longest = 200);

}  // namespace cambrian::json_text
