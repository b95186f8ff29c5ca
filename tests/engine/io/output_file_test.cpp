#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

class OutputFile : public testing::Test {
  protected:
    OutputFile() {
        std::string pattern = fs::temp_directory_path() / "cambrian-output-XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~OutputFile() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string text_of(const std::string& name) const {
        std::stringstream text;
        text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
        return text.str();
    }
    static std::span<const std::byte> bytes(std::string_view text) {
        return std::as_bytes(std::span(text));
    }

    fs::path folder_;
};

TEST_F(OutputFile, AFileIsReplacedAndALinkFollowed) {
    write_output(folder_ / "plain", bytes("one"));
    write_output(folder_ / "plain", bytes("two"));
    EXPECT_EQ(text_of("plain"), "two");
    fs::create_symlink("plain", folder_ / "link");
    write_output(folder_ / "link", bytes("three"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(text_of("plain"), "three");
    EXPECT_THROW(write_output(folder_, bytes("x")), InputError);
    EXPECT_TRUE(fs::is_directory(folder_));
}

TEST_F(OutputFile, APipeIsWrittenToWhereSomebodyReadsIt) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT([&] { write_output(pipe, bytes("x")); },
                ThrowsMessage<InputError>(HasSubstr("nobody reads from it")));
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    write_output(pipe, bytes("answer"));
    std::array<char, 16> got{};
    EXPECT_EQ(::read(reader, got.data(), got.size()), 6);
    EXPECT_STREQ(got.data(), "answer");
    ::close(reader);
    EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(OutputFile, ADeviceStaysADevice) {
    EXPECT_NO_THROW(write_output("/dev/null", bytes("gone")));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_THAT([&] { write_output("/dev/full", bytes("no room")); },
                ThrowsMessage<InputError>(HasSubstr("No space left on device")));
}

TEST_F(OutputFile, AtomicWritesReplaceOnlyFilesAndFollowNoLink) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT([&] { write_file_atomically(pipe, bytes("x")); },
                ThrowsMessage<InputError>(HasSubstr("it is a pipe")));
    EXPECT_TRUE(fs::is_fifo(pipe));
    std::ofstream(folder_ / "victim") << "precious";
    fs::create_symlink("victim", folder_ / "link");
    write_file_atomically(folder_ / "link", bytes("own"));
    EXPECT_FALSE(fs::is_symlink(folder_ / "link"));
    // The name of the half file is known beforehand.
    const std::string half = "file.partial." + std::to_string(::getpid());
    fs::create_symlink("victim", folder_ / half);
    EXPECT_THAT([&] { write_file_atomically(folder_ / "file", bytes("x")); },
                ThrowsMessage<InputError>(testing::AllOf(HasSubstr(half), HasSubstr("symbolic"))));
    EXPECT_EQ(text_of("victim"), "precious");
}

TEST(RunningHash, IsTheHashOfAllPiecesSoFar) {
    std::string text;
    RunningHash hash;
    EXPECT_EQ(hash.hash(), hash128({}));
    for (int i = 0; i < 200; ++i) {
        const std::string piece(static_cast<std::size_t>(i % 17), static_cast<char>('a' + i % 26));
        hash.add(std::as_bytes(std::span(piece)));
        text += piece;
        ASSERT_EQ(hash.hash(), hash128(std::as_bytes(std::span(text)))) << i;
    }
    hash.reset();
    EXPECT_EQ(hash.hash(), hash128({}));
}

}  // namespace
}  // namespace cambrian
