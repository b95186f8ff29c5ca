#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cambrian/engine/io/input_file.hpp"
#include "cambrian/engine/io/safetensors.hpp"

namespace cambrian {

/// Where a tensor lies in the data of a safetensors file, and what it is.
struct StoredPlace {
    StoredType type{};
    Shape shape;
    std::uint64_t begin = 0;  ///< Bytes of the data.
    std::uint64_t end = 0;
};

/// What a safetensors file says before its data.
struct SafetensorsHeader {
    std::map<std::string, StoredPlace, std::less<>> tensors;
    std::map<std::string, std::string, std::less<>> metadata;
    std::uint64_t data_begin = 0;  ///< Bytes of the file.
};

/// Reads no more of a file than its header, with the checks of decode_safetensors.
[[nodiscard]] SafetensorsHeader read_safetensors_header(const InputFile& file,
                                                        std::string_view source);

}  // namespace cambrian
