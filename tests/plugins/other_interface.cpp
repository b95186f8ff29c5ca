// What a plug-in of another version exports: its words, behind which nothing may be called.
#include <array>

#include "cambrian/evolve/plugins/plugin.hpp"

/// Which of the words below differs; linked to this.
extern const int chosen_fault;

namespace {

[[noreturn]] void never(cambrian::Plugin& /*plugin*/) {
    __builtin_trap();
}

cambrian::PluginInterface other() {
    cambrian::PluginInterface words;
    const std::array changed{&words.number, &words.version, &words.layer_bytes};
    *changed.at(static_cast<std::size_t>(chosen_fault)) += 1000;
    return words;
}

}  // namespace

extern "C" {
extern const cambrian::PluginEntry cambrian_plugin __attribute__((visibility("default")));
const cambrian::PluginEntry cambrian_plugin{cambrian::plugin_begins, other(), "other", "1", &never};
}
