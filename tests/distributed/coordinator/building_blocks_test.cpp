#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <span>
#include <thread>
#include <utility>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/distributed/coordinator/generation_log.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(RecordedNetwork, DeliversInOrderAndRecords) {
    RecordedNetwork network(2);
    Communicator sender = network.communicator(1);
    Communicator receiver = network.communicator(0);
    sender.send(0, MessageKind::handshake, std::vector<std::byte>{std::byte{1}});
    sender.send(0, MessageKind::request, std::vector{std::byte{2}, std::byte{3}});
    EXPECT_EQ(receiver.receive(milliseconds(0))->kind, MessageKind::handshake);
    const auto second = receiver.receive(milliseconds(0));
    EXPECT_EQ(second->source, 1);
    EXPECT_EQ(second->payload.size(), 2U);
    EXPECT_FALSE(receiver.receive(milliseconds(1)).has_value());
    EXPECT_EQ(network.records().size(), 2U);
    EXPECT_EQ(network.records()[1].bytes, 2U);
}

TEST(RecordedNetwork, WakesAWaitingRank) {
    RecordedNetwork network(2);
    std::thread sender([&] {
        std::this_thread::sleep_for(milliseconds(5));
        network.communicator(1).send(0, MessageKind::heartbeat, {});
    });
    Communicator receiver = network.communicator(0);
    EXPECT_TRUE(receiver.receive(std::chrono::seconds(10)).has_value());
    sender.join();
}

TEST(RecordedNetwork, SilencedRankNeitherSendsNorHears) {
    RecordedNetwork network(3);
    network.communicator(0).send(1, MessageKind::shard, {});
    network.silence(1);
    network.communicator(1).send(0, MessageKind::handshake, {});
    network.communicator(2).send(1, MessageKind::handshake, {});
    EXPECT_FALSE(network.communicator(0).receive(milliseconds(0)).has_value());
    EXPECT_FALSE(network.communicator(1).receive(milliseconds(0)).has_value());
}

TEST(LocalCommunicator, IsAlone) {
    Communicator communicator = make_local_communicator();
    EXPECT_EQ(communicator.size(), 1);
    EXPECT_FALSE(communicator.receive(milliseconds(0)).has_value());
}

TEST(LaunchedRanks, TakesTheLargestPromise) {
    for (const char* name : {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"}) {
        ::unsetenv(name);
    }
    EXPECT_EQ(launched_ranks(), 1);
    ::setenv("PMI_SIZE", "3", 1);
    ::setenv("SLURM_STEP_NUM_TASKS", "many", 1);
    EXPECT_EQ(launched_ranks(), 3);
    ::unsetenv("PMI_SIZE");
    ::unsetenv("SLURM_STEP_NUM_TASKS");
}

TEST(RunDirectory, SecondOwnerIsToldWhoHasIt) {
    const TemporaryDirectory place;
    const EvolutionDirectory first(place.path() / "run", 1);
    EXPECT_THAT([&] { const EvolutionDirectory second(place.path() / "run", 1); },
                ThrowsMessage<ConfigError>(HasSubstr("process " + std::to_string(::getpid()))));
}

TEST(RunDirectory, IsFreeAgainAfterItsOwner) {
    const TemporaryDirectory place;
    { const EvolutionDirectory first(place.path(), 1); }
    EXPECT_NO_THROW(const EvolutionDirectory second(place.path(), 1));
}

TEST(RunDirectory, ThatCannotBeMadeIsAnOutputError) {
    EXPECT_THROW(const EvolutionDirectory directory("/proc/no/such/place", 1), OutputError);
}

TEST(RunDirectory, RemovesWhatAKilledOwnerWasWriting) {
    const TemporaryDirectory place;
    const std::filesystem::path half = place.path() / "checkpoint.cmb.partial.123";
    const std::filesystem::path notes = place.path() / "notes.txt.partial.1";
    std::ofstream(half) << "half";
    std::ofstream(notes) << "not of a run";
    const EvolutionDirectory directory(place.path(), 3);
    EXPECT_FALSE(std::filesystem::exists(half));
    EXPECT_TRUE(std::filesystem::exists(notes));
}

/// While it lives no file of this process grows beyond a size, as on a full disk.
class FullDisk {
  public:
    explicit FullDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

  private:
    rlimit before_{};
    void (*handler_)(int);
};

TEST(RunDirectory, WritesNoConfigThatNobodyReads) {
    const TemporaryDirectory place;
    const EvolutionDirectory directory(place.path(), 3);
    const std::string deep = R"({"deep": )" + std::string(200, '[') + std::string(200, ']') + "}";
    EXPECT_THAT([&] { directory.write_config(deep, "cpu"); },
                ThrowsMessage<ConfigError>(HasSubstr("config.json cannot be written")));
    EXPECT_FALSE(std::filesystem::exists(place.path() / "config.json"));
}

TEST(RunDirectory, FullDiskReplacesNoWholeFile) {
    const TemporaryDirectory place;
    const EvolutionDirectory directory(place.path(), 3);
    directory.write_config(R"({"run": {"name": "whole"}})", "cpu");
    directory.write_status({});
    const std::string config = text_of(place.path() / "config.json");
    const std::string status = text_of(place.path() / "status.json");
    {
        const FullDisk disk(10);
        EXPECT_THROW(directory.write_config(R"({"run": {"name": "half"}})", "cpu"), InputError);
        EXPECT_THROW(directory.write_status(RunStatus()), InputError);
    }
    EXPECT_EQ(config, text_of(place.path() / "config.json"));
    EXPECT_EQ(status, text_of(place.path() / "status.json"));
    const auto files = std::distance(std::filesystem::directory_iterator(place.path()), {});
    EXPECT_EQ(files, 3) << "config.json, status.json and lock";
}

TEST(Checkpoint, ReadsBackAsItWasWritten) {
    Checkpoint checkpoint;
    checkpoint.identity_json = "{}";
    checkpoint.arithmetic = "cpu";
    checkpoint.generation = 9;
    checkpoint.strategy = {std::byte{1}, std::byte{2}};
    checkpoint.last.emplace().validated = 0.5;
    checkpoint.elapsed_seconds = 1.5;
    checkpoint.logs = {10, 20, 30, 40};
    const Checkpoint copy = decode_checkpoint(encode(checkpoint), "file");
    EXPECT_EQ(copy.generation, 9U);
    EXPECT_EQ(copy.strategy, checkpoint.strategy);
    EXPECT_EQ(copy.last->validated, 0.5);
    EXPECT_EQ(copy.logs, checkpoint.logs);
    EXPECT_FALSE(copy.champion.has_value());
}

TEST(Identity, FirstDifferenceIsNamedAlsoWhenAKeyIsNew) {
    EXPECT_NO_THROW(check_identity(R"({"a":1,"b":[1,2]})", R"({"b":[1,2],"a":1})", "run"));
    EXPECT_THAT([] { check_identity(R"({"a":{"b":[1,2]}})", R"({"a":{"b":[1,3]}})", "run"); },
                ThrowsMessage<ConfigError>(HasSubstr("another a.b.1 (it was 2, now it is 3)")));
    const std::string nested =
        R"({"a":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
    EXPECT_THAT([&] { check_identity(nested, R"({"a":1})", "run"); },
                ThrowsMessage<ConfigError>(HasSubstr("cannot be compared key by key")));
    const std::string text = R"({"a":")" + std::string(100'000, 'x') + R"("})";
    try {
        check_identity(text, R"({"a":1})", "run");
        ADD_FAILURE() << "taken for equal";
    } catch (const ConfigError& error) {
        EXPECT_LT(std::string_view(error.what()).size(), 500U);
    }
    EXPECT_THAT([] { check_identity(R"({"a":1})", R"({"a":1,"c":true})", "run"); },
                ThrowsMessage<ConfigError>(HasSubstr("it was nothing, now it is true")));
}

TEST(AppendFile, CutsAndContinues) {
    const TemporaryDirectory place;
    const std::filesystem::path path = place.path() / "log.csv";
    {
        AppendFile file(path, 0);
        file.pending() = "one\ntwo\n";
        file.flush();
        EXPECT_EQ(file.length(), 8U);
    }
    {
        AppendFile file(path, 4);
        file.pending() = "three\n";
        file.sync();
    }
    EXPECT_EQ(text_of(path), "one\nthree\n");
    EXPECT_THROW(AppendFile(path, 1000), InputError);
}

TEST(AppendFile, WhatWasReadOfItIsNotReadAgain) {
    const TemporaryDirectory place;
    const std::filesystem::path path = place.path() / "log.csv";
    const std::string text = "one\ntwo\nthree\n";
    const auto of = [&](std::size_t length) {
        return hash128(std::as_bytes(std::span(text).first(length)));
    };
    std::ofstream(path) << text;
    FilePrefix known;
    EXPECT_TRUE(unchanged(path, 4, of(4), Content::lines, known));
    // Nobody looks at it again.
    std::fstream(path, std::ios::in | std::ios::out) << "O";
    EXPECT_TRUE(unchanged(path, 8, of(8), Content::lines, known));
    EXPECT_FALSE(unchanged(path, 100, of(14), Content::lines, known));
    AppendFile file(path, 14, std::move(known));
    EXPECT_EQ(file.checksum(), of(14));
    file.cut(8);
    EXPECT_NE(file.checksum(), of(8)) << "what is shorter is read anew";
}

TEST(EvolutionDirectory, KeepsWhatItHasReadOfTheLogs) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 2;
    static_cast<void>(launch(experiment, {}));
    EvolutionDirectory directory(experiment.directory, 3);
    ASSERT_TRUE(directory.load_newest([](Checkpoint&&, std::span<const JournalEntry>) {},
                                      [](const std::string& text) { ADD_FAILURE() << text; }));
    const GenerationLog::Prefixes known = directory.take_logs_read();
    EXPECT_EQ(known[GenerationLog::individuals_at].length(),
              std::filesystem::file_size(experiment.directory / "individuals.cmb"));
}

}  // namespace
}  // namespace cambrian::distributed
