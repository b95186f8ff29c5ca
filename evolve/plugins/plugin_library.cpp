#include "cambrian/evolve/plugins/plugin_library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/plugins/guarded.hpp"
#include "cambrian/evolve/plugins/plugin.hpp"

namespace cambrian::evolve {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t largest_plugin = std::uint64_t{1} << 30U;

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw InputError(
        fmt::format("{} is no plug-in ({}) name a shared object that CAMBRIAN_PLUGIN defines",
                    file.string(), why));
}

/// Throws InputError for one that is shorter than its own tables say, of sections, which comes last
/// and may be missing, and of what is loaded: to use a shared object that was cut off ends the
/// process.
void require_whole(const fs::path& file, std::span<const std::byte> bytes) {
    Elf64_Ehdr head{};
    if (bytes.size() < sizeof head || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
        return;  // dlopen tells.
    std::memcpy(&head, bytes.data(), sizeof head);
    const auto require = [&](std::uint64_t offset, std::uint64_t size) {
        if (offset > bytes.size() || size > bytes.size() - offset) refuse(file, "it was cut off");
    };
    require(head.e_shoff, std::uint64_t{head.e_shentsize} * std::uint64_t{head.e_shnum});
    if (head.e_phentsize != sizeof(Elf64_Phdr)) return;  // dlopen tells.
    require(head.e_phoff, sizeof(Elf64_Phdr) * std::uint64_t{head.e_phnum});
    for (std::size_t i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part{};
        std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD) require(part.p_offset, part.p_filesz);
    }
}

Hash128 content_of(const fs::path& file) {
    std::error_code error;
    if (!fs::is_regular_file(file, error))
        throw InputError(fmt::format("the plug-in {} cannot be read ({}) check the path",
                                     file.string(),
                                     fs::exists(file, error) ? "not a file" : "no such file"));
    const std::vector<std::byte> bytes = read_file(file, largest_plugin);
    require_whole(file, bytes);
    return hash128(bytes);
}

/// Opens it; what runs then are constructors of its objects alone.
const PluginEntry& open(const fs::path& file) {
    // Never closed: layers and tasks of it may live as long as the process.
    void* const library = dlopen(fs::absolute(file).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* const why = dlerror();
        refuse(file, why == nullptr ? "it cannot be opened" : shortened(why, 300));
    }
    const void* const symbol = dlsym(library, plugin_symbol);
    if (symbol == nullptr) refuse(file, fmt::format("it has no {}", plugin_symbol));
    const auto& entry = *static_cast<const PluginEntry*>(symbol);
    if (entry.begins != plugin_begins)
        refuse(file, fmt::format("its {} is something else", plugin_symbol));
    return entry;
}

std::string version_text(std::uint32_t version) {
    return fmt::format("{}.{}.{}", version / 1000000, version / 1000 % 1000, version % 1000);
}

void check_interface(const fs::path& file, const PluginInterface& found) {
    const PluginInterface own;
    if (found == own) return;
    std::string why = "another compiler or other settings of it";
    if (found.number != own.number)
        why = fmt::format("plug-ins of interface {}, this one has {}", found.number, own.number);
    else if (found.version != own.version)
        why = fmt::format("cambrian {}, this is {}", version_text(found.version),
                          version_text(own.version));
    throw InputError(fmt::format(
        "the plug-in {} is for another program (it was built for {}) build it against this version",
        file.string(), why));
}

void check_names(const fs::path& file, const PluginEntry& entry) {
    const std::string_view name = entry.name == nullptr ? "" : entry.name;
    if (!is_plain_name(name))
        refuse(file, fmt::format("its name is \"{}\", and names are of small letters, digits and _",
                                 shortened(name)));
    if (entry.version == nullptr || entry.add == nullptr)
        refuse(file, "it has no version or nothing to add");
}

void add_layers(Plugin& plugin, const PluginIdentity& identity) {
    std::set<std::string_view> types;
    for (const std::shared_ptr<const CustomLayer>& layer : plugin.layers()) {
        const std::string_view type = layer->type();
        if (!is_plain_name(type))
            throw ConfigError(fmt::format(
                "layer type \"{}\" of the plug-in \"{}\" cannot be added (names are of small "
                "letters, digits and _) rename it",
                shortened(type), identity.name));
        if (!types.insert(type).second)
            throw ConfigError(
                fmt::format("layer type \"{}\" of the plug-in \"{}\" is added twice (the name is "
                            "taken) rename one of them",
                            type, identity.name));
        add_layer_type({identity.name, identity.content, layer});
    }
}

}  // namespace

PluginIdentity load_plugin(const fs::path& file, const PluginRegistries& registries) {
    const Hash128 content = content_of(file);
    const PluginEntry& entry = open(file);
    check_interface(file, entry.interface);
    check_names(file, entry);
    const PluginIdentity identity{entry.name, shortened(entry.version, 60), content};
    registries.genomes.add_plugin(identity);
    Plugin plugin(custom_layer_types());
    guarded_part(fmt::format("the plug-in \"{}\"", identity.name), [&] { entry.add(plugin); });
    for (const TaskKind& task : plugin.tasks())
        registries.tasks.add(guarded_task(task, identity.name));
    for (const CustomMutation& mutation : plugin.mutations())
        registries.genomes.add_mutation(guarded_mutation(mutation, identity.name));
    add_layers(plugin, identity);
    return identity;
}

}  // namespace cambrian::evolve
