#include <algorithm>

#include "cambrian/engine/io/safetensors_index.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// Any text is either an error or an index that is the same after writing and reading it, and whose
// files are plain names.
namespace cambrian {

void fuzz_safetensors_index(std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const SafetensorsIndex index = decode_safetensors_index(text, "input");
    for (const auto& [tensor, file] : index.files)
        fuzz_expect(file.ends_with(".safetensors") && file.find('/') == std::string::npos &&
                    !file.starts_with('.'));
    fuzz_expect(decode_safetensors_index(encode(index), "copy") == index);
}

}  // namespace cambrian
