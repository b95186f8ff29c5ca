#include "cambrian/engine/io/tensor_files.hpp"

#include <algorithm>
#include <set>
#include <system_error>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/safetensors_index.hpp"

namespace cambrian {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_name = "model.safetensors.index.json";

/// The index or the one file of a folder.
fs::path main_file(const fs::path& folder) {
    if (fs::exists(folder / index_name)) return folder / index_name;
    std::vector<std::string> names;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
        if (entry.path().extension() == ".safetensors")
            names.push_back(entry.path().filename().string());
    if (error)
        throw InputError(folder.string() + " cannot be read (" + error.message() +
                         ") name another folder");
    std::ranges::sort(names);
    if (names.size() == 1) return folder / names.front();
    throw InputError(folder.string() + " is no model (" +
                     (names.empty() ? "it has no .safetensors"
                                    : "it has " + shortened(joined(names)) + " and no " +
                                          std::string(index_name)) +
                     ") name one file");
}

}  // namespace

TensorFiles::TensorFiles(const fs::path& path) : source_(path.string()) {
    std::error_code ignored;
    const fs::path file = fs::is_directory(path, ignored) ? main_file(path) : path;
    folder_ = file.parent_path();
    if (file.extension() == ".json")
        read_index(file);
    else
        add_file(file);
}

void TensorFiles::add_file(const fs::path& path) {
    const InputFile file(path);
    SafetensorsHeader header = read_safetensors_header(file, path.string());
    for (auto& [name, place] : header.tensors)
        if (!entries_.emplace(name, Entry{place, files_.size()}).second)
            throw InputError(path.string() + " has the tensor \"" + shortened(name) +
                             "\" of another file (names tell tensors apart) mend the index");
    files_.push_back({path, header.data_begin});
}

void TensorFiles::read_index(const fs::path& path) {
    const std::vector<std::byte> bytes = read_file(path, longest_index);
    const SafetensorsIndex index = decode_safetensors_index(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), path.string());
    std::set<std::string> names;
    for (const auto& [tensor, file] : index.files) names.insert(file);
    for (const std::string& name : names) add_file(folder_ / name);
    for (const auto& [tensor, file] : index.files) {
        const auto found = entries_.find(tensor);
        if (found == entries_.end() || files_[found->second.file].path != folder_ / file)
            throw InputError(path.string() + " names a tensor that is not there (\"" +
                             shortened(tensor) + "\" in " + shortened(file) +
                             ") fetch the file again");
    }
    for (const auto& [tensor, entry] : entries_)
        if (!index.files.contains(tensor))
            throw InputError(files_[entry.file].path.string() + " has the tensor \"" +
                             shortened(tensor) + "\" (" + path.string() +
                             " does not name it) mend the index");
}

StoredTensor TensorFiles::read(std::string_view name) const {
    const auto found = entries_.find(name);
    CAMBRIAN_EXPECT(found != entries_.end());
    const Entry& entry = found->second;
    const File& file = files_[entry.file];
    return {entry.place.type, entry.place.shape,
            InputFile(file.path).read(file.data_begin + entry.place.begin,
                                      entry.place.end - entry.place.begin)};
}

}  // namespace cambrian
