#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// Any text is either refused as a config, with a reason that can be shown, or a config that is the
// same when it is read once more, with all its defaults.
namespace cambrian {

void fuzz_config(std::span<const std::byte> bytes) {
    using namespace launch;
    static const Schema schema;
    const Environment nothing = [](const std::string&) { return std::nullopt; };
    const auto read = [&](const Json& json) {
        return resolve(document_from(json, "input", "/", {}), schema, nothing);
    };
    try {
        const ResolvedConfig config = read(
            parse_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "input"));
        fuzz_expect(*read(*config.written).written == *config.written);
    } catch (const ConfigError& error) {
        fuzz_expect(*error.what() != '\0' && is_utf8(error.what()));
    }
}

}  // namespace cambrian
