#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// Any text is either refused with a reason that can be shown, or a value that is the same after
// writing and reading it, in either order of keys; bytes as MessagePack likewise.
namespace cambrian {

void fuzz_json(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    fuzz_expect(shortened(text).size() <= 203 && is_utf8(shortened(text)));
    try {
        const nlohmann::json packed = json_text::parse_packed(text);
        std::string again;
        nlohmann::json::to_msgpack(packed, again);
        fuzz_expect(json_text::parse_packed(again) == packed);
    } catch (const InputError& error) {
        fuzz_expect(*error.what() != '\0' && is_utf8(error.what()));
    }
    if (const auto fault = json_text::fault(text)) {
        fuzz_expect(!fault->why.empty() && fault->why.size() < 500 && is_utf8(fault->why));
        return;
    }
    const nlohmann::json value = json_text::parse(text);
    fuzz_expect(json_text::parse(value.dump()) == value);
    fuzz_expect(nlohmann::json(json_text::parse_ordered(text)) == value);
}

}  // namespace cambrian
