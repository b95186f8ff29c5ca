#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/evaluation/learner.hpp"
#include "cambrian/evolve/evaluation/population_runner.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"
#include "cambrian/tests/support/forwarding_backend.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::string_view drawn_rows =
    R"({"type": "dataset", "source": {"type": "blobs", "features": 3, "classes": 4, "rows": 60},
        "loss": {"type": "cross_entropy"}, "rows_per_evaluation": 8})";
constexpr std::string_view small_network =
    R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}]})";

/// The CPU as a device whose programs take few individuals at once, and whose uploads fail with a
/// part of them written.
class LimitedCpu final : public test::ForwardingBackend {
  public:
    LimitedCpu() : ForwardingBackend(make_cpu_backend({})) {}
    std::int64_t max_population = 1 << 20;
    std::vector<std::int64_t> populations;  ///< Of all runs.
    bool fails = false;                     ///< The next upload of integers.

    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return std::make_unique<Limited>(*this, ForwardingBackend::compile(graph));
    }
    using ForwardingBackend::upload;
    void upload(Buffer& to, std::int64_t first, std::span<const std::int32_t> values) override {
        ForwardingBackend::upload(to, first, values);
        if (std::exchange(fails, false)) throw OutOfMemoryError("refused (by the test) try again");
    }

  private:
    class Limited final : public test::ForwardingProgram {
      public:
        Limited(LimitedCpu& of, std::unique_ptr<Program> own)
            : ForwardingProgram(std::move(own)), of_(of) {}
        void run(std::int64_t population, std::span<const Binding> inputs,
                 std::span<const Binding> outputs) override {
            of_.populations.push_back(population);
            ForwardingProgram::run(population, inputs, outputs);
        }
        [[nodiscard]] std::int64_t max_population() const override { return of_.max_population; }

      private:
        LimitedCpu& of_;
    };
};

class BackendLimits : public ::testing::Test {
  protected:
    [[nodiscard]] std::vector<Genome> networks(std::uint64_t count) const {
        std::vector<Genome> genomes;
        for (std::uint64_t id = 0; id < count; ++id)
            genomes.push_back(testing::genome_for(*task_, small_network, id));
        return genomes;
    }
    [[nodiscard]] std::vector<double> fitness_of(const std::vector<Genome>& genomes,
                                                 std::uint64_t round) {
        std::vector<double> fitness;
        for (const Evaluation& result : evaluator_.evaluate(
                 testing::pointers_to(genomes), {.phase = Phase::train, .round = round}))
            fitness.push_back(result.fitness);
        return fitness;
    }
    /// @param result_of a round, in which integers are uploaded.
    void expect_that_what_came_in_part_is_of_no_round(const auto& result_of) {
        const auto first = result_of(0);
        backend_.fails = true;
        EXPECT_THROW((void)result_of(1), OutOfMemoryError);
        EXPECT_EQ(result_of(0), first);
        EXPECT_NE(result_of(1), first);
    }

    const std::unique_ptr<Task> task_ = testing::standard_task(drawn_rows);
    LimitedCpu backend_;
    Evaluator evaluator_{backend_, *task_, 1};
};

TEST_F(BackendLimits, ARunHasNoMoreIndividualsThanItsProgramTakes) {
    const std::vector<Genome> all = networks(30);
    const std::vector<double> together = fitness_of(all, 0);
    EXPECT_EQ(backend_.populations, (std::vector<std::int64_t>{30}));
    backend_.populations.clear();
    backend_.max_population = 7;
    EXPECT_EQ(fitness_of(all, 0), together);
    EXPECT_EQ(backend_.populations, (std::vector<std::int64_t>{7, 7, 7, 7, 2}));
    EXPECT_EQ(evaluator_.counters().memory_splits, 0U) << "memory had room";
}

TEST_F(BackendLimits, DrawsThatCameInPartAreThoseOfNoRound) {
    const std::vector<Genome> one = networks(1);
    expect_that_what_came_in_part_is_of_no_round(
        [&](std::uint64_t round) { return fitness_of(one, round); });
}

TEST_F(BackendLimits, AnOrderThatCameInPartIsThatOfNoRound) {
    const std::vector<Genome> one = networks(1);
    const Individuals individuals(testing::pointers_to(one));
    LearningSettings settings;
    settings.mode = LearningMode::lamarckian;
    settings.steps = 3;
    settings.batch = 8;
    Learner learner(backend_, *task_, 1, settings);
    expect_that_what_came_in_part_is_of_no_round(
        [&](std::uint64_t round) { return learner.learn(individuals.pointers, round); });
}

/// Networks of several structures, whose temporaries are most of what they take.
class SharedTemporaries : public ::testing::Test {
  protected:
    static constexpr std::uint64_t structures = 10;

    SharedTemporaries() {
        for (std::uint64_t width = 4; width < 4 + structures; ++width)
            for (std::uint64_t id = 0; id < 3; ++id)
                genomes_.push_back(testing::genome_for(
                    *task_,
                    fmt::format(
                        R"({{"layers": [{{"type": "dense", "out": {}, "activation": "tanh"}},
                                                {{"type": "dense"}}]}})",
                        width),
                    id));
    }
    struct Rounds {
        std::int64_t used = 0;  ///< Bytes in the end.
        Evaluator::Counters counters{};
    };
    [[nodiscard]] Rounds three_rounds(std::int64_t memory_limit) const {
        const auto backend = make_cpu_backend({.memory_limit = memory_limit});
        Evaluator evaluator(*backend, *task_, 1);
        for (std::uint64_t round = 0; round < 3; ++round)
            (void)evaluator.evaluate(testing::pointers_to(genomes_),
                                     {.phase = Phase::train, .round = round});
        return {backend->memory().used, evaluator.counters()};
    }

    const std::unique_ptr<Task> task_ = testing::standard_task(drawn_rows);
    std::vector<Genome> genomes_;
};

TEST_F(SharedTemporaries, LeaveRoomForTheProgramsOfAllStructures) {
    const std::int64_t used = three_rounds(0).used;
    EXPECT_EQ(three_rounds(2 * used).counters.programs_compiled, structures);
}

TEST_F(SharedTemporaries, AreThereForTheProgramThatRunsNext) {
    const std::int64_t used = three_rounds(0).used;
    EXPECT_EQ(three_rounds(used + used / 8).counters.memory_splits, 0U);
}

TEST(PopulationRunner, KeepsNoMoreProgramsThanAQuarterOfTheMemoryHolds) {
    constexpr std::int64_t words = 4000;
    const auto backend = make_cpu_backend({.memory_limit = 100 * words});
    const auto task = testing::standard_task(drawn_rows);
    const Genome genome = testing::genome_for(*task, small_network);
    const std::array<const Genome*, 1> genomes{&genome};
    const Individuals individuals(genomes);
    const auto build = [](Graph& graph, const ForwardModel&, const NetworkOperands& operands) {
        Tensor constants(ValueType::real, {words});
        std::iota(constants.elements.begin(), constants.elements.end(), 0.0);
        const Var weight = broadcast(sum_all(operands.weights), {words});
        return std::vector<Var>{sum_all(graph.constant(constants) * weight)};
    };
    PopulationRunner runner(*backend, Family::graph);
    for (std::int64_t variant = 0; variant < 10; ++variant)
        (void)runner.run(individuals.pointers, {.variant = variant, .build = build, .shared = {}});
    EXPECT_EQ(runner.programs_compiled(), 10U);
    EXPECT_LE(backend->memory().programs, 6) << "each keeps 4 bytes of the 100 for each word";
    EXPECT_GT(backend->memory().programs, 1);
}

TEST(InHalves, GoesOnInOrderWithAsManyAsThereIsMemoryFor) {
    const auto numbers = [](std::size_t at_once) {
        return [at_once](std::size_t first, std::size_t count) {
            if (count > at_once) throw OutOfMemoryError("too many (for the test) ask for fewer");
            std::vector<std::size_t> result(count);
            std::iota(result.begin(), result.end(), first);
            return result;
        };
    };
    for (const auto& [at_once, times] : {std::pair(7, 0), std::pair(4, 1), std::pair(2, 3)}) {
        int halved = 0;
        EXPECT_EQ(in_halves(0, 7, numbers(static_cast<std::size_t>(at_once)), [&] { ++halved; }),
                  (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
        EXPECT_EQ(halved, times) << at_once;
    }
    EXPECT_THROW((void)in_halves(0, 7, numbers(0), [] {}), OutOfMemoryError);
}

}  // namespace
}  // namespace cambrian::evolve
