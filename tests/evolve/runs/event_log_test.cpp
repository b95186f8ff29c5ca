#include "cambrian/evolve/runs/event_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// RFC 3720, B.4.
TEST(Crc32c, IsThatOfTheStandard) {
    std::string rising;
    for (char byte = 0; byte < 32; ++byte) rising += byte;
    const std::string falling(rising.rbegin(), rising.rend());
    std::string read_command(48, '\0');
    const auto put = [&](std::size_t at, std::initializer_list<int> bytes) {
        for (const int byte : bytes) read_command[at++] = static_cast<char>(byte);
    };
    put(0, {0x01, 0xC0});
    put(16, {0x14});
    put(20, {0, 0, 0x04, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18, 0x28});
    put(40, {0x02});
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
    EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
    EXPECT_EQ(crc32c(rising), 0x46DD794EU);
    EXPECT_EQ(crc32c(falling), 0x113FDB5CU);
    EXPECT_EQ(crc32c(read_command), 0xD9963A56U);
    EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
}

std::string text_of_file(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Step and scalars of an event, which is read here as its format has it and checked.
struct Event {
    double time = 0.0;
    std::uint64_t step = 0;
    std::string version{};
    std::map<std::string, float> scalars{};
};

class EventReader {
  public:
    explicit EventReader(std::string bytes) : bytes_(std::move(bytes)) {}

    std::vector<Event> all() {
        std::vector<Event> events;
        while (at_ < bytes_.size()) {
            const std::size_t begin = at_;
            const auto length = word<std::uint64_t>();
            EXPECT_EQ(word<std::uint32_t>(), masked(bytes_.substr(begin, 8)));
            const std::string content = bytes_.substr(at_, length);
            EXPECT_EQ(content.size(), length);
            EventReader inner(content);
            events.push_back(inner.event());
            at_ += length;
            EXPECT_EQ(word<std::uint32_t>(), masked(content));
        }
        return events;
    }

  private:
    template <class Word>
    Word word() {
        Word value{};
        EXPECT_LE(at_ + sizeof(Word), bytes_.size());
        std::memcpy(&value, bytes_.data() + at_, sizeof(Word));
        at_ += sizeof(Word);
        return value;
    }
    static std::uint32_t masked(const std::string& bytes) {
        const std::uint32_t crc = crc32c(bytes);
        return ((crc >> 15U) | (crc << 17U)) + 0xA282EAD8U;
    }
    std::uint64_t varint() {
        std::uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const auto byte = word<std::uint8_t>();
            value |= std::uint64_t{byte & 0x7FU} << shift;
            if (byte < 0x80) return value;
        }
    }
    std::string part() {
        const std::uint64_t length = varint();
        at_ += length;
        return bytes_.substr(at_ - length, length);
    }
    Event event() {
        Event event;
        while (at_ < bytes_.size()) {
            const std::uint64_t key = varint();
            if (key == (1U << 3U | 1U)) event.time = word<double>();
            if (key == (2U << 3U | 0U)) event.step = varint();
            if (key == (3U << 3U | 2U)) event.version = part();
            if (key == (5U << 3U | 2U)) event.scalars = EventReader(part()).summary();
        }
        return event;
    }
    std::map<std::string, float> summary() {
        std::map<std::string, float> scalars;
        while (at_ < bytes_.size()) {
            EXPECT_EQ(varint(), 1U << 3U | 2U);
            EventReader value(part());
            EXPECT_EQ(value.varint(), 1U << 3U | 2U);
            const std::string tag = value.part();
            EXPECT_EQ(value.varint(), 2U << 3U | 5U);
            scalars[tag] = value.word<float>();
        }
        return scalars;
    }

    std::string bytes_;
    std::size_t at_ = 0;
};

class EventLogs : public testing::Test {
  protected:
    [[nodiscard]] fs::path table() const { return directory_.path() / "generations.csv"; }
    [[nodiscard]] fs::path events() const { return directory_.path() / events_name; }
    void write(const fs::path& path, const std::string& text) const {
        std::ofstream(path, std::ios::binary) << text;
    }
    /// What there is without the first event, which says the version.
    [[nodiscard]] std::vector<Event> read() const {
        std::vector<Event> all = EventReader(text_of_file(events())).all();
        EXPECT_EQ(all.at(0).version, "brain.Event:2");
        all.erase(all.begin());
        return all;
    }

    test::TemporaryDirectory directory_;
    const std::string header_ = "generation,evaluations,best,validated\n";
};

TEST_F(EventLogs, SayWhatTheTableDoes) {
    write(table(), header_ + "0,10,-1.5,\n1,20,-inf,0.25\n2,30,0.1");
    EventLog log(table(), false);
    log.append("2,30,0.1,\n");
    log.append("300,40,1e3,\n");
    log.flush();
    const std::vector<Event> events = read();
    ASSERT_EQ(events.size(), 4U);
    EXPECT_EQ(events[0].scalars,
              (std::map<std::string, float>{{"evaluations", 10.0F}, {"best", -1.5F}}));
    EXPECT_EQ(events[1].scalars.at("validated"), 0.25F);
    EXPECT_EQ(events[1].scalars.at("best"), -std::numeric_limits<float>::infinity());
    EXPECT_EQ(events[2].scalars.at("best"), 0.1F);
    EXPECT_EQ(events[3].step, 300U);
    EXPECT_GT(events[0].time, 1.7e9);
}

TEST_F(EventLogs, TellIndividualsApart) {
    write(table(), "epoch,individual,train_loss\n1,0,0.5\n1,1,0.25\n");
    const EventLog log(table(), true);
    const std::vector<Event> events = read();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].scalars, (std::map<std::string, float>{{"train_loss/0", 0.5F}}));
    EXPECT_EQ(events[1].scalars, (std::map<std::string, float>{{"train_loss/1", 0.25F}}));
}

TEST_F(EventLogs, TellOfAnAmendedLineOnlyWhatIsNew) {
    write(table(), header_ + "0,10,-1.5,\n");
    EventLog log(table(), false);
    log.amend("0,10,-1.5,\n");
    log.amend("0,10,-1.5,2\n");
    log.flush();
    const std::vector<Event> events = read();
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[1].step, 0U);
    EXPECT_EQ(events[1].scalars, (std::map<std::string, float>{{"validated", 2.0F}}));
    // Whoever goes on has one event for the line, and none of it twice.
    write(table(), header_ + "0,10,-1.5,2\n");
    const EventLog again(table(), false);
    ASSERT_EQ(read().size(), 1U);
    EXPECT_EQ(read()[0].scalars.size(), 3U);
}

TEST_F(EventLogs, GoOnWhereverTheyWereCutShort) {
    write(table(), header_ + "0,10,1,\n1,20,2,\n2,30,3,\n");
    { const EventLog log(table(), false); }
    const std::string whole = text_of_file(events());
    for (std::size_t length = 0; length <= whole.size(); ++length) {
        write(events(), whole.substr(0, length));
        const EventLog log(table(), false);
        ASSERT_EQ(read().size(), 3U) << length;
        EXPECT_EQ(text_of_file(events()).size(), whole.size());
    }
}

TEST_F(EventLogs, KeepWhatIsRightAndWriteTheRestAnew) {
    write(table(), header_ + "0,10,1,\n1,20,2,\n2,30,3,\n");
    { const EventLog log(table(), false); }
    const std::string whole = text_of_file(events());
    // Kept: to the bit, the times included.
    { const EventLog log(table(), false); }
    EXPECT_EQ(text_of_file(events()), whole);
    // A run that went back, and on from there in another way.
    write(table(), header_ + "0,10,1,\n1,20,7,\n");
    { const EventLog log(table(), false); }
    std::vector<Event> events_now = read();
    ASSERT_EQ(events_now.size(), 2U);
    EXPECT_EQ(events_now[1].scalars.at("best"), 7.0F);
    // Any byte that is another one, but those of a time.
    write(table(), header_ + "0,10,1,\n1,20,2,\n2,30,3,\n");
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x20);
        write(events(), damaged);
        const EventLog log(table(), false);
        events_now = read();
        ASSERT_EQ(events_now.size(), 3U) << at;
        EXPECT_EQ(events_now[2].scalars.at("best"), 3.0F);
    }
}

TEST_F(EventLogs, AreWrittenToNoOtherFile) {
    write(table(), header_);
    write(directory_.path() / "other", "kept");
    fs::create_symlink("other", events());
    EXPECT_THAT([&] { const EventLog log(table(), false); },
                ThrowsMessage<InputError>(HasSubstr("symbolic link")));
    EXPECT_EQ(text_of_file(directory_.path() / "other"), "kept");
}

}  // namespace
}  // namespace cambrian::distributed
