#include "cambrian/engine/io/safetensors_index.hpp"

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/json_text.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian {
namespace {

constexpr std::string_view ending_of_shards = ".safetensors";
constexpr json_text::Limits index_limits{
    .depth = 8, .length = longest_index, .values = std::size_t{1} << 22U};

[[noreturn]] void refuse_index(std::string_view source, const std::string& why) {
    throw InputError(std::string(source) + " cannot be read as an index of safetensors (" + why +
                     ") write it again or name another file");
}

/// The name of a file in the folder of the index, not a path to any other.
bool is_file_name(std::string_view name) {
    return name.size() > ending_of_shards.size() && name.ends_with(ending_of_shards) &&
           name.front() != '.' && name.find_first_of("/\\") == std::string_view::npos;
}

}  // namespace

SafetensorsIndex decode_safetensors_index(std::string_view text, std::string_view source) {
    if (const auto fault = json_text::fault(text, index_limits))
        refuse_index(source, (fault->is_json ? "" : "it is no JSON: ") + fault->why);
    const nlohmann::json json = nlohmann::json::parse(text);
    if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
        refuse_index(source, "it has no object \"weight_map\"");
    SafetensorsIndex index;
    for (const auto& [tensor, file] : json["weight_map"].items()) {
        if (!file.is_string() || !is_file_name(file.get_ref<const std::string&>()))
            refuse_index(source, "tensor \"" + shortened(tensor) + "\" is in " +
                                     json_text::shown(file) +
                                     ", which is no .safetensors of its own folder");
        index.files.emplace(tensor, file.get<std::string>());
    }
    if (index.files.empty()) refuse_index(source, "its weight_map is empty");
    if (!json.contains("metadata") || !json["metadata"].is_object()) return index;
    const nlohmann::json& metadata = json["metadata"];
    if (metadata.contains("total_size") && metadata["total_size"].is_number_unsigned())
        index.total_size = metadata["total_size"].get<std::uint64_t>();
    return index;
}

std::string encode(const SafetensorsIndex& index) {
    const nlohmann::ordered_json json{{"metadata", {{"total_size", index.total_size}}},
                                      {"weight_map", index.files}};
    std::string text = json.dump(2) + "\n";
    if (text.size() > longest_index)
        throw InputError("an index of safetensors cannot be written (it would be " +
                         std::to_string(text.size()) + " bytes, readers take " +
                         std::to_string(longest_index) + ") write one file: larger shards");
    return text;
}

}  // namespace cambrian
