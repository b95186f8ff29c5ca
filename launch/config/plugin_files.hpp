#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

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

}  // namespace cambrian::launch
