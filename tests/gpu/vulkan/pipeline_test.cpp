#include "cambrian/gpu/vulkan/pipeline.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/gpu/codegen/shader_compiler.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

namespace cambrian::vulkan {
namespace {

namespace fs = std::filesystem;

const std::vector<std::byte> some_bytes{std::byte{1}, std::byte{2}, std::byte{3}};

class CacheFileTest : public testing::Test {
  protected:
    CacheFileTest()
        : folder_(fs::temp_directory_path() / ("cambrian-cache-" + std::to_string(::getpid()))) {
        fs::remove_all(folder_);
        fs::create_directories(folder_);
    }
    ~CacheFileTest() override { fs::remove_all(folder_); }

    fs::path folder_;
};

TEST_F(CacheFileTest, ComesBackAsItWasWritten) {
    const PrivateFolder folder(folder_);
    write_cache_file(folder, "cache", some_bytes);
    EXPECT_EQ(read_cache_file(folder, "cache"), some_bytes);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
}

TEST_F(CacheFileTest, IsNotTakenForAnotherDevice) {
    const PrivateFolder folder(folder_);
    write_cache_file(folder, "pipelines-a", some_bytes);
    fs::rename(folder_ / "pipelines-a", folder_ / "pipelines-b");
    EXPECT_TRUE(read_cache_file(folder, "pipelines-b").empty());
}

TEST_F(CacheFileTest, IsIgnoredWhenAnotherUserMayHaveWrittenIt) {
    const PrivateFolder folder(folder_);
    write_cache_file(folder, "cache", some_bytes);
    for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
        fs::permissions(folder_ / "cache", others, fs::perm_options::add);
        EXPECT_TRUE(read_cache_file(folder, "cache").empty());
        write_cache_file(folder, "cache", some_bytes);
        EXPECT_EQ(read_cache_file(folder, "cache"), some_bytes) << "replaced by a file of our own";
    }
}

TEST_F(CacheFileTest, IsIgnoredWhenItIsMissingOrDamaged) {
    const fs::path file = folder_ / "cache";
    const PrivateFolder folder(folder_);
    EXPECT_TRUE(read_cache_file(folder, "cache").empty());
    write_cache_file(folder, "cache", some_bytes);
    std::string text;
    {
        std::ifstream stream(file, std::ios::binary);
        text.assign(std::istreambuf_iterator<char>(stream), {});
    }
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string damaged = text;
        damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
        std::ofstream(file, std::ios::binary) << damaged;
        EXPECT_TRUE(read_cache_file(folder, "cache").empty()) << "byte " << i;
        std::ofstream(file, std::ios::binary) << text.substr(0, i);
        EXPECT_TRUE(read_cache_file(folder, "cache").empty()) << "cut at " << i;
    }
}

class PipelineTest : public CacheFileTest {
  protected:
    const std::vector<std::uint32_t>& noop() { return compiler_.compile("noop", "void main() {}"); }

    Device device_{test::test_device_options()};
    gpu::ShaderCompiler compiler_{"", ""};
};

TEST_F(PipelineTest, IsMadeOnceForEqualCodeAndConstants) {
    PipelineLibrary library(device_, "");
    const Pipeline& first = library.get("noop", noop(), std::vector<std::uint32_t>{32});
    EXPECT_EQ(&library.get("noop", noop(), std::vector<std::uint32_t>{32}), &first);
    EXPECT_NE(&library.get("noop", noop(), std::vector<std::uint32_t>{64}), &first);
    EXPECT_EQ(library.made(), 2);
    EXPECT_EQ(first.name(), "noop(32)");
}

TEST_F(PipelineTest, CacheIsKeptAndADamagedOneIsIgnored) {
    const std::vector<std::uint32_t> constants{32};
    {
        PipelineLibrary library(device_, folder_.string());
        static_cast<void>(library.get("noop", noop(), constants));
    }
    ASSERT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);
    const fs::path file = fs::directory_iterator(folder_)->path();
    const PrivateFolder folder(folder_);
    const std::string name = file.filename().string();
    EXPECT_FALSE(read_cache_file(folder, name).empty());

    std::ofstream(file, std::ios::binary) << "not a cache";
    {
        PipelineLibrary library(device_, folder_.string());
        EXPECT_NE(library.get("noop", noop(), constants).handle(), nullptr);
    }
    EXPECT_FALSE(read_cache_file(folder, name).empty()) << "written anew";
}

TEST_F(PipelineTest, AFolderThatCannotBeWrittenCostsNothingElse) {
    std::ofstream(folder_ / "file") << "in the way";
    PipelineLibrary library(device_, (folder_ / "file" / "below").string());
    static_cast<void>(library.get("noop", noop(), std::vector<std::uint32_t>{32}));
    EXPECT_NO_THROW(library.save());
}

std::size_t count(const std::vector<std::uint32_t>& code, std::vector<std::uint32_t> words) {
    std::size_t found = 0;
    for (auto at = code.begin();; ++at, ++found) {
        at = std::search(at, code.end(), words.begin(), words.end());
        if (at == code.end()) return found;
    }
}

TEST_F(PipelineTest, FloatControlsAreDeclaredForTheEntryPoint) {
    const std::vector<std::uint32_t> plain = noop();
    EXPECT_EQ(with_float_controls(plain, {}), plain);
    const std::vector<std::uint32_t> all = with_float_controls(plain, {true, true, true});
    // Three capabilities of 2 words, the extension's name in 6 and 1, three modes of 4 words.
    EXPECT_EQ(all.size(), plain.size() + 3 * 2 + 7 + 3 * 4);
    for (std::uint32_t capability : {4464U, 4466U, 4467U})
        EXPECT_EQ(count(all, {2U << 16U | 17U, capability}), 1U);
    for (std::uint32_t mode : {4459U, 4461U, 4462U}) EXPECT_EQ(count(all, {mode, 32}), 1U);
    const std::vector<std::uint32_t> one = with_float_controls(plain, {true, false, false});
    EXPECT_EQ(one.size(), plain.size() + 2 + 7 + 4);
    EXPECT_EQ(count(one, {4462, 32}), 1U);
}

TEST_F(PipelineTest, FloatControlsRefuseWhatIsNoSpirv) {
    std::vector<std::uint32_t> code = noop();
    EXPECT_THROW(static_cast<void>(with_float_controls(std::span(code).first(3), {})),
                 ContractViolation);
    code[5] = 0;  // An instruction of no words.
    EXPECT_THROW(static_cast<void>(with_float_controls(code, {})), ContractViolation);
}

}  // namespace
}  // namespace cambrian::vulkan
