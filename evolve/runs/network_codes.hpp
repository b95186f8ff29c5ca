#pragma once

#include <filesystem>
#include <string_view>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// Networks without masters, for inference alone: as network_tensors.hpp has them, but what a number
// format holds is "<name>.codes" (U8 [rows, bytes of a row]), "<name>.scales" ([groups], F32, of
// q4_0 F16) and "<name>.zero_points" (U8: codes in one row), where the format has them. The
// structure in the metadata says the format of each layer.
namespace cambrian::distributed {

/// Codes of the masters, in the formats of the network's layers.
[[nodiscard]] Safetensors to_inference(const NetworkFile& file);

[[nodiscard]] bool holds_codes(const Safetensors& content);

/// The network of such a file: its weights are the numbers that codes stand for, and float32 is
/// their format, so that it answers bit by bit as the one with masters did. `source` names the file
/// in the text of an InputError: every tensor must be there in its type and shape, and nothing
/// else.
[[nodiscard]] NetworkFile from_inference(Safetensors content, std::string_view source);

/// What a .cmb holds, or safetensors with masters or codes. Throws InputError as their readers do.
[[nodiscard]] NetworkFile read_any(const std::filesystem::path& path);
/// The same for those that only ask what it answers: throws InputError for a genotype, too.
[[nodiscard]] NetworkFile read_to_answer(const std::filesystem::path& path);

}  // namespace cambrian::distributed
