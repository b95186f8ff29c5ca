// What a plug-in of another version exports: its words, behind which nothing may be called.
#include "cambrian/evolve/plugins/plugin.hpp"

namespace {

[[noreturn]] void never(cambrian::Plugin& /*plugin*/) {
    __builtin_trap();
}

constexpr cambrian::PluginInterface other() {
    cambrian::PluginInterface words;
    words.WORD += 1000;
    return words;
}

}  // namespace

extern "C" {
extern const cambrian::PluginEntry cambrian_plugin __attribute__((visibility("default")));
const cambrian::PluginEntry cambrian_plugin{cambrian::plugin_begins, other(), "other", "1", &never};
}
