#include "cambrian/engine/io/private_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::uint64_t most = 1000;
constexpr uid_t somebody = 12345;
const std::vector<std::byte> content{std::byte{1}, std::byte{2}};

class PrivateFolderTest : public testing::Test {
  protected:
    PrivateFolderTest()
        : place_(fs::temp_directory_path() / ("cambrian-private-" + std::to_string(::getpid()))) {
        fs::remove_all(place_);
        fs::create_directories(place_);
    }
    ~PrivateFolderTest() override { fs::remove_all(place_); }

    fs::path place_;
};

TEST_F(PrivateFolderTest, IsMadeForThisUserAlone) {
    const mode_t before = ::umask(0);
    const PrivateFolder folder(place_ / "below" / "cache");
    ::umask(before);
    ASSERT_TRUE(folder.keeps());
    EXPECT_EQ(fs::status(place_ / "below" / "cache").permissions(), fs::perms::owner_all);
    EXPECT_EQ(folder.read("file", most), std::nullopt);
    folder.write("file", content);
    EXPECT_EQ(folder.read("file", most), content);
    EXPECT_EQ(folder.read("file", 1), std::nullopt);
}

TEST_F(PrivateFolderTest, IsRefusedWhenOthersMayWriteThere) {
    for (const mode_t mode : {mode_t{0777}, mode_t{0775}, mode_t{0757}, mode_t{01777}}) {
        ASSERT_EQ(::chmod(place_.c_str(), mode), 0);
        EXPECT_THAT([&] { const PrivateFolder folder(place_); },
                    ThrowsMessage<ConfigError>(AllOf(HasSubstr("others may write there"),
                                                     HasSubstr("chmod go-w " + place_.string()))));
    }
    // The remedy.
    ASSERT_EQ(std::system(("chmod go-w " + place_.string()).c_str()), 0);
    EXPECT_TRUE(PrivateFolder(place_).keeps());
}

TEST_F(PrivateFolderTest, IgnoresFilesThatOthersMayHaveWritten) {
    const PrivateFolder folder(place_);
    folder.write("file", content);
    for (const mode_t mode : {mode_t{0666}, mode_t{0664}, mode_t{0646}}) {
        ASSERT_EQ(::chmod((place_ / "file").c_str(), mode), 0);
        EXPECT_EQ(folder.read("file", most), std::nullopt);
        folder.write("file", content);
        EXPECT_EQ(folder.read("file", most), content) << "replaced, not written into";
    }
    fs::create_symlink(place_ / "file", place_ / "link");
    EXPECT_EQ(folder.read("link", most), std::nullopt);
    ASSERT_EQ(::mkfifo((place_ / "pipe").c_str(), 0600), 0);
    EXPECT_EQ(folder.read("pipe", most), std::nullopt);
    EXPECT_EQ(folder.read(".", most), std::nullopt);
}

TEST_F(PrivateFolderTest, TrustsNobodyElsesFolderAndFiles) {
    if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    const PrivateFolder folder(place_);
    folder.write("file", content);
    ASSERT_EQ(::chown((place_ / "file").c_str(), somebody, somebody), 0);
    EXPECT_EQ(folder.read("file", most), std::nullopt);
    ASSERT_EQ(::chown(place_.c_str(), somebody, somebody), 0);
    EXPECT_THAT([&] { const PrivateFolder again(place_); },
                ThrowsMessage<ConfigError>(HasSubstr("it belongs to user 12345")));
}

TEST_F(PrivateFolderTest, KeepsNothingWhereItCannotBe) {
    std::ofstream(place_ / "file") << "in the way";
    for (const fs::path& path : {fs::path(), place_ / "file", place_ / "file" / "below"}) {
        const PrivateFolder folder(path);
        EXPECT_FALSE(folder.keeps());
        folder.write("file", content);
        EXPECT_EQ(folder.read("file", most), std::nullopt);
    }
}

}  // namespace
}  // namespace cambrian
