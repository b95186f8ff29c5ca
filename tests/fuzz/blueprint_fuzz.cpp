#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// Any text is either an error or a network that is the same after writing and reading it.
namespace cambrian {

void fuzz_blueprint(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (json_text::fault(text)) return;
    Blueprint blueprint;
    try {
        blueprint = blueprint_from_json(json_text::parse(text));
    } catch (const ConfigError&) {
        return;
    }
    const Network network(blueprint);
    fuzz_expect(network.blueprint() == blueprint);
    fuzz_expect(blueprint_from_json(nlohmann::json(network_section(blueprint))) == blueprint);
    std::set<std::string> names;
    std::int64_t count = 0;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        fuzz_expect(names.insert(network.weight_name(i)).second);
        fuzz_expect(network.weights()[i].offset == count);
        count += network.weights()[i].count;
    }
    fuzz_expect(count == network.weight_count());
}

}  // namespace cambrian
