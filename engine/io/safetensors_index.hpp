#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace cambrian {

/// Bytes of an index at most: as many as the header of a file may have.
inline constexpr std::size_t longest_index = 100'000'000;

/// Which of several safetensors files of one folder has which tensor, as *.safetensors.index.json
/// says it: {"metadata": {"total_size": ..}, "weight_map": {"tensor": "file", ..}}.
struct SafetensorsIndex {
    std::map<std::string, std::string, std::less<>> files;  ///< Of each tensor its file's name.
    std::uint64_t total_size = 0;  ///< Bytes of all tensors; 0 where the index does not say.
    bool operator==(const SafetensorsIndex&) const = default;
};

/// Throws InputError for a text that is no such index, and for a file that is not the plain name of
/// a .safetensors, so that nothing outside of the folder is ever opened.
[[nodiscard]] SafetensorsIndex decode_safetensors_index(std::string_view text,
                                                        std::string_view source);
/// Throws InputError for one that would be longer than longest_index.
[[nodiscard]] std::string encode(const SafetensorsIndex& index);

}  // namespace cambrian
