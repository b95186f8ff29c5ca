#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/evaluation/learner.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::string_view drawn_rows =
    R"({"type": "dataset", "source": {"type": "blobs", "features": 3, "classes": 4, "rows": 60},
        "loss": {"type": "cross_entropy"}, "rows_per_evaluation": 8})";
constexpr std::string_view small_network =
    R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}]})";

/// The CPU as a device whose programs take few individuals at once, and whose uploads fail with a
/// part of them written.
class LimitedCpu final : public Backend {
  public:
    std::int64_t max_population = 1 << 20;
    std::vector<std::int64_t> populations;  ///< Of all runs.
    bool fails = false;                     ///< The next upload of integers.

    [[nodiscard]] std::unique_ptr<Program> compile(const Graph& graph) override {
        return std::make_unique<Limited>(*this, cpu_->compile(graph));
    }
    [[nodiscard]] std::unique_ptr<Buffer> allocate(ValueType type, std::int64_t count) override {
        return cpu_->allocate(type, count);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const float> values) override {
        cpu_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const double> values) override {
        cpu_->upload(to, first, values);
    }
    void upload(Buffer& to, std::int64_t first, std::span<const std::int32_t> values) override {
        cpu_->upload(to, first, values);
        if (std::exchange(fails, false)) throw OutOfMemoryError("refused (by the test) try again");
    }
    void download(const Buffer& from, std::int64_t first, std::span<float> values) override {
        cpu_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<double> values) override {
        cpu_->download(from, first, values);
    }
    void download(const Buffer& from, std::int64_t first, std::span<std::int32_t> values) override {
        cpu_->download(from, first, values);
    }
    [[nodiscard]] Memory memory() const override { return cpu_->memory(); }
    [[nodiscard]] ArithmeticFingerprint describe() const override { return cpu_->describe(); }
    [[nodiscard]] ThreadPool& threads() override { return cpu_->threads(); }

  private:
    class Limited final : public Program {
      public:
        Limited(LimitedCpu& of, std::unique_ptr<Program> own) : of_(of), own_(std::move(own)) {}
        void run(std::int64_t population, std::span<const Binding> inputs,
                 std::span<const Binding> outputs) override {
            of_.populations.push_back(population);
            own_->run(population, inputs, outputs);
        }
        [[nodiscard]] std::int64_t peak_bytes(std::int64_t population) const override {
            return own_->peak_bytes(population);
        }
        [[nodiscard]] std::int64_t max_population() const override { return of_.max_population; }

      private:
        LimitedCpu& of_;
        std::unique_ptr<Program> own_;
    };

    std::unique_ptr<Backend> cpu_ = make_cpu_backend({});
};

std::vector<Genome> some_genomes(const Task& task, std::uint64_t count) {
    std::vector<Genome> genomes;
    for (std::uint64_t id = 0; id < count; ++id)
        genomes.push_back(testing::genome_for(task, small_network, id));
    return genomes;
}

std::vector<const Genome*> pointers_to(const std::vector<Genome>& genomes) {
    std::vector<const Genome*> result;
    for (const Genome& genome : genomes) result.push_back(&genome);
    return result;
}

std::vector<double> fitness_of(Evaluator& evaluator, const std::vector<Genome>& genomes,
                               std::uint64_t round) {
    std::vector<double> fitness;
    for (const Evaluation& result :
         evaluator.evaluate(pointers_to(genomes), {.phase = Phase::train, .round = round}))
        fitness.push_back(result.fitness);
    return fitness;
}

TEST(BackendLimits, ARunHasNoMoreIndividualsThanItsProgramTakes) {
    const auto task = testing::standard_task(drawn_rows);
    const std::vector<Genome> genomes = some_genomes(*task, 30);
    LimitedCpu backend;
    Evaluator evaluator(backend, *task, 1);
    const std::vector<double> together = fitness_of(evaluator, genomes, 0);
    EXPECT_EQ(backend.populations, (std::vector<std::int64_t>{30}));
    backend.populations.clear();
    backend.max_population = 7;
    EXPECT_EQ(fitness_of(evaluator, genomes, 0), together);
    EXPECT_EQ(backend.populations, (std::vector<std::int64_t>{7, 7, 7, 7, 2}));
    EXPECT_EQ(evaluator.counters().memory_splits, 0U) << "memory had room";
}

TEST(BackendLimits, DrawsThatCameInPartAreThoseOfNoRound) {
    const auto task = testing::standard_task(drawn_rows);
    const std::vector<Genome> one = some_genomes(*task, 1);
    LimitedCpu backend;
    Evaluator evaluator(backend, *task, 1);
    const std::vector<double> first = fitness_of(evaluator, one, 0);
    backend.fails = true;
    EXPECT_THROW((void)fitness_of(evaluator, one, 1), OutOfMemoryError);
    EXPECT_EQ(fitness_of(evaluator, one, 0), first);
    EXPECT_NE(fitness_of(evaluator, one, 1), first);
}

TEST(BackendLimits, AnOrderThatCameInPartIsThatOfNoRound) {
    const auto task = testing::standard_task(drawn_rows);
    const std::vector<Genome> one = some_genomes(*task, 1);
    const Individuals individuals(pointers_to(one));
    LearningSettings settings;
    settings.mode = LearningMode::lamarckian;
    settings.steps = 3;
    settings.batch = 8;
    LimitedCpu backend;
    Learner learner(backend, *task, 1, settings);
    const auto first = learner.learn(individuals.pointers, 0);
    backend.fails = true;
    EXPECT_THROW((void)learner.learn(individuals.pointers, 1), OutOfMemoryError);
    EXPECT_EQ(learner.learn(individuals.pointers, 0), first);
    EXPECT_NE(learner.learn(individuals.pointers, 1), first);
}

}  // namespace
}  // namespace cambrian::evolve
