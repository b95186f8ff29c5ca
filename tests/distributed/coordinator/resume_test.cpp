#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// The generations of individuals.cmb.
std::vector<std::uint64_t> generations_in(const fs::path& directory) {
    std::vector<std::uint64_t> found;
    for (const IndividualBlock& block : individuals_of(directory)) {
        found.push_back(block.generation);
    }
    return found;
}

TEST(Resume, InterruptsChangeNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.stop.generations = 12;
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    int interrupts = 0;
    for (std::uint32_t seed = 1; interrupts < 20; ++seed) {
        experiment.directory = place.path() / std::to_string(seed);
        interrupts += run_in_pieces(experiment, seed).interrupts;
        EXPECT_EQ(expected, results_of(experiment.directory)) << "seed " << seed;
    }
}

TEST(Resume, InterruptsChangeNoByteOfAStochasticTask) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment({});
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 3).interrupts, 1);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, InterruptsChangeNoByteOfNeat) {
    const TemporaryDirectory place;
    Experiment experiment = neat_experiment(place.path() / "pieces");
    experiment.stop.generations = 8;
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    EXPECT_GT(run_in_pieces(experiment, 5).interrupts, 0);
    EXPECT_EQ(results_of(experiment.directory), expected);
}

TEST(Resume, InterruptsChangeNoByteOfAChangingTask) {
    const TemporaryDirectory place;
    for (Experiment experiment : {changing_cart_pole({}), changing_experiment({})}) {
        const std::string expected = uninterrupted(experiment, place.path() / experiment.name);
        int interrupts = 0;
        for (std::uint32_t seed = 1; interrupts < 8; ++seed) {
            experiment.directory = place.path() / (experiment.name + std::to_string(seed));
            interrupts += run_in_pieces(experiment, seed).interrupts;
            EXPECT_EQ(expected, results_of(experiment.directory)) << "seed " << seed;
        }
    }
}

TEST(Resume, InterruptsChangeNoByteOfTheSteadyState) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    experiment.steady_state = {.window = 15, .block = 3};
    experiment.stop.generations = 40;
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    experiment.directory = place.path() / "pieces";
    EXPECT_GE(run_in_pieces(experiment, 2).interrupts, 5);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, LogsAreCutToTheCheckpoint) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    experiment.directory = place.path() / "killed";
    const std::uint64_t end = experiment.stop.generations;
    experiment.stop.generations = 4;
    static_cast<void>(launch(experiment, {}));
    // What a run writes after its last checkpoint and before it is killed.
    std::ofstream(experiment.directory / "generations.csv", std::ios::app) << "4,5,half a li";
    std::ofstream(experiment.directory / individuals_name, std::ios::app) << "CAMBRIAN\1half a b";
    experiment.stop.generations = end;
    static_cast<void>(launch(experiment, {.ranks = 2, .start = Start::resume}));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, LongerRunIsTheUnbrokenOne) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment({});
    experiment.validation.every = 4;
    experiment.stop.generations = 9;
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    experiment.directory = place.path() / "longer";
    // Its end after the third generation validates where the longer run does not.
    experiment.stop.generations = 3;
    const Launched first = launch(experiment, {});
    EXPECT_TRUE(first.result.last.validated.has_value());
    const std::string ended = results_of(experiment.directory);
    static_cast<void>(launch(experiment, {.ranks = 2, .start = Start::resume}));
    EXPECT_EQ(ended, results_of(experiment.directory));
    experiment.stop.generations = 9;
    static_cast<void>(launch(experiment, {.ranks = 3, .start = Start::resume}));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, IndividualsAreLoggedWhereTheyAreAskedFor) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    const std::uint64_t end = experiment.stop.generations;
    static_cast<void>(uninterrupted(experiment, place.path() / "whole"));
    const auto whole = [&](const char* file) { return text_of(place.path() / "whole" / file); };
    experiment.directory = place.path() / "parts";
    const auto part = [&](const char* file) { return text_of(experiment.directory / file); };
    const auto go_on = [&](std::uint64_t generations, LoggedIndividuals individuals) {
        experiment.stop.generations = generations;
        experiment.log.individuals = individuals;
        const bool begun = fs::exists(experiment.directory);
        static_cast<void>(launch(experiment, {.start = begun ? Start::resume : Start::fresh}));
    };
    go_on(2, LoggedIndividuals::none);
    EXPECT_FALSE(fs::exists(experiment.directory / individuals_name));
    go_on(3, LoggedIndividuals::all);
    const std::string third = part(individuals_name);
    EXPECT_THAT(generations_in(experiment.directory), testing::ElementsAre(2));
    go_on(4, LoggedIndividuals::none);
    EXPECT_EQ(part(individuals_name), third);
    go_on(end, LoggedIndividuals::all);
    EXPECT_THAT(part(individuals_name), testing::StartsWith(third));
    EXPECT_THAT(generations_in(experiment.directory), testing::ElementsAre(2, 4, 5, 6, 7));
    for (const char* file : {"generations.csv", "best.cmb"}) {
        EXPECT_EQ(part(file), whole(file)) << file;
    }
}

TEST(Resume, LostTimingsAreNoLossOfResults) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    const std::uint64_t end = experiment.stop.generations;
    const std::string header =
        "generation,rank,evaluate,vary,wait,communicate,compiled,splits,fallbacks,fetched,remade\n";
    for (const std::uintmax_t kept : {0U, 20U, 60U}) {
        experiment.directory = place.path() / std::to_string(kept);
        experiment.stop.generations = 4;
        static_cast<void>(launch(experiment, {}));
        fs::resize_file(experiment.directory / "timings.csv", kept);
        experiment.stop.generations = end;
        static_cast<void>(launch(experiment, {.start = Start::resume}));
        EXPECT_EQ(expected, results_of(experiment.directory));
        EXPECT_THAT(text_of(experiment.directory / "timings.csv"),
                    testing::StartsWith(header + "4,0,"));
    }
}

TEST(Resume, TimingsWithOtherColumnsBeginAnew) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 4;
    static_cast<void>(launch(experiment, {}));
    std::string text = text_of(experiment.directory / "timings.csv");
    text.replace(0, text.find('\n'), "generation,rank,evaluate,vary,wait,communicate,compiled");
    std::ofstream(experiment.directory / "timings.csv") << text;
    experiment.stop.generations = 6;
    static_cast<void>(launch(experiment, {.start = Start::resume}));
    EXPECT_THAT(text_of(experiment.directory / "timings.csv"),
                testing::MatchesRegex("generation,.*,remade\n4,0,.*\n5,0,.*\n"));
}

TEST(Resume, LostResultsAreNamed) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    fs::remove(experiment.directory / individuals_name);
    experiment.stop.generations += 1;
    EXPECT_THROW(static_cast<void>(launch(experiment, {.start = Start::resume})), InputError);
    EvolutionDirectory directory(experiment.directory, 3);
    std::string warning;
    EXPECT_THROW(
        static_cast<void>(directory.load_newest([](Checkpoint&&, std::span<const JournalEntry>) {},
                                                [&](const std::string& text) { warning = text; })),
        InputError);
    EXPECT_THAT(warning, HasSubstr("individuals.cmb is shorter"));
}

TEST(Resume, DamagedNewestCheckpointFallsBackToTheOneBefore) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment({});
    const std::string expected = uninterrupted(experiment, place.path() / "whole");
    const std::uint64_t end = experiment.stop.generations;
    for (const bool truncated : {false, true}) {
        experiment.directory = place.path() / (truncated ? "truncated" : "damaged");
        experiment.stop.generations = 4;
        experiment.checkpoint.seconds = 0.0;  // After every generation.
        static_cast<void>(launch(experiment, {}));
        const fs::path newest = experiment.directory / "checkpoint.cmb";
        ASSERT_TRUE(fs::exists(newest));
        if (truncated) {
            fs::resize_file(newest, fs::file_size(newest) / 2);
        } else {
            std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
            file.seekp(static_cast<std::streamoff>(fs::file_size(newest) / 2));
            file << "damage";
        }
        experiment.stop.generations = end;
        const Launched launched = launch(experiment, {.start = Start::resume});
        EXPECT_THAT(launched.reporter.warnings,
                    testing::ElementsAre(HasSubstr("trying an older checkpoint")));
        // The journal has what the damaged one had.
        EXPECT_EQ(launched.reporter.first_generation, 4U);
        EXPECT_EQ(expected, results_of(experiment.directory));
    }
}

TEST(Resume, WritesTheChampionThatACrashAfterTheCheckpointLost) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    fs::remove(experiment.directory / "best.cmb");
    static_cast<void>(launch(experiment, {.start = Start::resume}));
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Resume, NoSoundCheckpointIsAnInputErrorEachTime) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    fs::create_directories(experiment.directory);
    std::ofstream(experiment.directory / "checkpoint.cmb") << "noise";
    std::ofstream(experiment.directory / "checkpoint-3.cmb") << "";
    for (const Start start : {Start::resume, Start::proceed}) {
        EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = start})); },
                    ThrowsMessage<InputError>(HasSubstr("2 tried")));
    }
}

TEST(Resume, KeepsAsManyCheckpointsAsAsked) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.checkpoint.seconds = 0.0;
    experiment.checkpoint.keep = 2;
    static_cast<void>(launch(experiment, {}));
    int checkpoints = 0;
    std::set<std::string> journals;
    for (const auto& entry : fs::directory_iterator(experiment.directory)) {
        const std::string name = entry.path().filename().string();
        checkpoints += name.starts_with("checkpoint") ? 1 : 0;
        if (name.starts_with("journal")) {
            journals.insert(name);
        }
    }
    EXPECT_EQ(checkpoints, 2);
    // Only what follows them.
    EXPECT_THAT(journals, testing::ElementsAre("journal-7.cmb", "journal-8.cmb"));
    EXPECT_TRUE(fs::exists(experiment.directory / "checkpoint-7.cmb"));
}

TEST(Resume, AnotherIdentityIsRefusedByKeyAndValues) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    experiment.identity_json =
        R"({"population":{"size":40},"run":{"seed":7},"task":{"type":"xor"}})";
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<ConfigError>(testing::AllOf(HasSubstr("population.size"),
                                                          HasSubstr("30"), HasSubstr("40"))));
    EXPECT_THAT(text_of(experiment.directory / "status.json"), HasSubstr("\"done\""));
}

TEST(Resume, OtherArithmeticIsRefusedUnlessMixed) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    const fs::path path = experiment.directory / "checkpoint.cmb";
    Checkpoint checkpoint = decode_checkpoint(read_file(path), "checkpoint");
    checkpoint.arithmetic = "another processor";
    write_file_atomically(path, encode(checkpoint));
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<ConfigError>(HasSubstr("another processor")));
    experiment.distribution.mixed = true;
    EXPECT_NO_THROW(static_cast<void>(launch(experiment, {.start = Start::resume})));
}

TEST(Resume, NeedsACheckpoint) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<InputError>(HasSubstr("holds no checkpoint")));
}

TEST(Resume, FinishedRunHasNothingLeftToDo) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const Launched first = launch(experiment, {});
    const std::string expected = results_of(experiment.directory);
    const Launched second = launch(experiment, {.ranks = 2, .start = Start::proceed});
    EXPECT_TRUE(second.reporter.reports.empty());
    EXPECT_EQ(second.result.best_fitness, first.result.best_fitness);
    EXPECT_EQ(second.result.last.generation, first.result.last.generation);
    EXPECT_EQ(expected, results_of(experiment.directory));
}

TEST(Fresh, DirectoryWithARunIsRefused) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.ranks = 2})); },
                ThrowsMessage<ConfigError>(HasSubstr("--continue")));
}

TEST(Fresh, InterruptBeforeTheFirstGenerationLeavesACheckpoint) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    std::atomic<int> interrupt{1};
    const Launched launched = launch(experiment, {.ranks = 2, .interrupt = &interrupt});
    EXPECT_EQ(launched.result.reason, StopReason::interrupted);
    EXPECT_THAT(text_of(experiment.directory / "status.json"), HasSubstr("\"exit_code\": 5"));
    static_cast<void>(launch(experiment, {.start = Start::resume}));
    const std::string resumed = results_of(experiment.directory);
    EXPECT_EQ(resumed, uninterrupted(experiment, place.path() / "whole"));
}

TEST(NetworkFile, BestReadsBackAsItWasWritten) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const Launched launched = launch(experiment, {});
    const fs::path best = experiment.directory / "best.cmb";
    const NetworkFile file = read_network(best);
    EXPECT_EQ(file.fitness, launched.result.best_fitness);
    EXPECT_EQ(file.identity_json, experiment.identity_json);
    write_network(place.path() / "copy.cmb", file);
    EXPECT_EQ(text_of(best), text_of(place.path() / "copy.cmb"));
    EXPECT_THAT([&] { static_cast<void>(read_network(experiment.directory / "checkpoint.cmb")); },
                ThrowsMessage<InputError>(HasSubstr("holds no network")));
}

TEST(NetworkFile, DamageIsAnInputError) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    const std::string whole = text_of(experiment.directory / "best.cmb");
    const fs::path path = place.path() / "bad.cmb";
    for (std::size_t at = 0; at < whole.size(); at += 7) {
        std::string bad = whole;
        bad[at] = static_cast<char>(bad[at] ^ 0x20);
        std::ofstream(path, std::ios::binary) << bad;
        EXPECT_THROW(static_cast<void>(read_network(path)), InputError) << "byte " << at;
        std::ofstream(path, std::ios::binary) << whole.substr(0, at);
        EXPECT_THROW(static_cast<void>(read_network(path)), InputError) << "length " << at;
    }
    EXPECT_THROW(static_cast<void>(read_network(place.path() / "absent.cmb")), InputError);
}

}  // namespace
}  // namespace cambrian::distributed
