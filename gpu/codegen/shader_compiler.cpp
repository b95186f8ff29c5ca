#include "cambrian/gpu/codegen/shader_compiler.hpp"

#include <SPIRV/GlslangToSpv.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/version.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/gpu/codegen/shader_texts.hpp"

namespace cambrian::gpu {
namespace {

using Code = std::vector<std::uint32_t>;

/// The state that glslang keeps for the process: made by the first compilation of any thread.
class GlslangProcess {
  public:
    static void ensure() { static const GlslangProcess process; }
    GlslangProcess(const GlslangProcess&) = delete;
    GlslangProcess& operator=(const GlslangProcess&) = delete;

  private:
    GlslangProcess() { CAMBRIAN_ASSERT(glslang::InitializeProcess()); }
    ~GlslangProcess() { glslang::FinalizeProcess(); }
};

[[noreturn]] void fail(std::string_view name, const char* messages) {
    throw ContractViolation("generated shader " + std::string(name) +
                            " does not compile: " + messages);
}

Code compile_glsl(std::string_view name, const std::string& text) {
    GlslangProcess::ensure();
    const auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
    glslang::TShader shader(EShLangCompute);
    const char* string = text.data();
    const int length = static_cast<int>(text.size());
    shader.setStringsWithLengths(&string, &length, 1);
    shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
    shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_2);
    shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_5);
    if (!shader.parse(GetDefaultResources(), 460, false, messages)) fail(name, shader.getInfoLog());
    glslang::TProgram program;
    program.addShader(&shader);
    if (!program.link(messages)) fail(name, program.getInfoLog());
    glslang::SpvOptions options;
    options.disableOptimizer = true;  // Drivers optimise; the bits must follow the text.
    Code code;
    glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), code, &options);
    CAMBRIAN_ASSERT(!code.empty());
    return code;
}

std::string hash_of(const std::string& text) {
    const glslang::Version version = glslang::GetVersion();
    return Hasher()
        .add(version.major)
        .add(version.minor)
        .add(version.patch)
        .add(arithmetic_version)
        .add(std::uint64_t{CAMBRIAN_VERSION_MAJOR})
        .add(std::uint64_t{CAMBRIAN_VERSION_MINOR})
        .add(std::uint64_t{CAMBRIAN_VERSION_PATCH})
        .add(std::string_view(text))
        .hash128()
        .hex();
}

/// What stands before the code in a file of the cache.
struct CacheHeader {
    std::uint64_t magic = 0x31767073626D6163;  ///< "cambspv1" in little-endian bytes.
    std::uint64_t words = 0;
    std::uint64_t checksum = 0;
};
static_assert(sizeof(CacheHeader) == 24);
constexpr std::uint64_t max_cached_bytes = std::uint64_t{1} << 26U;

std::string cache_name(const std::string& hash) {
    return hash + ".spirv";
}

/// Of the code and of the text it was compiled from: a file under another's name is no match.
std::uint64_t checksum_of(std::span<const std::byte> code, const std::string& hash) {
    return Hasher().add(std::string_view(hash)).add(hash64(code)).hash64();
}

std::optional<Code> read_cached(const PrivateFolder& folder, const std::string& hash) {
    const auto bytes = folder.read(cache_name(hash), max_cached_bytes);
    CacheHeader header;
    if (!bytes || bytes->size() < sizeof header) return std::nullopt;
    std::memcpy(&header, bytes->data(), sizeof header);
    const std::span code_bytes = std::span<const std::byte>(*bytes).subspan(sizeof header);
    const bool whole = header.magic == CacheHeader{}.magic && code_bytes.size() % 4 == 0 &&
                       header.words == code_bytes.size() / 4 && header.words > 0 &&
                       header.checksum == checksum_of(code_bytes, hash);
    if (!whole) return std::nullopt;
    Code code(header.words);
    std::memcpy(code.data(), code_bytes.data(), code_bytes.size());
    return code;
}

void write_cached(const PrivateFolder& folder, const std::string& hash, const Code& code) {
    const auto code_bytes = std::as_bytes(std::span(code));
    CacheHeader header;
    header.words = code.size();
    header.checksum = checksum_of(code_bytes, hash);
    std::vector<std::byte> bytes(sizeof header + code_bytes.size());
    std::memcpy(bytes.data(), &header, sizeof header);
    std::memcpy(bytes.data() + sizeof header, code_bytes.data(), code_bytes.size());
    folder.write(cache_name(hash), bytes);
}

}  // namespace

ShaderCompiler::ShaderCompiler(const std::string& cache_directory, std::string dump_directory)
    : cache_(cache_directory), dump_directory_(std::move(dump_directory)) {}

void ShaderCompiler::dump(std::string_view name, const std::string& text,
                          const std::string& hash) const {
    const std::filesystem::path folder(dump_directory_);
    std::error_code ignored;  // A folder that is missing fails the write below, with the reason.
    std::filesystem::create_directories(folder, ignored);
    write_file_atomically(folder / (std::string(name) + "-" + hash.substr(0, 8) + ".comp"),
                          std::as_bytes(std::span(text)));
}

const Code& ShaderCompiler::compile(std::string_view name, const std::string& text) {
    const Hash128 key = hash128(std::as_bytes(std::span(text)));
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    // Line numbers of messages count from the start of the text, as in a dump.
    const std::string full = shader_prefix() + "#line 1\n" + text;
    const std::string hash = hash_of(full);
    if (!dump_directory_.empty()) dump(name, text, hash);
    if (std::optional<Code> cached = read_cached(cache_, hash))
        return compiled_.emplace(key, std::move(*cached)).first->second;
    const auto start = std::chrono::steady_clock::now();
    Code code = compile_glsl(name, full);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    ++compilations_;
    write_cached(cache_, hash, code);
    return compiled_.emplace(key, std::move(code)).first->second;
}

}  // namespace cambrian::gpu
