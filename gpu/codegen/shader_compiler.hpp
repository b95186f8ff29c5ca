#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/io/private_folder.hpp"

namespace cambrian::gpu {

/// Compiles generated GLSL with glslang to SPIR-V, each text once; results are kept in memory and,
/// under the hash of text, compiler version and version of this program, in the cache directory, a
/// PrivateFolder (written to a temporary name and renamed; a file that is damaged, of another text
/// or another user's is compiled again and replaced; a directory that cannot be written keeps
/// nothing).
class ShaderCompiler {
  public:
    /// @param cache_directory empty: nothing is kept on disk.
    /// @param dump_directory every text is written there as <name>-<hash>.comp; empty: none.
    /// Throws ConfigError for a cache directory that others may write into.
    ShaderCompiler(const std::string& cache_directory, std::string dump_directory);

    /// @param text everything after the shared text (shader_prefix), which is put in front.
    /// @param name for dumps and messages; equal texts are one shader whatever their names.
    /// Throws ContractViolation with the compiler's messages: a text that fails is our bug. Throws
    /// InputError when a dump cannot be written.
    [[nodiscard]] const std::vector<std::uint32_t>& compile(std::string_view name,
                                                            const std::string& text);
    /// Texts that were in no cache.
    [[nodiscard]] std::int64_t compilations() const { return compilations_; }
    /// Time spent on them.
    [[nodiscard]] double seconds() const { return seconds_; }

  private:
    void dump(std::string_view name, const std::string& text, const std::string& hash) const;

    PrivateFolder cache_;
    std::string dump_directory_;
    std::map<Hash128, std::vector<std::uint32_t>> compiled_;  ///< By the hash of the text given.
    std::int64_t compilations_ = 0;
    double seconds_ = 0.0;
};

}  // namespace cambrian::gpu
