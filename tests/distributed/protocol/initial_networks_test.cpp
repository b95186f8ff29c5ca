#include "cambrian/distributed/protocol/initial_networks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

using testing::HasSubstr;

/// A network that an earlier run may have left.
evolve::Genome ancestor(const Experiment& experiment) {
    const evolve::Variation variation(99, experiment.variation);
    return variation.materialise({50, evolve::Recipe::sample, {}}, {}).genome;
}

Experiment warm_experiment(const std::filesystem::path& directory) {
    Experiment experiment = xor_experiment(directory);
    experiment.variation.initial =
        std::make_shared<const evolve::InitialNetworks>(std::vector{ancestor(experiment)});
    return experiment;
}

class InitialOfWorkers : public testing::Test {
  protected:
    [[nodiscard]] std::optional<std::vector<evolve::Genome>> receive(double patience = 10.0) {
        return receive_initial(worker_, interrupt_, patience);
    }

    TemporaryDirectory place_;
    Experiment experiment_ = warm_experiment(place_.path() / "run");
    RecordedNetwork network_{2};
    Communicator coordinator_ = network_.communicator(0);
    Communicator worker_ = network_.communicator(1);
    std::atomic<int> interrupt_{0};
};

TEST_F(InitialOfWorkers, IsWhatTheCoordinatorAnswers) {
    const evolve::Genome& genome = experiment_.variation.initial->genomes.front();
    send(coordinator_, 1, Heartbeat{});
    send(coordinator_, 1, InitialReply{{evolve::encode(genome)}});
    EXPECT_EQ(receive(), std::vector{genome});
    const auto request = coordinator_.receive(std::chrono::seconds(10));
    ASSERT_TRUE(request);
    EXPECT_EQ(request->kind, MessageKind::initial_request);
}

TEST_F(InitialOfWorkers, NoneComesWhenTheRunHasEnded) {
    send(coordinator_, 1, Stop{"the run has ended"});
    EXPECT_EQ(receive(), std::nullopt);
}

TEST_F(InitialOfWorkers, ASilentCoordinatorIsAnErrorInTime) {
    EXPECT_THAT([&] { static_cast<void>(receive(0.2)); },
                testing::ThrowsMessage<Error>(
                    HasSubstr("rank 0 has not sent network.initial within 0.2 seconds")));
}

TEST_F(InitialOfWorkers, ACoordinatorWithoutOneHasAnotherConfig) {
    send(coordinator_, 1, InitialReply{});
    EXPECT_THAT([&] { static_cast<void>(receive()); },
                testing::ThrowsMessage<ConfigError>(HasSubstr("rank 0 starts from no network")));
}

TEST_F(InitialOfWorkers, DamagedBytesAreAnInputError) {
    std::vector<std::byte> bytes = evolve::encode(experiment_.variation.initial->genomes.front());
    bytes.resize(bytes.size() / 2);
    send(coordinator_, 1, InitialReply{{bytes}});
    EXPECT_THROW(static_cast<void>(receive()), InputError);
    std::vector<std::byte> frame = encode_message(InitialReply{{bytes}});
    frame.back() ^= std::byte{1};
    coordinator_.send(1, MessageKind::initial, std::move(frame));
    EXPECT_THROW(static_cast<void>(receive()), InputError);
}

// A worker that asks before its handshake is answered by a coordinator at work.
TEST_F(InitialOfWorkers, IsAnsweredDuringARun) {
    Launch settings{.ranks = 2};
    bool asked = false;
    std::optional<std::vector<evolve::Genome>> received;
    settings.on_generation = [&](RecordedNetwork& network, const GenerationReport&) {
        if (!std::exchange(asked, true)) {
            Communicator late = network.communicator(1);
            send(late, 0, InitialRequest{});
        }
    };
    experiment_.stop.generations = 20;
    const Launched launched = launch(experiment_, settings);
    const auto answers =
        std::count_if(launched.records.begin(), launched.records.end(), [](const auto& record) {
            return record.source == 0 && record.target == 1 && record.kind == MessageKind::initial;
        });
    EXPECT_EQ(answers, 1);
    EXPECT_TRUE(launched.reporter.warnings.empty());
}

TEST_F(InitialOfWorkers, FoundersAreTheSameBytesOnAnyNumberOfRanks) {
    static_cast<void>(launch(experiment_, {.ranks = 1}));
    const std::string expected = results_of(experiment_.directory);
    for (const int ranks : {2, 4}) {
        Experiment other = experiment_;
        other.directory = place_.path() / std::to_string(ranks);
        static_cast<void>(launch(other, {.ranks = ranks}));
        EXPECT_EQ(results_of(other.directory), expected) << ranks;
    }
    const NetworkFile copy = read_network(initial_copy(experiment_.directory));
    EXPECT_EQ(copy.genome, experiment_.variation.initial->genomes.front());
}

TEST_F(InitialOfWorkers, AnotherNetworkIsAnotherRun) {
    static_cast<void>(launch(experiment_, {}));
    evolve::Genome other = experiment_.variation.initial->genomes.front();
    other.weights[0] += 1.0F;
    experiment_.variation.initial =
        std::make_shared<const evolve::InitialNetworks>(std::vector{other});
    EXPECT_THAT([&] { static_cast<void>(launch(experiment_, {.start = Start::proceed})); },
                testing::ThrowsMessage<ConfigError>(HasSubstr("another content.initial")));
}

}  // namespace
}  // namespace cambrian::distributed
