#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/engine/io/safetensors.hpp"

namespace cambrian {

/// One tensor in the IDX format of the MNIST files: two zero bytes, a type (0x08 U8, 0x09 I8, 0x0B
/// I16, 0x0C I32, 0x0D F32, 0x0E F64), the number of axes, their extents and the elements, all
/// big-endian; packed by gzip or plain. Format: http://yann.lecun.com/exdb/mnist. The extents must
/// account for every byte. Before anything is unpacked, a header is refused that claims more than a
/// packed file of this length can hold, or more than `memory` bytes have room for once every
/// element is a number of a data set. Throws InputError; `source` names the file in its text.
[[nodiscard]] StoredTensor decode_idx(std::span<const std::byte> bytes, std::string_view source,
                                      std::int64_t memory = host_memory());

[[nodiscard]] StoredTensor read_idx(const std::filesystem::path& path);

}  // namespace cambrian
