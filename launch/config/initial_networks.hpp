#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/tasks/task.hpp"

// The files that network.initial names.
namespace cambrian::launch {

/// A network, where it stands and what it is called in messages.
struct InitialFile {
    std::string name;
    distributed::NetworkFile file;
};

/// A structure (.json) has no weights to keep.
[[nodiscard]] bool is_structure(const std::filesystem::path& path);

/// What a path names: a network (.cmb, .safetensors), a structure (.json), all genomes of a
/// checkpoint or of the newest one of the directory of a run (the champion, then the youngest
/// first), or all networks of another folder, elite-2 before elite-10. Throws InputError for a file
/// that is missing or damaged and a folder without networks, ConfigError for a wrong structure.
[[nodiscard]] std::vector<InitialFile> read_initial(const std::filesystem::path& path,
                                                    const std::string& name,
                                                    const evolve::TaskSignature& task);

}  // namespace cambrian::launch
