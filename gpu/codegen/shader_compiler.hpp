#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cambrian::gpu {

/// Compiles generated GLSL with glslang to SPIR-V, each text once; results are kept in memory and,
/// under the hash of text and compiler version, in the cache directory (written to a temporary name
/// and renamed; a damaged file is compiled again).
class ShaderCompiler {
  public:
    /// @param cache_directory empty: nothing is kept on disk.
    /// @param dump_directory every text is written there; empty: none.
    ShaderCompiler(std::string cache_directory, std::string dump_directory);

    /// @param text everything behind the prelude (shaders/prelude.glsl), which is put in front.
    /// Throws ContractViolation with the compiler's messages: a text that fails is our bug.
    [[nodiscard]] const std::vector<std::uint32_t>& compile(std::string_view name,
                                                            const std::string& text);
    [[nodiscard]] std::int64_t compilations() const { return compilations_; }

  private:
    std::string cache_directory_;
    std::string dump_directory_;
    std::map<std::string, std::vector<std::uint32_t>> compiled_;  ///< By hash.
    std::int64_t compilations_ = 0;
};

}  // namespace cambrian::gpu
