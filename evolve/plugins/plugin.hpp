#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/layers/custom/typed_layer.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

// What a plug-in is written with: a shared object that adds tasks, layers and mutations to a
// program that knows nothing of it.
//
//     #include <cambrian/evolve/plugins/plugin.hpp>
//
//     CAMBRIAN_PLUGIN("my_plugin", "1.0") {
//         plugin.add_layer<MyLayer>();
//     }
namespace cambrian {

/// What a plug-in gives. Names that are taken, or not of small letters, digits and _, are refused
/// when it is loaded.
class Plugin {
  public:
    explicit Plugin(CustomLayerTypes& types) : types_(types) {}

    /// A type of task, as `task.type` of configs names it.
    void add_task(evolve::TaskKind kind) { tasks_.push_back(std::move(kind)); }
    /// A mutation of volumetric genomes, with the key of its rate. It returns a valid structure and
    /// what becomes of the weights, or nothing, see Mutation.
    void add_mutation(evolve::CustomMutation mutation) {
        mutations_.push_back(std::move(mutation));
    }
    /// A type of layer, written as those of Cambrian are (see the concept Layer), named by L::name.
    template <Layer L>
    void add_layer() {
        layers_.push_back(std::make_unique<TypedLayer<L>>(L{}));
    }

    [[nodiscard]] const std::vector<evolve::TaskKind>& tasks() const { return tasks_; }
    [[nodiscard]] const std::vector<evolve::CustomMutation>& mutations() const {
        return mutations_;
    }
    [[nodiscard]] const std::vector<std::shared_ptr<const CustomLayer>>& layers() const {
        return layers_;
    }
    /// Those of the program that loads it.
    [[nodiscard]] CustomLayerTypes& layer_types() const { return types_; }

  private:
    CustomLayerTypes& types_;
    std::vector<evolve::TaskKind> tasks_;
    std::vector<evolve::CustomMutation> mutations_;
    std::vector<std::shared_ptr<const CustomLayer>> layers_;
};

/// How objects lie in memory, and what calls them: plug-in and program must agree to the letter.
struct PluginInterface {
    /// Of this header; 7: parameters name disabled connections (ParameterSpec::disabled), updates
    /// of running statistics their weights (BufferUpdate::range).
    std::uint32_t number = 7;
    std::uint32_t version =
        CAMBRIAN_VERSION_MAJOR * 1000000 + CAMBRIAN_VERSION_MINOR * 1000 + CAMBRIAN_VERSION_PATCH;
    std::uint32_t compiler = __GXX_ABI_VERSION;
    std::uint32_t layer_bytes = sizeof(AnyLayer);
    std::uint32_t task_bytes = sizeof(evolve::TaskSignature);
    std::uint32_t settings_bytes = sizeof(evolve::MutationSettings);
    std::uint32_t genome_bytes = sizeof(evolve::Genome);
    std::uint32_t operands_bytes = sizeof(LayerOperands) + sizeof(ParameterSpec);
    bool operator==(const PluginInterface&) const = default;
};

/// The one symbol that a plug-in exports. But for constructors of its objects nothing of it is
/// called, and nothing after `begins` is read, before its first words are what this program
/// expects.
struct PluginEntry {
    std::uint64_t begins = 0;
    PluginInterface interface {};
    const char* name = nullptr;
    const char* version = nullptr;
    void (*add)(Plugin& plugin) = nullptr;
};
inline constexpr std::uint64_t plugin_begins = 0x63616d6272706c67;  // "cambrplg"
inline constexpr const char* plugin_symbol = "cambrian_plugin";

}  // namespace cambrian

/// Defines the plug-in of a shared object: a name of small letters, digits and _, a version, and
/// the body of a function of `cambrian::Plugin& plugin`.
#define CAMBRIAN_PLUGIN(NAME, VERSION)                                                           \
    static void cambrian_plugin_adds(::cambrian::Plugin& plugin);                                \
    static void cambrian_plugin_begin(::cambrian::Plugin& plugin) {                              \
        /* The object has a copy of the library, whose layers are those of the program. */       \
        ::cambrian::share_custom_layer_types(plugin.layer_types());                              \
        cambrian_plugin_adds(plugin);                                                            \
    }                                                                                            \
    extern "C" {                                                                                 \
    extern const ::cambrian::PluginEntry cambrian_plugin __attribute__((visibility("default"))); \
    const ::cambrian::PluginEntry cambrian_plugin{                                               \
        ::cambrian::plugin_begins, {}, NAME, VERSION, &cambrian_plugin_begin};                   \
    }                                                                                            \
    static void cambrian_plugin_adds([[maybe_unused]] ::cambrian::Plugin& plugin)
