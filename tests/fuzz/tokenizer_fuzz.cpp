#include <algorithm>
#include <string>
#include <vector>

#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"
#include "cambrian/engine/text/unicode/unicode.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// Up to a NUL byte a tokenizer.json, then a text. A tokenizer that is read is the same after it was
// written; what it makes of the text are ids of its own, and their text is valid, in one piece or
// id by id.
namespace cambrian {

void fuzz_tokenizer(std::span<const std::byte> bytes) {
    const std::string_view input(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t end = std::min(input.find('\0'), input.size());
    const std::string_view text =
        end == input.size() ? "abcd e\xC3\xA9 12 <s>ab  " : input.substr(end + 1);

    const TokenizerDefinition definition = parse_tokenizer(input.substr(0, end), "input");
    const Tokenizer tokenizer(definition, "input");
    fuzz_expect(parse_tokenizer(tokenizer_json(definition), "written") == definition);

    const std::vector<std::int64_t> ids = tokenizer.encode(text);
    for (const std::int64_t id : ids) fuzz_expect(!tokenizer.token(id).empty());
    const std::string decoded = tokenizer.decode(ids);
    fuzz_expect(is_utf8(decoded));
    StreamDecoder stream(tokenizer);
    std::string streamed;
    for (const std::int64_t id : ids) streamed += stream.add(id);
    fuzz_expect(streamed + stream.finish() == decoded);
}

}  // namespace cambrian
