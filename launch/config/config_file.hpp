#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/launch/config/schema_validator.hpp"
#include "cambrian/launch/json.hpp"

namespace cambrian::launch {

/// Throws ConfigError for a path that the files of a run cannot hold: they are UTF-8.
/// @param what is there, such as "the run lies in".
/// @param suggestion such as "rename it".
void require_utf8(const std::filesystem::path& path, std::string_view what,
                  std::string_view suggestion);

/// A config as it was written: files merged, command line applied, nothing checked yet.
struct ConfigDocument {
    std::shared_ptr<const Json> json;
    std::filesystem::path base_directory;  ///< Absolute folder of the file.
    Origins origins{""};
};

/// The text with every `//` comment outside strings replaced by blanks, so that positions stay.
[[nodiscard]] std::string without_comments(std::string_view text);

/// JSON with comments. Throws ConfigError with file, line and column; a key twice in one object is
/// an error too.
[[nodiscard]] Json parse_config(std::string_view text, const std::string& file);

/// Reads a file, merges it over the one it "extends" (relative to itself; null removes a key), then
/// applies the overrides `a.b=value` in order; a value is JSON, or else a text; null removes a key.
/// Throws InputError for a missing file, ConfigError for anything else.
[[nodiscard]] ConfigDocument read_config(const std::filesystem::path& path,
                                         std::span<const std::string> overrides);
/// The config.json of the directory of a run; nothing where there is none.
[[nodiscard]] std::optional<ConfigDocument> find_run_config(const std::filesystem::path& directory);
/// The same as read_config for a config that is already in memory.
[[nodiscard]] ConfigDocument document_from(const Json& json, const std::string& origin,
                                           const std::filesystem::path& base_directory,
                                           std::span<const std::string> overrides);

/// Looks up an environment variable.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
[[nodiscard]] Environment process_environment();

/// The seed of the run, which is 1 where a config says none.
[[nodiscard]] std::uint64_t seed_of(const Json& config);

/// The config with `{seed}` and, with an environment, `${NAME}` replaced in every text; `${$}` and
/// `${{}` are a dollar and a brace. Throws ConfigError naming key and variable when one is not set.
[[nodiscard]] Json expanded(const Json& config, std::uint64_t seed, const Environment& environment,
                            const Origins& origins);
/// What expanded() makes this text of.
[[nodiscard]] std::string unexpanded(std::string_view text);

}  // namespace cambrian::launch
