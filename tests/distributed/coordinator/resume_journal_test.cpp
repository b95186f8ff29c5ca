#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// What a resume takes from the journal after the last checkpoint.
namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// What a kill leaves of a running experiment: a copy, made anew where the writer changed a file
/// meanwhile.
void copy_running(const fs::path& from, const fs::path& to) {
    for (int tries = 1;; ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // The writer's.
        std::error_code error;
        fs::remove_all(to);
        fs::copy(from, to, fs::copy_options::recursive, error);
        if (!error) return;
        ASSERT_LT(tries, 50) << error.message();
    }
}

/// Runs an experiment; what a kill in generation 5 leaves of it goes into another directory.
void run_and_kill(const Experiment& experiment, const fs::path& killed) {
    Launch settings{};
    settings.on_generation = [&](RecordedNetwork&, const GenerationReport& report) {
        if (report.generation == 5) {
            copy_running(experiment.directory, killed);
        }
    };
    static_cast<void>(launch(experiment, settings));
}

TEST(Resume, WhatWasCommittedIsNotEvaluatedAgain) {
    const TemporaryDirectory place;
    for (Experiment experiment : {xor_experiment({}), cart_pole_experiment({})}) {
        const fs::path own = place.path() / experiment.name;
        experiment.stop.generations = 7;
        const std::string expected = uninterrupted(experiment, own / "whole");
        for (const std::uint64_t every : {0U, 3U}) {
            experiment.checkpoint.every = every;
            experiment.directory = own / fmt::format("every-{}", every);
            // A copy of the directory is what a kill leaves there.
            const auto copy = [&](std::uint64_t generation) {
                return own / fmt::format("killed-{}-{}", every, generation);
            };
            Launch settings{.ranks = 2};
            settings.on_generation = [&](RecordedNetwork&, const GenerationReport& report) {
                copy_running(experiment.directory, copy(report.generation));
            };
            static_cast<void>(launch(experiment, settings));
            for (std::uint64_t generation = 0; generation < 7; ++generation) {
                experiment.directory = copy(generation);
                const Launched launched = launch(experiment, {.ranks = 3, .start = Start::resume});
                EXPECT_THAT(launched.reporter.warnings,
                            testing::ElementsAre(HasSubstr("ended without a word")));
                EXPECT_LE(launched.reporter.first_generation, generation + 1);
                EXPECT_GE(launched.reporter.first_generation + 1, generation + 1);
                EXPECT_EQ(expected, results_of(experiment.directory)) << generation;
            }
        }
    }
}

TEST(Resume, JournalOfAnotherRunIsNotFollowed) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    Experiment other = xor_experiment(place.path() / "other");
    other.seed = 8;
    other.checkpoint.every = 0;
    run_and_kill(other, place.path() / "copy");
    experiment.directory = place.path() / "run";
    const std::uint64_t end = experiment.stop.generations;
    experiment.stop.generations = 0;
    static_cast<void>(launch(experiment, {}));
    ASSERT_GT(fs::file_size(place.path() / "copy" / "journal-0.cmb"), 0U);
    fs::copy_file(place.path() / "copy" / "journal-0.cmb", experiment.directory / "journal-0.cmb",
                  fs::copy_options::overwrite_existing);
    experiment.stop.generations = end;
    static_cast<void>(launch(experiment, {.start = Start::resume}));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, EntriesOfTheJournalCountAsFarAsTheirLinesAreThere) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "whole");
    experiment.checkpoint.every = 0;
    run_and_kill(experiment, place.path() / "killed");
    const std::string expected = results_of(experiment.directory);
    const std::vector<JournalEntry> entries = Journal::read(place.path() / "killed", 0);
    ASSERT_GT(entries.size(), 4U);
    for (std::size_t sound = 0; sound <= entries.size(); ++sound) {
        experiment.directory = place.path() / std::to_string(sound);
        fs::copy(place.path() / "killed", experiment.directory, fs::copy_options::recursive);
        if (sound < entries.size()) {
            const std::uint64_t end = entries[sound].logs[GenerationLog::individuals_at];
            fs::resize_file(experiment.directory / individuals_name, end - 1);
        }
        const Launched resumed = launch(experiment, {.start = Start::resume});
        EXPECT_EQ(resumed.reporter.first_generation, sound);
        EXPECT_EQ(expected, results_of(experiment.directory));
    }
}

TEST(Resume, LogsAreCutToThatPartOfTheJournalThatIsFollowed) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.checkpoint.every = 0;
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    experiment.directory = place.path() / "run";
    const fs::path killed = place.path() / "killed";
    run_and_kill(experiment, killed);
    std::vector<JournalEntry> entries = Journal::read(killed, 0);
    ASSERT_GT(entries.size(), 3U);
    entries[2].digest.low ^= 1U;  // As if it were another run's, with all that follows.
    Journal journal(killed, 0);
    for (const JournalEntry& entry : entries) {
        journal.append(entry);
    }
    experiment.directory = killed;
    const Launched resumed = launch(experiment, {.start = Start::resume});
    EXPECT_EQ(resumed.reporter.first_generation, 2U);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

}  // namespace
}  // namespace cambrian::distributed
