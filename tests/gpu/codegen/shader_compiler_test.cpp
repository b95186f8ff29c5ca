#include "cambrian/gpu/codegen/shader_compiler.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::gpu {
namespace {

namespace fs = std::filesystem;

const std::string doubling = R"(
void main() {
    uint i = group() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    Reals(push.address[0]).at[i] *= 2.0;
}
)";

/// An empty folder for one test, removed with it.
class ShaderCompilerTest : public testing::Test {
  protected:
    ShaderCompilerTest()
        : folder_(fs::temp_directory_path() / ("cambrian-shaders-" + std::to_string(::getpid()))) {
        fs::remove_all(folder_);
    }
    ~ShaderCompilerTest() override { fs::remove_all(folder_); }

    [[nodiscard]] fs::path only_file() const {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(folder_)) files.push_back(entry.path());
        EXPECT_EQ(files.size(), 1U);
        return files.at(0);
    }

    fs::path folder_;
};

std::string contents(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void overwrite(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

TEST_F(ShaderCompilerTest, CompilesEachTextOnce) {
    ShaderCompiler compiler("", "");
    const auto& first = compiler.compile("doubling", doubling);
    EXPECT_EQ(first.at(0), 0x07230203U);
    EXPECT_EQ(first.at(1), 0x00010500U) << "SPIR-V 1.5";
    EXPECT_EQ(&compiler.compile("another name", doubling), &first);
    EXPECT_EQ(compiler.compilations(), 1);
    EXPECT_GT(compiler.seconds(), 0.0);
    EXPECT_NE(&compiler.compile("other", doubling + "\n"), &first);
    EXPECT_EQ(compiler.compilations(), 2);
}

TEST_F(ShaderCompilerTest, SaysWhatIsWrongAndWhere) {
    ShaderCompiler compiler("", "");
    try {
        (void)compiler.compile("broken", "void main() {\n    float x = missing;\n}\n");
        FAIL() << "compiled";
    } catch (const ContractViolation& violation) {
        EXPECT_THAT(violation.what(), testing::HasSubstr("broken"));
        EXPECT_THAT(violation.what(), testing::HasSubstr("0:2: 'missing'"));
    }
}

TEST_F(ShaderCompilerTest, KeepsCodeOnDisk) {
    const auto code = ShaderCompiler(folder_.string(), "").compile("doubling", doubling);
    ShaderCompiler second(folder_.string(), "");
    EXPECT_EQ(second.compile("doubling", doubling), code);
    EXPECT_EQ(second.compilations(), 0);
}

TEST_F(ShaderCompilerTest, ReplacesDamagedFiles) {
    const auto code = ShaderCompiler(folder_.string(), "").compile("doubling", doubling);
    const std::string whole = contents(only_file());
    std::string flipped = whole;
    flipped[whole.size() / 2] = static_cast<char>(flipped[whole.size() / 2] ^ 1);
    std::string long_count = whole;
    long_count[14] = 1;
    for (const std::string& damaged :
         {std::string(), whole.substr(0, 23), whole.substr(0, whole.size() - 4), flipped,
          whole + "more", long_count}) {
        overwrite(only_file(), damaged);
        ShaderCompiler compiler(folder_.string(), "");
        EXPECT_EQ(compiler.compile("doubling", doubling), code);
        EXPECT_EQ(compiler.compilations(), 1);
        EXPECT_EQ(contents(only_file()), whole);
    }
}

TEST_F(ShaderCompilerTest, TakesNoFileOfAnotherText) {
    static_cast<void>(ShaderCompiler(folder_.string(), "").compile("doubling", doubling));
    const fs::path first = only_file();
    const std::string other = doubling + "// Another text.\n";
    const fs::path aside = folder_.string() + "-aside";
    fs::rename(first, aside);
    static_cast<void>(ShaderCompiler(folder_.string(), "").compile("other", other));
    fs::rename(aside, only_file());
    ShaderCompiler compiler(folder_.string(), "");
    static_cast<void>(compiler.compile("other", other));
    EXPECT_EQ(compiler.compilations(), 1) << "the code of another text was taken";
}

TEST_F(ShaderCompilerTest, ReplacesWhatAnotherUserMayHaveWritten) {
    const auto code = ShaderCompiler(folder_.string(), "").compile("doubling", doubling);
    const auto compilations = [&] {
        ShaderCompiler compiler(folder_.string(), "");
        EXPECT_EQ(compiler.compile("doubling", doubling), code);
        return compiler.compilations();
    };
    EXPECT_EQ(compilations(), 0);
    fs::permissions(only_file(), fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(compilations(), 1);
    EXPECT_EQ(compilations(), 0) << "the new file is our own";
    const fs::path aside = folder_.string() + "-aside";
    const fs::path file = only_file();
    fs::rename(file, aside);
    fs::create_symlink(aside, file);
    EXPECT_EQ(compilations(), 1) << "a link was followed";
    EXPECT_FALSE(fs::is_symlink(only_file()));
    fs::remove(aside);
}

TEST_F(ShaderCompilerTest, ACacheThatCannotBeWrittenOnlyCostsTime) {
    overwrite(folder_, "a file, no folder");
    ShaderCompiler compiler((folder_ / "cache").string(), "");
    EXPECT_FALSE(compiler.compile("doubling", doubling).empty());
}

TEST_F(ShaderCompilerTest, DumpsTexts) {
    ShaderCompiler compiler("", folder_.string());
    (void)compiler.compile("doubling", doubling);
    EXPECT_THAT(only_file().filename().string(),
                testing::MatchesRegex("doubling-[0-9a-f]{8}.comp"));
    EXPECT_EQ(contents(only_file()), doubling);
}

}  // namespace
}  // namespace cambrian::gpu
