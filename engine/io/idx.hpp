#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "cambrian/engine/io/safetensors.hpp"

namespace cambrian {

/// One tensor in the IDX format of the MNIST files: two zero bytes, a type (0x08 U8, 0x09 I8, 0x0B
/// I16, 0x0C I32, 0x0D F32, 0x0E F64), the number of axes, their extents and the elements, all
/// big-endian; packed by gzip or plain. Format: http://yann.lecun.com/exdb/mnist. The extents must
/// account for every byte. Throws InputError; `source` names the file in its text.
[[nodiscard]] StoredTensor decode_idx(std::span<const std::byte> bytes, std::string_view source);

[[nodiscard]] StoredTensor read_idx(const std::filesystem::path& path);

}  // namespace cambrian
