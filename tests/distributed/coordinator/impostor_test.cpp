#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/distributed/support/run_support.hpp"

// A worker that is none: what it says is refused, and changes nothing.
namespace cambrian::distributed {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Runs the experiment with one worker played by the test.
std::vector<std::string> run_with_impostor(
    const Experiment& experiment, const std::function<void(Communicator&, Handshake)>& play) {
    RecordedNetwork network(2);
    const auto backend = make_cpu_backend({});
    std::thread impostor([&] {
        Communicator communicator = network.communicator(1);
        play(communicator, introduce(experiment, *backend));
    });
    RecordingReporter reporter;
    std::exception_ptr failure;
    try {
        const std::atomic<int> interrupt{0};
        Communicator communicator = network.communicator(0);
        static_cast<void>(
            run_coordinator(communicator, *backend, experiment, Start::fresh, reporter, interrupt));
    } catch (...) {
        failure = std::current_exception();
    }
    impostor.join();
    if (failure) {
        std::rethrow_exception(failure);
    }
    return reporter.warnings;
}

/// Expects that a run does not begin with a rank that says something else of itself.
void expect_refused(const std::function<void(Handshake&)>& change,
                    const testing::Matcher<const std::string&>& why) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const auto play = [&](Communicator& communicator, Handshake handshake) {
        change(handshake);
        send(communicator, 0, handshake);
    };
    EXPECT_THAT([&] { static_cast<void>(run_with_impostor(experiment, play)); },
                ThrowsMessage<ConfigError>(why));
}

TEST(Impostor, WithAnotherExperimentIsRefusedByRank) {
    expect_refused([](Handshake& handshake) { handshake.identity.low ^= 1U; },
                   testing::AllOf(HasSubstr("rank 1 on"), HasSubstr("another experiment")));
}

TEST(Impostor, WithAnotherVersionIsRefused) {
    expect_refused([](Handshake& handshake) { handshake.version = "0.0.1"; },
                   HasSubstr("runs cambrian 0.0.1"));
}

TEST(Impostor, HearsWhyARunDidNotBegin) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.stop.generations = 1;
    static_cast<void>(launch(experiment, {}));
    std::string reason;
    const auto play = [&reason](Communicator& communicator, const Handshake&) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        while (reason.empty() && std::chrono::steady_clock::now() < end) {
            const auto message = communicator.receive(std::chrono::milliseconds(100));
            if (message && message->kind == MessageKind::stop) {
                reason = decode_message<Stop>(message->payload, "rank 0").reason;
            }
        }
    };
    std::string problem;
    try {
        static_cast<void>(run_with_impostor(experiment, play));  // Its directory is in use.
    } catch (const Error& error) {
        problem = error.what();
    }
    EXPECT_FALSE(problem.empty());
    EXPECT_EQ(reason, problem);
}

TEST(Impostor, WithOtherArithmeticNeedsMixed) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    const auto play = [](Communicator& communicator, Handshake handshake) {
        handshake.arithmetic = "another processor";
        send(communicator, 0, handshake);
    };
    EXPECT_THAT([&] { static_cast<void>(run_with_impostor(experiment, play)); },
                ThrowsMessage<ConfigError>(HasSubstr("other bits")));
    experiment.directory = place.path() / "mixed";
    experiment.distribution.mixed = true;
    EXPECT_THAT(run_with_impostor(experiment, play), testing::IsEmpty());
}

TEST(Impostor, HostileMessagesAreReportedAndSurvived) {
    const TemporaryDirectory place;
    const Experiment experiment = xor_experiment(place.path() / "run");
    const auto play = [](Communicator& communicator, const Handshake& handshake) {
        send(communicator, 0, handshake);
        for (std::uint32_t kind = 0; kind < 12; ++kind) {
            communicator.send(0, static_cast<MessageKind>(kind), {});
            communicator.send(0, static_cast<MessageKind>(kind),
                              std::vector<std::byte>(64, std::byte{0x5A}));
        }
    };
    const std::vector<std::string> warnings = run_with_impostor(experiment, play);
    EXPECT_THAT(warnings, testing::Contains(HasSubstr("rank 1 on")));
    EXPECT_LE(warnings.size(), 4U);
}

/// Answers with frames that are sound outside and noise inside, and with damaged ones.
void babble(Communicator& communicator, const Handshake& handshake, std::uint32_t seed) {
    std::minstd_rand random(seed);
    send(communicator, 0, handshake);
    send(communicator, 0, Request{4, 0, {}, {}});
    for (int i = 0; i < 400; ++i) {
        const auto kind = static_cast<MessageKind>(1 + random() % 7);
        std::vector<std::byte> body(random() % 200);
        for (std::byte& byte : body) {
            byte = static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : 0);
        }
        std::vector<std::byte> frame = detail::seal(kind, body);
        if (random() % 4 == 0) {
            frame[random() % frame.size()] ^= std::byte{1};
        }
        communicator.send(0, kind, std::move(frame));
    }
}

TEST(Impostor, NoiseInSoundFramesChangesNoByte) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "whole");
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.distribution.lease_seconds = 0.2;
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
        experiment.directory = place.path() / std::to_string(seed);
        static_cast<void>(run_with_impostor(
            experiment, [seed](Communicator& communicator, const Handshake& handshake) {
                babble(communicator, handshake, seed);
            }));
        EXPECT_EQ(expected, results_of(experiment.directory)) << "seed " << seed;
    }
}

/// A rank that knows no round of this run asks for births.
Request asks() {
    return {1, std::numeric_limits<std::uint64_t>::max(), {}, {}};
}

/// Answers shards of founders with scores changed by `change`, until it hears the stop.
/// @param state that it says it has come to; nothing: that of the order.
void answer_falsely(Communicator& communicator, const Handshake& handshake,
                    const std::function<void(ShardScores&)>& change,
                    std::optional<Hash128> state = std::nullopt) {
    send(communicator, 0, asks());
    send(communicator, 0, handshake);
    for (;;) {
        const auto message = communicator.receive(std::chrono::seconds(1));
        if (!message || message->kind == MessageKind::stop) {
            return;
        }
        if (message->kind != MessageKind::shard) {
            continue;
        }
        const auto order = decode_message<ShardOrder>(message->payload, "the coordinator");
        ShardResult result{
            order.shard, {evolve::Scores(order.end - order.begin), 0, 0, 17, {}}, {}};
        std::ranges::fill(result.scores.scores.fitness, 1e6);
        std::ranges::fill(result.scores.scores.status, evolve::Status::ok);
        const std::size_t births = order.end - order.begin;
        result.scores.details = {std::vector<std::uint64_t>(births),
                                 std::vector<std::uint64_t>(births),
                                 std::vector<std::uint32_t>(births)};
        change(result.scores);
        send(communicator, 0, Request{0, order.generation, state.value_or(order.digest), {result}});
    }
}

TEST(Impostor, ThatMakesOtherChildrenIsRefusedByRank) {
    expect_refused([](Handshake& handshake) { handshake.variation.low ^= 1U; },
                   testing::AllOf(HasSubstr("rank 1 on"), HasSubstr("makes other children")));
}

TEST(Impostor, FalseScoresAreRefusedAndDoneAgain) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "whole");
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.distribution.lease_seconds = 0.2;
    const std::vector<std::pair<std::function<void(ShardScores&)>, std::string>> lies{
        {[](ShardScores& shard) { shard.scores.fitness.pop_back(); }, "another shard"},
        {[](ShardScores& shard) { shard.scores.status[0] = evolve::Status::failed; },
         "contradicts its status"},
        {[](ShardScores& shard) { shard.scores.fitness[0] = std::nan(""); },
         "contradicts its status"},
        {[](ShardScores& shard) { shard.details.parameters.clear(); }, "differ in length"}};
    for (std::size_t lie = 0; lie < lies.size(); ++lie) {
        experiment.directory = place.path() / std::to_string(lie);
        const auto play = [&](Communicator& communicator, const Handshake& handshake) {
            answer_falsely(communicator, handshake, lies[lie].first);
        };
        EXPECT_THAT(run_with_impostor(experiment, play),
                    testing::Contains(HasSubstr(lies[lie].second)));
        EXPECT_EQ(expected, results_of(experiment.directory));
    }
}

/// What a run says that has an impostor; its bytes are to be those of a run alone.
std::vector<std::string> warnings_of_same_bytes(
    const std::function<void(Communicator&, const Handshake&)>& play) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "whole");
    static_cast<void>(launch(experiment, {}));
    const std::string expected = results_of(experiment.directory);
    experiment.directory = place.path() / "run";
    const std::vector<std::string> warnings = run_with_impostor(experiment, play);
    EXPECT_EQ(expected, results_of(experiment.directory));
    return warnings;
}

TEST(Impostor, ThatComesToAnotherStateIsNotBelieved) {
    const auto play = [](Communicator& communicator, const Handshake& handshake) {
        answer_falsely(
            communicator, handshake, [](ShardScores&) {}, Hash128{1, 2});
    };
    EXPECT_THAT(warnings_of_same_bytes(play),
                testing::Contains(HasSubstr("do not count (it came to another state")));
}

TEST(Impostor, ThatAsksFromAnotherStateIsNotBelievedEither) {
    const auto play = [](Communicator& communicator, const Handshake& handshake) {
        send(communicator, 0, handshake);
        send(communicator, 0, Request{1, 0, Hash128{1, 2}, {}});
        send(communicator, 0, ShardFailure{0, "it has seen enough", true});
    };
    EXPECT_THAT(warnings_of_same_bytes(play),
                testing::Contains(HasSubstr("do not count (it came to another state")));
}

TEST(Impostor, ThatComesToAnotherStateOfABlockBeforeIsNotBelieved) {
    const TemporaryDirectory place;
    Experiment experiment = xor_experiment(place.path() / "run");
    experiment.steady_state = {.window = 12, .block = 6};
    experiment.stop.generations = 30;
    const auto play = [](Communicator& communicator, const Handshake& handshake) {
        send(communicator, 0, handshake);
        send(communicator, 0, asks());
        while (const auto message = communicator.receive(std::chrono::seconds(10))) {
            if (message->kind != MessageKind::shard) {
                continue;
            }
            const auto order = decode_message<ShardOrder>(message->payload, "the coordinator");
            if (order.generation > 1) {  // The first two blocks are open from the beginning.
                send(communicator, 0, Request{0, order.generation - 1, Hash128{1, 2}, {}});
                send(communicator, 0, ShardFailure{0, "it has seen enough", true});
                return;
            }
            send(communicator, 0, ShardFailure{order.shard, "not yet", false});
            send(communicator, 0, asks());
        }
    };
    EXPECT_THAT(run_with_impostor(experiment, play),
                testing::Contains(HasSubstr("do not count (it came to another state")));
}

TEST(Impostor, ThatAsksForWhatNeverWasGetsTheRest) {
    std::optional<GenomeReply> reply;
    const auto play = [&](Communicator& communicator, const Handshake& handshake) {
        send(communicator, 0, GenomeRequest{{3, 1'000'000}});
        send(communicator, 0, handshake);
        while (const auto message = communicator.receive(std::chrono::seconds(10))) {
            if (message->kind == MessageKind::genomes) {
                reply = decode_message<GenomeReply>(message->payload, "the coordinator");
                return;
            }
        }
    };
    static_cast<void>(warnings_of_same_bytes(play));
    ASSERT_TRUE(reply);
    ASSERT_EQ(reply->genomes.size(), 1U);
    EXPECT_EQ(reply->genomes.front().origin, 3U);
    EXPECT_THAT(reply->gone, testing::ElementsAre(1'000'000U));
}

TEST(Impostor, LosesTheDeviceAndLeavesTheRestToOthers) {
    const auto play = [](Communicator& communicator, const Handshake& handshake) {
        send(communicator, 0, asks());
        send(communicator, 0, handshake);
        auto message = communicator.receive(std::chrono::seconds(10));
        while (message && message->kind == MessageKind::heartbeat) {
            message = communicator.receive(std::chrono::seconds(10));
        }
        ASSERT_TRUE(message && message->kind == MessageKind::shard);
        const auto order = decode_message<ShardOrder>(message->payload, "the coordinator");
        send(communicator, 0, ShardFailure{order.shard, "the device is lost", true});
    };
    EXPECT_THAT(warnings_of_same_bytes(play), testing::ElementsAre(HasSubstr("leaves the run")));
}

}  // namespace
}  // namespace cambrian::distributed
