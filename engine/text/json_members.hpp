#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace cambrian {

/// The members of an object of a tokenizer.json. Every function throws ConfigError that names the
/// path of a value.
class JsonMembers {
  public:
    /// The object has no other keys than these.
    JsonMembers(const nlohmann::json& object, std::string_view path,
                std::span<const std::string_view> keys);

    [[nodiscard]] std::string path(std::string_view key) const;
    /// The value of a key; null where there is none, or null.
    [[nodiscard]] const nlohmann::json* held(std::string_view key) const;
    [[nodiscard]] const nlohmann::json& needed(std::string_view key) const;
    [[nodiscard]] std::string text(std::string_view key) const;
    [[nodiscard]] bool flag(std::string_view key, bool initial) const;
    [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t most) const;
    /// What is only read where it changes nothing.
    void refuse_unless(bool neutral, std::string_view key, std::string_view why) const;

  private:
    const nlohmann::json& object_;
    std::string path_;
};

}  // namespace cambrian
