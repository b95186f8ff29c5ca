#include "cambrian/distributed/coordinator/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;

JournalEntry entry(std::uint64_t generation) {
    JournalEntry result;
    result.generation = generation;
    result.digest = {generation, 1};
    result.decision = {std::byte{1}, std::byte{2},
                       std::byte{static_cast<unsigned char>(generation)}};
    result.report.generation = generation;
    result.report.best = 0.5;
    result.report.validated = 0.25;
    result.champion = Champion{nullptr, generation, 7, 3, 0.5, 0.25};
    result.elapsed_seconds = 1.5;
    result.logs = {1, 2, 3, 4};
    result.checksums = {Hash128{1, 2}, Hash128{3, 4}, Hash128{5, 6}};
    return result;
}

void append(Journal& journal, std::uint64_t first, std::uint64_t end) {
    for (std::uint64_t generation = first; generation < end; ++generation) {
        journal.append(entry(generation));
    }
}

/// Writes three entries; where each ends.
std::vector<std::uintmax_t> three_entries(const fs::path& directory) {
    Journal journal(directory, 0);
    std::vector<std::uintmax_t> ends{0};
    for (std::uint64_t generation = 0; generation < 3; ++generation) {
        ends.push_back(ends.back() + journal.append(entry(generation)));
    }
    EXPECT_EQ(ends.back(), fs::file_size(directory / "journal-0.cmb"));
    return ends;
}

/// Whole entries of those before a byte.
std::size_t entries_before(const std::vector<std::uintmax_t>& ends, std::uintmax_t byte) {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends, byte) - ends.begin()) - 1;
}

std::vector<std::uint64_t> generations(const fs::path& directory, std::uint64_t from) {
    std::vector<std::uint64_t> found;
    for (const JournalEntry& read : Journal::read(directory, from)) {
        found.push_back(read.generation);
    }
    return found;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Journal, ReadsBackWhatWasWritten) {
    const TemporaryDirectory place;
    Journal journal(place.path(), 4);
    append(journal, 4, 6);
    const std::vector<JournalEntry> entries = Journal::read(place.path(), 4);
    ASSERT_EQ(entries.size(), 2U);
    const JournalEntry expected = entry(5);
    EXPECT_EQ(entries[1].digest, expected.digest);
    EXPECT_EQ(entries[1].decision, expected.decision);
    EXPECT_EQ(entries[1].report.validated, 0.25);
    EXPECT_EQ(entries[1].champion->origin, 3U);
    EXPECT_EQ(entries[1].elapsed_seconds, 1.5);
    EXPECT_EQ(entries[1].logs, expected.logs);
    EXPECT_EQ(entries[1].checksums, expected.checksums);
    EXPECT_THAT(Journal::read(place.path(), 3), IsEmpty());
}

TEST(Journal, EntryThatACrashCutShortIsNotThere) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "journal-0.cmb";
    const std::vector<std::uintmax_t> ends = three_entries(place.path());
    for (std::uintmax_t size = ends.back(); size-- > 0;) {
        fs::resize_file(path, size);
        EXPECT_EQ(Journal::read(place.path(), 0).size(), entries_before(ends, size)) << size;
    }
}

TEST(Journal, DamageEndsIt) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "journal-0.cmb";
    const std::vector<std::uintmax_t> ends = three_entries(place.path());
    const std::string whole = text_of(path);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::string bad = whole;
        bad[at] = static_cast<char>(bad[at] ^ 0x20);
        std::ofstream(path, std::ios::binary) << bad;
        EXPECT_EQ(Journal::read(place.path(), 0).size(), entries_before(ends, at)) << at;
    }
}

TEST(Journal, GoesOnInLaterFiles) {
    const TemporaryDirectory place;
    {
        Journal first(place.path(), 0);
        append(first, 0, 3);
        Journal second(place.path(), 3);
        append(second, 3, 5);
    }
    EXPECT_THAT(generations(place.path(), 0), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(generations(place.path(), 3), ElementsAre(3, 4));
    {
        Journal journal = Journal::go_on(place.path(), 0, 5);
        append(journal, 5, 6);
    }
    EXPECT_THAT(generations(place.path(), 0), ElementsAre(0, 1, 2, 3, 4, 5));
    {
        Journal journal = Journal::go_on(place.path(), 0, 4);
        append(journal, 4, 5);
    }
    EXPECT_THAT(generations(place.path(), 0), ElementsAre(0, 1, 2, 3, 4));
    {
        // What is beyond never came to be: the second file goes.
        Journal journal = Journal::go_on(place.path(), 0, 2);
        append(journal, 2, 3);
    }
    EXPECT_THAT(generations(place.path(), 0), ElementsAre(0, 1, 2));
    Journal::remove_before(place.path(), 1);
    EXPECT_THAT(generations(place.path(), 0), IsEmpty());
}

TEST(Journal, LargeDecisionsArePacked) {
    const TemporaryDirectory place;
    Journal journal(place.path(), 0);
    JournalEntry large = entry(0);
    large.decision.assign(100'000, std::byte{7});
    EXPECT_LT(journal.append(large), 1000U);
    EXPECT_EQ(Journal::read(place.path(), 0).at(0).decision, large.decision);
}

TEST(Journal, BeginsAnewWhereTheStatesSinceACheckpointTakeTooMuchMemory) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "one");
    experiment.checkpoint.every = 0;
    experiment.checkpoint.keep = 20;
    static_cast<void>(launch(experiment, {}));
    EXPECT_FALSE(fs::exists(experiment.directory / "journal-3.cmb"));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "several";
    experiment.checkpoint.max_held_bytes = 3000;  // Two states, not three.
    static_cast<void>(launch(experiment, {}));
    EXPECT_TRUE(fs::exists(experiment.directory / "journal-3.cmb"));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

}  // namespace
}  // namespace cambrian::distributed
