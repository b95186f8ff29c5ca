#pragma once

#include <string>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"

namespace cambrian::launch {

/// The config of the task that a network was evolved for: a config file when one is named; else the
/// config.json beside the network, when it belongs to the same run; else the identity in the file,
/// with relative paths from the working directory. Throws ConfigError when there is none.
[[nodiscard]] ResolvedConfig config_of_network(const std::string& network_path,
                                               const distributed::NetworkFile& network,
                                               const std::string& config_path,
                                               std::span<const std::string> overrides,
                                               const Schema& schema);

/// A network file with its name.
struct NamedNetwork {
    const std::string& path;
    const distributed::NetworkFile& file;
};

/// What a network has learnt otherwise than a task gives it: a line where constants of scaling
/// differ, empty where nothing does or one of the two says nothing. Throws ConfigError for other
/// columns, answers or classes.
[[nodiscard]] std::string preparation_note(const NamedNetwork& network, const evolve::Task& task);

}  // namespace cambrian::launch
