#include "cambrian/engine/cpu/execution/parallel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <stdexcept>
#include <vector>

#include "cambrian/engine/core/simd/float_guard.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"

namespace cambrian {
namespace {

/// A team of all threads of a pool, with a byte of scratch each.
struct WholeTeam {
    explicit WholeTeam(int threads) : pool(threads), bytes(static_cast<std::size_t>(threads)) {
        for (std::byte& byte : bytes) places.push_back(&byte);
    }
    [[nodiscard]] cpu::Team team() { return {&pool, places}; }

    ThreadPool pool;
    std::vector<std::byte> bytes;
    std::vector<std::byte*> places;
};

TEST(Parts, RunOnceEachAndNoTwoAtOnceShareScratch) {
    WholeTeam whole(3);
    for (const std::int64_t parts : {0, 1, 2, 500}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(parts));
        std::array<std::atomic<int>, 3> users{};
        cpu::for_each_part(whole.team(), parts, [&](std::int64_t part, std::byte* scratch) {
            auto& own = users[static_cast<std::size_t>(scratch - whole.bytes.data())];
            EXPECT_EQ(own.fetch_add(1), 0);
            ++runs[static_cast<std::size_t>(part)];
            own.fetch_sub(1);
        });
        EXPECT_THAT(runs, testing::Each(testing::Truly([](const auto& n) { return n == 1; })));
    }
}

TEST(Parts, StayOnTheThreadThatHasNoOthers) {
    WholeTeam whole(2);
    std::vector<std::int64_t> order;
    cpu::for_each_part({nullptr, std::span(whole.places).last(1)}, 4,
                       [&](std::int64_t part, std::byte* scratch) {
                           EXPECT_EQ(scratch, whole.places[1]);
                           order.push_back(part);
                       });
    EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3));
}

TEST(Parts, RoundAlikeOnEveryThread) {
    if (cpu::FloatRules::flushing == 0) GTEST_SKIP() << "this processor does not flush";
    const auto before = cpu::FloatRules::now();
    cpu::FloatRules{before.bits | cpu::FloatRules::flushing}
        .set();  // Threads of the pool inherit what flushes.
    WholeTeam whole(4);
    std::atomic<int> flushed{0};
    {
        const cpu::FloatGuard rules;
        std::barrier all(4);
        cpu::for_each_part(whole.team(), 4, [&](std::int64_t) {
            all.arrive_and_wait();  // So every thread has one.
            volatile float small = 0x1p-126F;
            if (small * 0.5F == 0.0F) ++flushed;
        });
    }
    before.set();
    EXPECT_EQ(flushed, 0);
}

TEST(Parts, HandOnWhatAPartThrows) {
    WholeTeam whole(2);
    const auto fails = [](std::int64_t part) {
        if (part == 7) throw std::runtime_error("seven");
    };
    EXPECT_THROW(cpu::for_each_part(whole.team(), 20, fails), std::runtime_error);
}

/// Products of what all share, of one individual, and of a loop's steps.
Graph large_products() {
    Graph body;
    const Var row = body.input("row", ValueType::real, {90, 130});
    const Var own = body.input("own", ValueType::real, {130, 130});
    body.output(tanh(matmul(row, own) * 0.1));
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {90, 130}, true);
    const Var w = graph.input("w", ValueType::real, {130, 130});
    const Var shared = matmul(w, w, true, false) * 0.1;
    graph.output(shared);
    graph.output(matmul(x, shared, false, true));
    graph.output(
        scan(std::move(body), std::array{x}, {}, std::array{shared}, {.length = 3}).carries[0]);
    return graph;
}

TEST(Parts, GiveTheSameBitsOnAnyNumberOfThreads) {
    const Graph graph = large_products();
    for (const Math math : {Math::strict, Math::fast}) {
        for (const std::int64_t population : {1, 2, 5}) {
            std::vector<Tensor> inputs{Tensor(ValueType::real, Shape{population, 90, 130}),
                                       Tensor(ValueType::real, Shape{130, 130})};
            RandomStream rng(random_key(3, "parts"), 0);
            for (Tensor& tensor : inputs) {
                for (double& x : tensor.elements) x = static_cast<double>(rng.normal());
            }
            const auto expected = evaluate(*make_cpu_backend({.threads = 1, .math = math}), graph,
                                           population, inputs);
            for (const int threads : {2, 4}) {
                const auto cpu = make_cpu_backend({.threads = threads, .math = math});
                const auto actual = evaluate(*cpu, graph, population, inputs);
                for (std::size_t i = 0; i < expected.size(); ++i) {
                    EXPECT_EQ(test::first_difference(actual[i].elements, expected[i].elements), -1)
                        << "output " << i << ", " << threads << " threads";
                }
            }
        }
    }
}

}  // namespace
}  // namespace cambrian
