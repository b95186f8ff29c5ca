#pragma once

#include <filesystem>
#include <span>

#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

namespace cambrian::evolve {

/// What plug-ins are added to. Layers go to the process, see CustomLayerTypes.
struct PluginRegistries {
    TaskRegistry& tasks;
    GenomeRegistry& genomes;
};

/// Opens a shared object that CAMBRIAN_PLUGIN defines and adds what it gives; it stays open as long
/// as the process lives. What its code throws later comes out as an Error that names it.
/// Throws InputError for a file that is missing, is no plug-in or is one for another build of
/// Cambrian, ConfigError for names that are taken and for a plug-in that fails.
PluginIdentity load_plugin(const std::filesystem::path& file, const PluginRegistries& registries);

}  // namespace cambrian::evolve
