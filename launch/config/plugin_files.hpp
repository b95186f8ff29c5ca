#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/launch/config/config_file.hpp"

// Which plug-ins a command needs: they are loaded before its config is checked, which may speak of
// what they bring.
namespace cambrian::launch {

/// The files of engine.plugins of a config, from where its relative paths start. Empty where the
/// config cannot be read: whoever needs it says why.
/// @param source a config file, or the directory of a run: what a user asks to be run. A network
///     names no code to load: whoever reads one names its plug-ins.
/// @param overrides of the command line, which may name them where no config does.
[[nodiscard]] std::vector<std::filesystem::path> plugin_files(
    const std::filesystem::path& source, std::span<const std::string> overrides);

/// Whether a config lists any in engine.plugins.
[[nodiscard]] bool names_plugins(const Json& config);
/// What is wrong with a config, where a plug-in that is not loaded may bring what it speaks of.
[[nodiscard]] std::string without_plugin(std::string_view error);

}  // namespace cambrian::launch
