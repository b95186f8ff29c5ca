#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/variation/variation.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"

// Runs on several queues of a device: beside each other where they may be, with the bits of one
// after another. A software device has one queue, which those of the backend share.
namespace cambrian::test {
namespace {

std::unique_ptr<Backend> backend_of(std::size_t queues, std::int64_t memory_limit = 0) {
    VulkanOptions options = test_vulkan_options();
    options.queues = queues;
    options.memory_limit = memory_limit;
    return make_vulkan_backend(options);
}

class QueuesTest : public ProgramTest {
  protected:
    QueuesTest() { backend_ = backend_of(4); }

    std::int64_t waits() const { return statistics().waits; }
};

TEST_F(QueuesTest, ARunWaitsForWhatItReadsAndForWhoReadsWhatItWrites) {
    const std::int64_t width = 1024;
    const auto program = backend_->compile(small_graph(width));
    const auto x = buffer(numbers(width));
    const auto w = buffer(numbers(width, 0.25F));
    std::array<std::unique_ptr<Buffer>, 4> outputs;
    for (auto& output : outputs) output = backend_->allocate(ValueType::real, width);
    const auto run = [&](std::size_t queue, Buffer& shared, Buffer& own, Buffer& output) {
        const std::int64_t before = waits();
        backend_->use_queue(queue, 4);
        program->run(1, std::vector<Binding>{{&shared}, {&own}}, std::vector<Binding>{{&output}});
        return waits() - before;
    };
    for (std::size_t queue = 0; queue < 3; ++queue)
        EXPECT_EQ(run(queue, *x, *w, *outputs[queue]), queue == 0 ? 0 : 1) << "for the uploads";
    for (std::size_t queue = 0; queue < 3; ++queue)
        EXPECT_EQ(run(queue, *x, *w, *outputs[queue]), 0);
    EXPECT_EQ(run(3, *outputs[0], *outputs[1], *outputs[3]), 2);
    EXPECT_EQ(run(0, *x, *w, *outputs[1]), 2) << "for who wrote it, and who reads it";
    EXPECT_EQ(run(3, *outputs[0], *outputs[1], *outputs[3]), 1);
    const std::vector<float> first = expected_small(numbers(width), numbers(width, 0.25F));
    EXPECT_EQ(reals(*outputs[3]), expected_small(first, first));
    for (const auto& output : {&outputs[1], &outputs[2]}) EXPECT_EQ(reals(**output), first);
}

// Whatever order a device likes: uploads, runs that read and write few buffers, reads.
TEST_F(QueuesTest, GiveTheBitsOfOneQueue) {
    constexpr std::int64_t width = 3000;
    const auto alone = backend_of(1);
    const std::array backends{alone.get(), backend_.get()};
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        std::array<std::unique_ptr<Program>, 2> programs;
        std::array<std::vector<std::unique_ptr<Buffer>>, 2> buffers;
        for (std::size_t i = 0; i < 2; ++i) {
            programs[i] = backends[i]->compile(small_graph(width));
            for (int b = 0; b < 5; ++b) {
                buffers[i].push_back(backends[i]->allocate(ValueType::real, width));
                backends[i]->upload(*buffers[i].back(), 0,
                                    std::span<const float>(numbers(width, 0.1F)));
            }
        }
        RandomStream random(random_key(seed, "test.queues"), 0);
        for (int step = 0; step < 60; ++step) {
            const auto queue = random.index(4);
            const std::array places{random.index(5), random.index(5), random.index(5)};
            const auto what = random.index(8);
            const auto value = static_cast<float>(random.index(100)) * 0.01F;
            std::array<std::vector<float>, 2> read;
            for (std::size_t i = 0; i < 2; ++i) {
                Buffer& to = *buffers[i][places[2]];
                backends[i]->use_queue(queue % backends[i]->queues(), backends[i]->queues());
                if (what == 0) {
                    read[i].resize(width);
                    backends[i]->download(to, 0, std::span<float>(read[i]));
                } else if (what == 1) {
                    const std::vector<float> few(500, value);
                    backends[i]->upload(to, 100, std::span<const float>(few));
                } else if (places[2] != places[0] && places[2] != places[1]) {
                    programs[i]->run(1,
                                     std::vector<Binding>{{buffers[i][places[0]].get()},
                                                          {buffers[i][places[1]].get()}},
                                     std::vector<Binding>{{&to}});
                }
            }
            ASSERT_EQ(read[0], read[1]) << "seed " << seed << ", step " << step;
        }
        for (std::size_t b = 0; b < 5; ++b) {
            std::array<std::vector<float>, 2> read;
            for (std::size_t i = 0; i < 2; ++i) {
                read[i].resize(width);
                backends[i]->download(*buffers[i][b], 0, std::span<float>(read[i]));
            }
            EXPECT_EQ(read[0], read[1]) << "seed " << seed << ", buffer " << b;
        }
    }
}

/// Networks of a few sizes, and what they are evaluated on.
class Flights : public testing::Test {
  protected:
    Flights() {
        const nlohmann::json settings{{"type", "cart_pole"}, {"episodes", 2}, {"steps", 40}};
        task_ = evolve::standard_tasks().make(settings, {});
        for (std::uint64_t i = 0; i < 60; ++i) {
            const nlohmann::json layers = {
                {"layers",
                 {{{"type", "dense"}, {"out", 3 + i % 4}, {"activation", "tanh"}},
                  {{"type", "dense"}}}}};
            RandomStream random(random_key(5, "test.flights"), i);
            individuals_.emplace_back(
                evolve::sample_genome(blueprint_from_json(layers, task_->signature().observations,
                                                          task_->signature().outputs),
                                      random, i));
        }
    }
    /// The fitness of all: a part of them in each flight, as often as there are rounds.
    std::vector<double> fitness(std::size_t queues, std::size_t parts,
                                std::int64_t memory_limit = 0) {
        const auto backend = backend_of(queues, memory_limit);
        evolve::Evaluator evaluator(*backend, *task_, 3, evolve::Family::interpreted);
        std::vector<double> all;
        for (std::uint64_t round = 0; round < 3; ++round) {
            const std::size_t size = individuals_.size() / parts;
            const auto of_part = [&](std::size_t part) {
                std::vector<const evolve::Individual*> pointers;
                for (std::size_t i = 0; i < size; ++i)
                    pointers.push_back(&individuals_[part * size + i]);
                return pointers;
            };
            for (std::size_t part = 0; part < parts; ++part)
                evaluator.start(part, parts, of_part(part), {.round = round}, {.samples = false});
            for (std::size_t part = 0; part < parts; ++part) {
                std::vector<evolve::Evaluation> evaluations(size);
                evaluator.finish(part, evaluations);
                for (const evolve::Evaluation& one : evaluations) all.push_back(one.fitness);
            }
        }
        return all;
    }

    std::unique_ptr<evolve::Task> task_;
    std::vector<evolve::Individual> individuals_;
};

TEST_F(Flights, PopulationsBesideEachOtherHaveTheFitnessOfOneAfterAnother) {
    const std::vector<double> expected = fitness(1, 1);
    EXPECT_EQ(fitness(1, 2), expected);
    EXPECT_EQ(fitness(4, 4), expected);
}

// Temporaries of four queues do not fit, and have to give way to each other.
TEST_F(Flights, ShortMemoryChangesNoFitness) {
    const std::vector<double> expected = fitness(1, 1);
    int fitted = 0;
    int short_of_memory = 0;
    for (std::int64_t limit = 8192; fitted < 2; limit += limit / 4) {
        try {
            EXPECT_EQ(fitness(4, 4, limit), expected) << limit << " bytes";
            ++fitted;
        } catch (const OutOfMemoryError&) {
            ++short_of_memory;
        }
    }
    EXPECT_GT(short_of_memory, 0);
}

}  // namespace
}  // namespace cambrian::test
