#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

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

    static void write(const fs::path& path, std::string_view text) {
        cambrian::OutputFile file(path);
        file.write(bytes(text));
        file.finish();
    }
    [[nodiscard]] mode_t mode_of(const std::string& name) const {
        struct stat found {};
        EXPECT_EQ(::stat((folder_ / name).c_str(), &found), 0);
        return found.st_mode & 0777U;
    }

    fs::path folder_;
};

TEST_F(OutputFile, AFileIsReplacedAndALinkFollowed) {
    write(folder_ / "plain", "one");
    write(folder_ / "plain", "two");
    EXPECT_EQ(text_of("plain"), "two");
    fs::create_symlink("plain", folder_ / "link");
    write(folder_ / "link", "three");
    EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
    EXPECT_EQ(text_of("plain"), "three");
    EXPECT_THROW(write(folder_, "x"), InputError);
    EXPECT_TRUE(fs::is_directory(folder_));
}

TEST_F(OutputFile, APipeIsWrittenToWhereSomebodyReadsIt) {
    const fs::path pipe = folder_ / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_THAT([&] { write(pipe, "x"); },
                ThrowsMessage<InputError>(HasSubstr("nobody reads from it")));
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    write(pipe, "answer");
    std::array<char, 16> got{};
    EXPECT_EQ(::read(reader, got.data(), got.size()), 6);
    EXPECT_STREQ(got.data(), "answer");
    ::close(reader);
    EXPECT_TRUE(fs::is_fifo(pipe));
}

TEST_F(OutputFile, ALinkIsFollowedToWhatIsNotThereYet) {
    fs::create_symlink("second", folder_ / "first");
    fs::create_symlink(folder_ / "third", folder_ / "second");
    write(folder_ / "first", "text");
    EXPECT_EQ(text_of("third"), "text");
    EXPECT_TRUE(fs::is_symlink(folder_ / "first"));
    EXPECT_TRUE(fs::is_symlink(folder_ / "second"));
    fs::create_symlink("circle", folder_ / "circle");
    EXPECT_THAT([&] { write(folder_ / "circle", "x"); },
                ThrowsMessage<OutputError>(HasSubstr("levels of symbolic links")));
}

TEST_F(OutputFile, ADescriptorIsWrittenToAndItsFileNotReplaced) {
    std::ofstream(folder_ / "all") << "first\n";
    fs::create_hard_link(folder_ / "all", folder_ / "same");
    const int file = ::open((folder_ / "all").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    const std::string number = std::to_string(file);
    fs::create_symlink("/dev/fd/" + number, folder_ / "link");
    for (const fs::path& path :
         {fs::path("/dev/fd/" + number), fs::path("/proc/self/fd/" + number), folder_ / "link"}) {
        EXPECT_EQ(descriptor_of(path), file) << path;
        write(path, "more\n");
    }
    EXPECT_EQ(text_of("same"), "first\nmore\nmore\nmore\n");
    EXPECT_NE(::fcntl(file, F_GETFD), -1) << "it is its owner's to close";
    ::close(file);
    EXPECT_THAT([&] { write("/dev/fd/" + number, "x"); },
                ThrowsMessage<OutputError>(HasSubstr("Bad file descriptor")));
    EXPECT_EQ(descriptor_of("/dev/stdout"), STDOUT_FILENO);
    fs::create_directory(folder_ / "fd");
    for (const fs::path& path : {folder_ / "all", folder_ / "fd" / "1", fs::path("1"), fs::path()})
        EXPECT_EQ(descriptor_of(path), std::nullopt) << path;
}

TEST_F(OutputFile, AFullPipeIsWaitedFor) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    const std::string text(std::size_t{1} << 20U, 'x');
    std::size_t got = 0;
    std::thread reader([&] {
        std::array<char, 4096> block{};
        while (got < text.size())
            if (const ssize_t count = ::read(ends[0], block.data(), block.size()); count > 0)
                got += static_cast<std::size_t>(count);
            else
                std::this_thread::yield();
    });
    write("/dev/fd/" + std::to_string(ends[1]), text);
    reader.join();
    EXPECT_EQ(got, text.size());
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_F(OutputFile, AFileKeepsItsPermissions) {
    for (const mode_t mode : {mode_t{0600}, mode_t{0640}, mode_t{0666}}) {
        std::ofstream(folder_ / "own") << "before";
        ASSERT_EQ(::chmod((folder_ / "own").c_str(), mode), 0);
        write(folder_ / "own", "after");
        EXPECT_EQ(mode_of("own"), mode);
        write_file_atomically(folder_ / "own", bytes("again"));
        EXPECT_EQ(mode_of("own"), mode);
    }
    EXPECT_EQ(text_of("own"), "again");
}

TEST_F(OutputFile, ADeviceStaysADevice) {
    EXPECT_NO_THROW(write("/dev/null", "gone"));
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    EXPECT_THAT([&] { write("/dev/full", "no room"); },
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
    RunningHash moved = std::move(hash);
    EXPECT_EQ(moved.hash(), hash128(std::as_bytes(std::span(text))));
    moved.reset();
    EXPECT_EQ(moved.hash(), hash128({}));
}

}  // namespace
}  // namespace cambrian
