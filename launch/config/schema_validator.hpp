#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// Where each key of a merged config was written, for messages.
class Origins {
  public:
    explicit Origins(std::string file) : file_(std::move(file)) {}
    /// The key and everything below it come from `origin` ("base.json", "--set a.b=1").
    void record(const std::string& key, std::string origin);
    /// Of the key itself, or of the nearest section around it.
    [[nodiscard]] const std::string& of(std::string_view key) const;
    /// The `--set` that gave a key or one below it; empty: none did.
    [[nodiscard]] std::string override_of(std::string_view key) const;

  private:
    std::string file_;
    std::map<std::string, std::string, std::less<>> by_key_;
};

/// The key that an error of a part begins with, else the section of the part.
inline std::string_view key_of(std::string_view text, std::string_view section) {
    const std::string_view first = text.substr(0, text.find_first_of(" :"));
    return first.starts_with(section) ? first : section;
}

/// Repeats an error of a part with the place in the config it comes from.
template <class Body>
auto from(const Origins& origins, const char* section, const Body& body) {
    try {
        return body();
    } catch (const ConfigError& error) {
        throw ConfigError(
            fmt::format("{}: {}", origins.of(key_of(error.what(), section)), error.what()));
    } catch (const ShapeError& error) {
        throw ShapeError(fmt::format("{}: {}", origins.of(section), error.what()));
    }
}

/// Throws ConfigError for an unknown key (with the nearest known one, also for names of other
/// programs), a missing key, a wrong type or a value out of range. The text names origin, key, what
/// was there and what is allowed.
void validate(const Schema& schema, const Json& config, const Origins& origins);

/// The config with every default filled in, in the order of the schema; whole numbers where the
/// schema asks for a number become one, so that equal settings have equal text.
[[nodiscard]] Json with_defaults(const Schema& schema, const Json& config);

/// Only the keys of one class: "identity", "stop" or "placement".
[[nodiscard]] Json keys_of_class(const Schema& schema, const Json& config, std::string_view wanted);

/// The keys that decide what is evolved or trained, as text with the keys in order: checkpoints and
/// network files hold it, and are of the same experiment where it is equal. Throws ConfigError
/// where it is longer than what they may hold.
[[nodiscard]] std::string identity_text(const Schema& schema, const Json& config);

}  // namespace cambrian::launch
