#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/launch/config/experiment_reader.hpp"

// What a resume, or trials in a directory, may change of a config.
namespace cambrian::launch {

/// A key that differs between two resolved configs; a text is "absent" where a side lacks the key.
struct Difference {
    std::string key;
    std::string key_class;
    std::string before;
    std::string after;
};
/// A line for each.
[[nodiscard]] std::string changes_text(const std::vector<Difference>& changes);
[[nodiscard]] std::vector<Difference> differences(const Schema& schema, const Json& before,
                                                  const Json& after);

/// Whether a program judges the networks of a run that asks for them (cambrian.Evolution of
/// configs/python): nobody else can go on with it.
[[nodiscard]] bool asked_by_program(const Json& config);
/// The same of the config.json of a directory; false where there is none.
[[nodiscard]] bool asked_by_program(const std::filesystem::path& directory);
/// What goes on with such a run.
inline constexpr std::string_view asking_program = "in its program, with resume=True";

/// The config of a run directory with changes. Throws ConfigError naming the first changed key that
/// decides what the result is, or a directory that is not UTF-8; `changes` receives the others.
[[nodiscard]] ResolvedConfig read_resumed(const std::filesystem::path& directory,
                                          std::span<const std::string> overrides,
                                          const Schema& schema, std::vector<Difference>& changes);

/// Throws ConfigError naming the first identity key in which `now` differs from the run that
/// directory/config.json describes; does nothing where there is no run yet.
void check_same_run(const std::filesystem::path& directory, const ResolvedConfig& now,
                    const Schema& schema);

}  // namespace cambrian::launch
