#include "cambrian/engine/io/container_sequence.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr std::array<WantedSection, 2> wanted{{{"about", 10}, {"numbers", 10'000}}};

/// Equal in no byte for long, so that it is stored as it is or packed as it comes.
std::vector<std::byte> part(std::size_t number, const std::string& kind = "log") {
    Container container{kind, {}};
    container.add("about", {std::byte{static_cast<unsigned char>(number)}});
    container.add("numbers", std::vector<std::byte>(100 + 100 * number, std::byte{9}));
    return encode(container);
}

class ContainerSequenceTest : public testing::Test {
  protected:
    ContainerSequenceTest() {
        std::string name = (fs::temp_directory_path() / "cambrian-sequence-XXXXXX").string();
        folder_ = mkdtemp(name.data());
        path_ = folder_ / "log.cmb";
        for (std::size_t number = 0; number < 3; ++number) {
            const std::vector<std::byte> bytes = part(number);
            whole_.insert(whole_.end(), bytes.begin(), bytes.end());
            ends_.push_back(whole_.size());
        }
    }
    ~ContainerSequenceTest() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }

    void write(std::span<const std::byte> bytes) const {
        std::ofstream(path_, std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }
    /// How many containers there are before the end, or before an error.
    struct Found {
        std::size_t count = 0;
        bool cut_short = false;
        bool damaged = false;
    };
    [[nodiscard]] Found found() const {
        Found result;
        ContainerSequence sequence(path_, "log", wanted);
        try {
            while (const auto container = sequence.next()) {
                EXPECT_EQ(encode(*container), part(result.count));
                EXPECT_EQ(sequence.position(), ends_[result.count]);
                ++result.count;
            }
            result.cut_short = sequence.cut_short();
        } catch (const InputError& error) {
            EXPECT_THAT(error.what(), HasSubstr(path_.string()));
            result.damaged = true;
        }
        return result;
    }
    [[nodiscard]] std::size_t whole_before(std::size_t byte) const {
        return static_cast<std::size_t>(std::ranges::upper_bound(ends_, byte) - ends_.begin());
    }

    fs::path folder_;
    fs::path path_;
    std::vector<std::byte> whole_;
    std::vector<std::size_t> ends_;
};

TEST_F(ContainerSequenceTest, ReadsOneAfterAnother) {
    write(whole_);
    const Found all = found();
    EXPECT_EQ(all.count, 3U);
    EXPECT_FALSE(all.cut_short || all.damaged);
    fs::remove(path_);
    EXPECT_EQ(found().count, 0U);
    EXPECT_FALSE(found().cut_short);
}

TEST_F(ContainerSequenceTest, EndsWhereItsWriterWasKilled) {
    for (std::size_t length = 0; length < whole_.size(); ++length) {
        write(std::span(whole_).first(length));
        const Found before = found();
        const std::size_t expected = whole_before(length);
        EXPECT_EQ(before.count, expected) << length;
        EXPECT_FALSE(before.damaged) << length;
        const bool between = length == 0 || (expected > 0 && ends_[expected - 1] == length);
        EXPECT_EQ(before.cut_short, !between) << length;
    }
}

TEST_F(ContainerSequenceTest, AnyChangedByteIsAnErrorAfterWhatIsBefore) {
    for (std::size_t at = 0; at < whole_.size(); ++at) {
        std::vector<std::byte> bad = whole_;
        bad[at] ^= std::byte{0x10};
        write(bad);
        const Found before = found();
        EXPECT_TRUE(before.damaged) << at;
        EXPECT_EQ(before.count, whole_before(at)) << at;
    }
}

TEST_F(ContainerSequenceTest, OtherFilesAreRefused) {
    write(part(0, "lag"));
    EXPECT_TRUE(found().damaged);
    Container other{"log", {}};
    other.add("abode", {});
    other.add("numbers", {});
    write(encode(other));
    EXPECT_TRUE(found().damaged);
    write(std::as_bytes(std::span("generation,id\n")));
    EXPECT_TRUE(found().damaged);
    fs::remove(path_);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
    EXPECT_THAT([&] { ContainerSequence(path_, "log", wanted); },
                ThrowsMessage<InputError>(HasSubstr(path_.string())));
}

TEST_F(ContainerSequenceTest, PartsBeyondTheirBoundsAreRefused) {
    Container large{"log", {}};
    large.add("about", std::vector<std::byte>(11, std::byte{1}));
    large.add("numbers", {});
    write(encode(large));
    EXPECT_TRUE(found().damaged);
    // Packed it is small, and as it is too long to be read at all.
    large.sections[0].bytes.resize(1);
    large.sections[1].bytes.resize(1'000'000);
    write(encode(large));
    EXPECT_TRUE(found().damaged);
}

}  // namespace
}  // namespace cambrian
