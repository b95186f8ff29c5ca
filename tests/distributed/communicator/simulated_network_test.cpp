#include "cambrian/distributed/communicator/simulated_network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/task_thread.hpp"

// Times below are of messages and sleeps; what a test computes adds much less than 20 ms to them.
namespace cambrian::distributed {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
constexpr double leeway = 0.02;

void say(Communicator& communicator, int to, std::size_t bytes) {
    communicator.send(to, MessageKind::heartbeat, std::vector<std::byte>(bytes));
}

TEST(SimulatedNetwork, MessagesTakeLatencyAndBandwidth) {
    SimulatedNetwork network(2, {.latency = 1.0, .bandwidth = 1000.0, .per_message = 0.0});
    double second = 0.0;
    std::vector<std::size_t> bytes;
    network.run([&](Communicator& communicator) {
        const Clock::time_point start = Clock::now();
        if (communicator.rank() == 0) {
            say(communicator, 1, 2000);
            say(communicator, 1, 1000);  // After the first on the same link.
            return;
        }
        EXPECT_FALSE(communicator.receive(seconds(2)));
        for (int i = 0; i < 2; ++i) {
            bytes.push_back(communicator.receive(seconds(10))->payload.size());
            second = seconds_since(start);
        }
    });
    EXPECT_THAT(bytes, testing::ElementsAre(2000U, 1000U));
    EXPECT_NEAR(second, 4.0, leeway);
}

TEST(SimulatedNetwork, RanksSleepSideBySide) {
    const auto begun = std::chrono::steady_clock::now();
    SimulatedNetwork network(100, {});
    double longest = 0.0;
    network.run([&](Communicator& communicator) {
        const Clock::time_point start = Clock::now();
        Clock::sleep(seconds(1000 + communicator.rank()));
        longest = std::max(longest, seconds_since(start));
    });
    EXPECT_NEAR(longest, 1099.0, leeway);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(60));
}

TEST(SimulatedNetwork, AThreadBesideARankWorksWhileTheRankDoesOtherThings) {
    SimulatedNetwork network(1, {});
    network.run([&](Communicator& communicator) {
        const Clock::time_point start = Clock::now();
        TaskThread thread(4);
        for (int i = 0; i < 3; ++i) {
            thread.submit([] { Clock::sleep(seconds(2)); });
        }
        EXPECT_NEAR(seconds_since(start), 0.0, leeway);
        EXPECT_FALSE(communicator.receive(seconds(1)));
        EXPECT_FALSE(thread.drained(milliseconds(0)));
        EXPECT_NEAR(seconds_since(start), 1.0, leeway);
        thread.drain();
        EXPECT_NEAR(seconds_since(start), 6.0, leeway);
        thread.submit([] { throw std::runtime_error("the disk is full"); });
        EXPECT_THROW(thread.drain(), std::runtime_error);
        EXPECT_LT(seconds_of(Clock::worked()), leeway);
    });
}

TEST(SimulatedNetwork, WhatTheSystemTookForOthersIsNoWork) {
    SimulatedNetwork network(1, {});
    network.run([&](Communicator&) {
        const Clock::duration before = Clock::worked();
        std::this_thread::sleep_for(milliseconds(40));
        const Clock::duration after = Clock::worked();
        EXPECT_GE(after, before);
        EXPECT_LT(seconds_of(after - before), leeway);
    });
}

TEST(SimulatedNetwork, ARankThatComputesHoldsUpOthersOnItsProcessorOnly) {
    for (const int processors : {0, 1}) {
        SimulatedNetwork network(2, {.processors = processors});
        double longest = 0.0;
        network.run([&](Communicator& communicator) {
            const Clock::time_point start = Clock::now();
            // In time of the processor: others may hold it up on this machine.
            double worked = 0.0;
            while (worked < 0.3) {
                worked = seconds_of(Clock::worked());
            }
            static_cast<void>(communicator.receive(milliseconds(0)));
            longest = std::max(longest, seconds_since(start));
            EXPECT_NEAR(seconds_of(Clock::worked()), worked, leeway) << "waits are no work";
        });
        EXPECT_NEAR(longest, processors == 1 ? 0.6 : 0.3, 0.15);
    }
}

TEST(SimulatedNetwork, WhatARankThrowsComesOut) {
    SimulatedNetwork network(3, {});
    EXPECT_THROW(network.run([](Communicator& communicator) {
        if (communicator.rank() == 1) {
            throw std::runtime_error("rank 1");
        }
    }),
                 std::runtime_error);
}

}  // namespace
}  // namespace cambrian::distributed
