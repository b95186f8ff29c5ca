#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian::evolve {

/// Strict reader of one JSON object of a task's settings. Every error is a ConfigError that names
/// the key's path, what was found and what is allowed.
class Settings {
  public:
    /// Refuses keys that are not allowed, naming the nearest one. `json` must outlive the reader.
    Settings(const nlohmann::json& json, std::string path,
             std::span<const std::string_view> allowed);

    [[nodiscard]] bool has(std::string_view key) const;
    /// The value of a key, or null when it is absent.
    [[nodiscard]] const nlohmann::json* find(std::string_view key) const;
    /// "task.validation.every"
    [[nodiscard]] std::string path(std::string_view key) const;

    [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback,
                                       std::int64_t least, std::int64_t most) const;
    /// A number strictly between two bounds.
    [[nodiscard]] double number_between(std::string_view key, double fallback, double above,
                                        double below) const;
    [[nodiscard]] bool boolean(std::string_view key, bool fallback) const;
    /// Index of one of the allowed texts.
    [[nodiscard]] std::size_t choice(std::string_view key, std::size_t fallback,
                                     std::span<const std::string_view> allowed) const;
    /// A list of texts without repetition; empty when the key is absent.
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const;
    /// The same, each one of the allowed texts.
    [[nodiscard]] std::vector<std::string> choices(std::string_view key,
                                                   std::span<const std::string_view> allowed) const;

    /// Throws the ConfigError `<path> <problem>`.
    [[noreturn]] void fail(std::string_view key, std::string_view problem) const;

  private:
    const nlohmann::json& json_;
    std::string path_;
};

/// "a, b, c"
[[nodiscard]] std::string joined(std::span<const std::string_view> names);
/// " did you mean "x"?", or " use one of these" when nothing is near.
[[nodiscard]] std::string nearest_hint(std::string_view name,
                                       std::span<const std::string_view> candidates);
[[nodiscard]] std::string nearest_hint(std::string_view name,
                                       std::span<const std::string> candidates);

}  // namespace cambrian::evolve
