#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/safetensors_header.hpp"

namespace cambrian {

/// The tensors of a model in one safetensors file or in several that an index joins. Only headers
/// are read until a tensor is asked for, and then no other.
class TensorFiles {
  public:
    /// @param path a .safetensors, an index (.json), or a folder: with model.safetensors.index.json
    /// or with one .safetensors. Throws InputError for another path, a damaged file, and an index
    /// that its files do not agree with.
    explicit TensorFiles(const std::filesystem::path& path);

    struct Entry {
        StoredPlace place;
        std::size_t file = 0;
    };
    [[nodiscard]] const std::map<std::string, Entry, std::less<>>& entries() const {
        return entries_;
    }
    /// Of a tensor that is there (ContractViolation).
    [[nodiscard]] StoredTensor read(std::string_view name) const;
    /// What messages call the model.
    [[nodiscard]] const std::string& source() const { return source_; }
    /// The folder of the files.
    [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
    [[nodiscard]] std::size_t file_count() const { return files_.size(); }

  private:
    struct File {
        std::filesystem::path path;
        std::uint64_t data_begin = 0;
    };
    void add_file(const std::filesystem::path& path);
    void read_index(const std::filesystem::path& path);

    std::string source_;
    std::filesystem::path folder_;
    std::vector<File> files_;
    std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace cambrian
