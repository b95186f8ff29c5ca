#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// The files of a run directory against what others do to them.
namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

nlohmann::json status_of(const fs::path& directory) {
    return nlohmann::json::parse(text_of(directory / "status.json"));
}

/// What a run says after its last status and before it could write another.
void leave_running(const fs::path& directory, std::uint64_t generation) {
    RunStatus status;
    status.state = "running";
    status.generation = generation;
    write_status_file(directory / "status.json", status);
}

void replace_in(const fs::path& path, const std::string& from, const std::string& to) {
    std::string text = text_of(path);
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
    std::ofstream(path, std::ios::binary) << text;
}

TEST(Timings, HaveNoRowOfARankThatDidNothing) {
    const TemporaryDirectory place;
    {
        GenerationLog log(place.path(), {}, std::nullopt, {.individuals = LoggedIndividuals::none});
        ShardCost busy;
        busy.fetched = 3;
        GenerationReport report;
        report.generation = 7;
        log.append(report, {}, std::vector<RankSeconds>{{0, busy}, {1, {}}, {2, busy}});
    }
    EXPECT_THAT(text_of(place.path() / "timings.csv"),
                testing::MatchesRegex("generation,[^\n]*\n7,0,[^\n]*,3,0\n7,2,[^\n]*,3,0\n"));
}

TEST(StatusFile, ReadsBackAsItWasWritten) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "status.json";
    EXPECT_FALSE(read_status_file(path).has_value());
    RunStatus status;
    status.state = "done";
    status.exit_code = 6;
    status.generation = 12;
    status.best = 0.1;
    status.validated = -std::numeric_limits<double>::infinity();
    status.solved = false;
    status.reason = "a reason";
    status.journal_bytes = 312.5;
    write_status_file(path, status);
    const RunStatus copy = read_status_file(path).value();
    EXPECT_EQ(copy.state, "done");
    EXPECT_EQ(copy.exit_code, 6);
    EXPECT_EQ(copy.generation, 12U);
    EXPECT_EQ(copy.best, status.best);
    EXPECT_EQ(copy.validated, status.validated);
    EXPECT_FALSE(copy.tested.has_value());
    EXPECT_EQ(copy.solved, false);
    EXPECT_EQ(copy.reason, status.reason);
    EXPECT_EQ(copy.journal_bytes, 312.5);
    EXPECT_FALSE(copy.individuals_bytes.has_value());
    for (const char* bad :
         {"", "{}", "[[[[[[1]]]]]]", "{\"state\": 3}", "\"state\"", "{\"state\""}) {
        std::ofstream(path) << bad;
        EXPECT_THAT([&] { static_cast<void>(read_status_file(path)); },
                    ThrowsMessage<InputError>(HasSubstr("status.json")))
            << bad;
    }
}

TEST(StatusFile, ThatSaysNonsenseIsRefused) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "status.json";
    const nlohmann::json right = {{"state", "failed"},
                                  {"exit_code", 255},
                                  {"generation", 3},
                                  {"best", "-inf"},
                                  {"reason", "a\u001b[2J\u009bb"}};
    std::ofstream(path) << right;
    EXPECT_EQ(read_status_file(path)->exit_code, 255);
    EXPECT_EQ(read_status_file(path)->reason, "a?[2J?b") << "it must not steer a terminal";
    nlohmann::json former = right;
    former["tested"] = "-nan";
    std::ofstream(path) << former;
    EXPECT_TRUE(std::isnan(read_status_file(path)->tested.value())) << "as was written once";
    for (const auto& [key, value] : std::vector<std::pair<std::string, nlohmann::json>>{
             {"state", "flying"},
             {"state", nullptr},
             {"exit_code", 256},
             {"exit_code", -1},
             {"exit_code", 1.5},
             {"generation", -1},
             {"generation", 2.5},
             {"generation", nullptr},
             {"best", "0.5"},
             {"best", "best"},
             {"best", true},
             {"solved", 1},
             {"reason", 7},
             {"champion_tests", -1},
             {"journal_bytes_per_generation", "inf"},
             {"journal_bytes_per_generation", -1},
             {"individuals_bytes_per_generation", 1e300}}) {
        nlohmann::json wrong = right;
        wrong[key] = value;
        std::ofstream(path) << wrong;
        EXPECT_THAT([&] { static_cast<void>(read_status_file(path)); },
                    ThrowsMessage<InputError>(HasSubstr("says no status (\"" + key + "\" is ")))
            << value;
    }
}

TEST(StatusFile, IsBehindTheTableOfARunThatGoesOn) {
    const TemporaryDirectory place;
    RunStatus status;
    status.state = "running";
    status.generation = 2;
    const auto done_with = [&](const std::string& table, const std::string& text) {
        std::ofstream(place.path() / table, std::ios::binary) << text;
        return rounds_done(status, place.path());
    };
    EXPECT_EQ(rounds_done(status, place.path()), 2U);
    for (const char* text : {"", "generation", "generation,best\n", "0,1\n", "\n", "\n\n"})
        EXPECT_EQ(done_with("generations.csv", text), 2U) << text;
    EXPECT_EQ(done_with("generations.csv", "generation,best\n0,1\n1,1\n2,1\n3,1\n4"), 4U);
    EXPECT_EQ(done_with("generations.csv", std::string(1U << 20U, 'x') + "\n8,1\n"), 9U);
    status.state = "done";
    EXPECT_EQ(rounds_done(status, place.path()), 2U);
    status.state = "running";
    fs::remove(place.path() / "generations.csv");
    EXPECT_EQ(done_with("epochs.csv", "epoch,individual\n6,0\n6,1\n"), 6U);
}

TEST(StatusFile, IsWrittenOverWhereThereIsNoRoomForAnother) {
    const TemporaryDirectory place;
    leave_running(place.path(), 7);
    // Nothing can be made beside it.
    fs::create_directory(place.path() / "status.json.new");
    RunStatus failed;
    failed.state = "failed";
    failed.exit_code = 3;
    failed.reason = std::string(400, 'x');
    write_status_file(place.path() / "status.json", failed);
    EXPECT_EQ(status_of(place.path())["state"], "failed");
    failed.reason = "short";
    write_status_file(place.path() / "status.json", failed);
    EXPECT_EQ(status_of(place.path())["reason"], "short");
    failed.reason = std::string(1U << 20U, 'x');
    EXPECT_THROW(write_status_file(place.path() / "status.json", failed), InputError);
    EXPECT_EQ(status_of(place.path())["reason"], "short");
}

/// Runs `body` in a process with a disk of its own of a few KiB at `place`. Its exit code, or 77
/// where the system mounts nothing for us.
int on_small_disk(const fs::path& place, const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) {
        const bool mounted = unshare(CLONE_NEWNS) == 0 &&
                             mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                             mount("small", place.c_str(), "tmpfs", 0, "size=256k") == 0;
        _exit(mounted ? body() : 77);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(StatusFile, AFullDiskIsToldInIt) {
    const TemporaryDirectory place;
    const int code = on_small_disk(place.path(), [&] {
        Experiment experiment = xor_experiment(place.path() / "run");
        experiment.checkpoint.every = 0;
        experiment.stop.generations = 5000;
        try {
            static_cast<void>(launch(experiment, {}));
            return 1;
        } catch (const InputError& error) {
            const auto status = status_of(experiment.directory);
            const std::string text = "No space left on device) free space, then ask";
            return std::string(error.what()).find(text) == std::string::npos ? 2
                   : status["state"] != "failed" || status["exit_code"] != 3 ? 3
                   : status["reason"] != error.what()                        ? 4
                                                                             : 0;
        } catch (const std::exception&) {
            return 5;
        }
    });
    if (code == 77) {
        GTEST_SKIP() << "the system lets nobody mount here";
    }
    EXPECT_EQ(code, 0);
}

TEST(RunDirectory, TellsWhoHoldsItAndHowTheLastRunEnded) {
    const TemporaryDirectory place;
    EXPECT_FALSE(holder_of_run(place.path()).has_value());
    {
        const EvolutionDirectory directory(place.path(), 3);
        EXPECT_THAT(holder_of_run(place.path()).value(),
                    testing::StartsWith("process " + std::to_string(::getpid()) + " on "));
        EXPECT_THAT([&] { EvolutionDirectory(place.path(), 3); },
                    ThrowsMessage<ConfigError>(HasSubstr(std::to_string(::getpid()) + " on ")));
        EXPECT_FALSE(directory.unfinished("generations").has_value());
    }
    EXPECT_FALSE(holder_of_run(place.path()).has_value());
    leave_running(place.path(), 7);
    const EvolutionDirectory directory(place.path(), 3);
    EXPECT_THAT(directory.unfinished("epochs").value(),
                AllOf(HasSubstr("ended without a word"), HasSubstr("after 7 epochs")));
    RunStatus done;
    done.state = "done";
    directory.write_status(done);
    EXPECT_FALSE(directory.unfinished("epochs").has_value());
}

TEST(RunDirectory, FollowsNoLink) {
    const TemporaryDirectory place;
    const fs::path victim = place.path() / "victim";
    int number = 0;
    for (const std::string name :
         {"lock", "status.json.new", "generations.csv", "individuals.cmb", "timings.csv", "logs"}) {
        for (const bool pipe : {false, true}) {
            std::ofstream(victim) << "precious";
            const Experiment experiment = xor_experiment(place.path() / std::to_string(number++));
            fs::create_directories(experiment.directory);
            const fs::path planted = experiment.directory / name;
            if (pipe) {
                ASSERT_EQ(mkfifo(planted.c_str(), 0600), 0);
            } else {
                fs::create_symlink(victim, planted);
            }
            if (pipe && name == "status.json.new") {
                continue;  // Nobody reads it, so that the status is written over in place.
            }
            try {
                static_cast<void>(launch(experiment, {}));
                ADD_FAILURE() << name << " was followed";
            } catch (const InputError& error) {
                EXPECT_THAT(error.what(), HasSubstr(planted.string()));
            } catch (const ConfigError& error) {
                EXPECT_THAT(error.what(), HasSubstr(planted.string()));
            }
            EXPECT_EQ(text_of(victim), "precious") << name;
        }
    }
}

TEST(RunDirectory, ACircleOfLinksOnTheWayIsNotTheFile) {
    const TemporaryDirectory place;
    fs::create_symlink("there", place.path() / "here");
    fs::create_symlink("here", place.path() / "there");
    EXPECT_THAT([&] { static_cast<void>(holder_of_run(place.path() / "here")); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("lock cannot be opened ("),
                                                Not(HasSubstr("it is a symbolic link")))));
}

TEST(RunDirectory, RefusesToLoseWhatARunLeft) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    static_cast<void>(launch(experiment, {}));
    for (const std::string kept :
         {"best.cmb", "generations.csv", "individuals.cmb", "checkpoint.cmb", "checkpoint-4.cmb",
          "last.cmb", "training.cmb"}) {
        Experiment other = experiment;
        other.directory = place.path() / kept;
        fs::create_directories(other.directory);
        const bool own = kept.ends_with(".csv") || kept == individuals_name;
        const fs::path source = experiment.directory / (own ? kept : "best.cmb");
        fs::copy_file(source, other.directory / kept);
        EXPECT_THAT([&] { static_cast<void>(launch(other, {})); },
                    ThrowsMessage<ConfigError>(HasSubstr(kept)));
        EXPECT_EQ(text_of(other.directory / kept), text_of(source));
    }
    // Going on, too, would lose a network that no checkpoint leads to.
    experiment.directory = place.path() / "best.cmb";
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::proceed})); },
                ThrowsMessage<ConfigError>(HasSubstr("no checkpoint")));
}

TEST(RunDirectory, OfARunThatLeftNothingIsFree) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    {
        // As when the disk was full before the first checkpoint.
        const EvolutionDirectory directory(experiment.directory, 3);
        directory.write_config(R"({"run": {"name": "small"}})", "cpu");
        const GenerationLog log(experiment.directory, {}, std::nullopt);
    }
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<InputError>(HasSubstr("--continue")));
    EXPECT_NO_THROW(static_cast<void>(launch(experiment, {})));
}

TEST(Resume, EditedLogsAreRefused) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.checkpoint.every = 2;
    static_cast<void>(launch(experiment, {}));
    experiment.stop.generations += 2;
    const fs::path original = place.path() / "original";
    fs::copy(experiment.directory, original, fs::copy_options::recursive);
    for (const char* name : {"generations.csv", "individuals.cmb"}) {
        fs::remove_all(experiment.directory);
        fs::copy(original, experiment.directory, fs::copy_options::recursive);
        replace_in(experiment.directory / name,
                   std::string_view(name) == individuals_name ? "CAMBRIAN" : "\n", "\r\n");
        const std::string edited = text_of(experiment.directory / name);
        EXPECT_THAT(
            [&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
            ThrowsMessage<InputError>(AllOf(HasSubstr(name), HasSubstr("put the original back"))));
        EXPECT_EQ(text_of(experiment.directory / name), edited);
        // The remedy helps.
        fs::copy_file(original / name, experiment.directory / name,
                      fs::copy_options::overwrite_existing);
        EXPECT_NO_THROW(static_cast<void>(launch(experiment, {.start = Start::resume})));
    }
    // A digit changed, the length and the lines kept.
    fs::remove_all(experiment.directory);
    fs::copy(original, experiment.directory, fs::copy_options::recursive);
    replace_in(experiment.directory / "generations.csv", "\n1,", "\n7,");
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<InputError>(HasSubstr("generations.csv")));
    // No older checkpoint helps where a log cannot be read.
    fs::remove(experiment.directory / "generations.csv");
    fs::create_symlink(original / "generations.csv", experiment.directory / "generations.csv");
    EXPECT_THAT([&] { static_cast<void>(launch(experiment, {.start = Start::resume})); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("generations.csv cannot be opened"),
                                                HasSubstr("it is a symbolic link"))));
}

TEST(Resume, SaysHowTheRunBeforeEnded) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 3;
    static_cast<void>(launch(experiment, {}));
    leave_running(experiment.directory, 3);
    experiment.stop.generations = 4;
    const Launched resumed = launch(experiment, {.start = Start::resume});
    EXPECT_THAT(resumed.reporter.warnings,
                testing::ElementsAre(
                    AllOf(HasSubstr("ended without a word"), HasSubstr("after 3 generations"))));
}

TEST(Status, BestIsTheFitnessOfTheChampion) {
    const TemporaryDirectory place;
    Experiment experiment = cart_pole_experiment(place.path() / "run");
    experiment.validation.every = 1;
    const RunResult result = launch(experiment, {}).result;
    ASSERT_TRUE(result.best_validated.has_value());
    const auto status = status_of(experiment.directory);
    EXPECT_EQ(status["best"], result.best_fitness.value());
    EXPECT_EQ(status["validated"], *result.best_validated);
    EXPECT_TRUE(status["solved"].is_null());
}

TEST(Status, SaysWhatAGenerationWrites) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.checkpoint.every = 0;
    experiment.stop.generations = 0;
    static_cast<void>(launch(experiment, {}));
    EXPECT_TRUE(status_of(experiment.directory)["journal_bytes_per_generation"].is_null());
    const auto head = fs::file_size(experiment.directory / individuals_name);
    for (const std::uint64_t generations : {4U, 6U}) {
        // The second time on average over its own two generations.
        const auto before = fs::file_size(experiment.directory / individuals_name);
        const auto done = static_cast<double>(experiment.stop.generations);
        const Start start = Start::resume;
        experiment.stop.generations = generations;
        static_cast<void>(launch(experiment, {.start = start}));
        const auto status = status_of(experiment.directory);
        EXPECT_GT(status["journal_bytes_per_generation"], 100.0);
        EXPECT_EQ(
            status["individuals_bytes_per_generation"],
            static_cast<double>(fs::file_size(experiment.directory / individuals_name) - before) /
                (static_cast<double>(generations) - done));
    }
    EXPECT_GT(fs::file_size(experiment.directory / individuals_name), head);
}

TEST(Status, SaysWhetherTheFitnessIsReached) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "unsolved");
    experiment.stop.fitness = 1000.0;
    EXPECT_EQ(launch(experiment, {}).result.solved, false);
    EXPECT_EQ(status_of(experiment.directory)["solved"], false);
    EXPECT_EQ(status_of(experiment.directory)["exit_code"], 0);
    experiment.directory = place.path() / "required";
    experiment.stop.require_solved = true;
    static_cast<void>(launch(experiment, {}));
    EXPECT_EQ(status_of(experiment.directory)["exit_code"], 6);
    experiment.directory = place.path() / "solved";
    experiment.stop.fitness = -1000.0;
    EXPECT_EQ(launch(experiment, {}).result.solved, true);
    EXPECT_EQ(status_of(experiment.directory)["solved"], true);
    EXPECT_EQ(status_of(experiment.directory)["exit_code"], 0);
}

TEST(AppendFile, ItsChecksumIsThatOfItsBytes) {
    const TemporaryDirectory place;
    const fs::path path = place.path() / "log.csv";
    const auto expected = [&] {
        const std::string text = text_of(path);
        return hash128(std::as_bytes(std::span(text)));
    };
    {
        AppendFile file(path, 0);
        file.pending() = "one\ntwo\n";
        file.flush();
        file.pending() = "three\n";
        file.flush();
        EXPECT_EQ(file.checksum(), expected());
        file.cut(4);
        EXPECT_EQ(text_of(path), "one\n");
        EXPECT_EQ(file.checksum(), expected());
    }
    const AppendFile again(path, 4);
    EXPECT_EQ(again.checksum(), expected());
    EXPECT_TRUE(unchanged(path, 4, expected()));
    EXPECT_FALSE(unchanged(path, 4, Hash128{}));
    EXPECT_FALSE(unchanged(path, 3, hash128(std::as_bytes(std::span("one", 3))))) << "in a line";
    EXPECT_FALSE(unchanged(path, 5, expected())) << "longer than it is";
}

}  // namespace
}  // namespace cambrian::distributed
