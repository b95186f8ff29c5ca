#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"

// Whole files on disk.
namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class File : public ::testing::Test {
  protected:
    File() { std::filesystem::create_directories(folder); }
    ~File() override { std::filesystem::remove_all(folder); }

    std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                   ("cambrian_file_test_" + std::to_string(::getpid()));
    const std::vector<std::byte> old_bytes{std::byte{1}, std::byte{2}};
    const std::vector<std::byte> new_bytes{std::byte{3}};
};

TEST_F(File, IsReplacedAsAWhole) {
    const std::filesystem::path path = folder / "best.cmb";
    write_file_atomically(path, old_bytes);
    EXPECT_EQ(read_file(path), old_bytes);
    write_file_atomically(path, new_bytes);
    EXPECT_EQ(read_file(path), new_bytes);
    write_file_atomically(path, {});
    EXPECT_TRUE(read_file(path).empty());
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(File, WritingWhereNothingCanBeWrittenIsAnInputError) {
    const std::filesystem::path path = folder / "missing" / "best.cmb";
    EXPECT_THAT([&] { write_file_atomically(path, old_bytes); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("best.cmb"), HasSubstr("No such file"))));
    std::filesystem::create_directories(folder / "taken");
    EXPECT_THROW(write_file_atomically(folder / "taken", old_bytes), InputError);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST_F(File, ReadingWhatIsNoFileIsAnInputError) {
    const auto refuses = [](const std::filesystem::path& path, const char* why) {
        EXPECT_THAT([&] { static_cast<void>(read_file(path)); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr(path.string()), HasSubstr(why))));
    };
    refuses(folder / "missing.cmb", "No such file");
    refuses(folder, "not a regular file");
    refuses("/dev/zero", "not a regular file");
}

TEST_F(File, WriteAllTellsTheErrorNumber) {
    const std::filesystem::path path = folder / "log";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    EXPECT_EQ(write_all(file, old_bytes), 0);
    EXPECT_EQ(write_all(file, new_bytes), 0);
    EXPECT_EQ(write_all(file, {}), 0);
    ::close(file);
    EXPECT_EQ(read_file(path).size(), old_bytes.size() + new_bytes.size());
    EXPECT_EQ(write_all(file, old_bytes), EBADF);
}

TEST_F(File, ALimitIsKept) {
    const std::filesystem::path path = folder / "best.cmb";
    write_file_atomically(path, old_bytes);
    EXPECT_EQ(read_file(path, 2), old_bytes);
    EXPECT_THROW(static_cast<void>(read_file(path, 1)), InputError);
}

}  // namespace
}  // namespace cambrian
