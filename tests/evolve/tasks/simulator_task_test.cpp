#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view recurrent_net =
    R"({"layers": [{"type": "rnn", "hidden": 3}, {"type": "dense"}]})";
constexpr std::string_view gated_net =
    R"({"layers": [{"type": "gru", "hidden": 5}, {"type": "dense"}]})";
constexpr std::string_view plain_net = R"({"layers": [{"type": "dense", "activation": "tanh"}]})";
constexpr TaskSignature worlds{.observations = 2, .outputs = 1, .time = true};
constexpr std::int64_t steps = 4;

/// What network `n` sees in world `w` at a step.
std::vector<float> observation(std::size_t n, std::size_t w, std::int64_t step) {
    const auto x = static_cast<float>(100 * n + 10 * w) + static_cast<float>(step);
    return {std::sin(x), std::cos(2.0F * x)};
}

std::vector<float> observations(std::size_t networks, std::size_t batch, std::int64_t step) {
    std::vector<float> all;
    for (std::size_t n = 0; n < networks; ++n)
        for (std::size_t w = 0; w < batch; ++w) {
            const std::vector<float> one = observation(n, w, step);
            all.insert(all.end(), one.begin(), one.end());
        }
    return all;
}

/// The last output of a network over a sequence of one world.
double last_output(const Genome& genome, std::size_t network, std::size_t world,
                   std::int64_t first_step) {
    std::vector<float> rows;
    for (std::int64_t step = first_step; step < steps; ++step) {
        const std::vector<float> one = observation(network, world, step);
        rows.insert(rows.end(), one.begin(), one.end());
    }
    const auto backend = make_cpu_backend({});
    return static_cast<double>(infer(*backend, genome, rows, 1, steps - first_step).back());
}

std::vector<Genome> mixed(const Task& task) {
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 9; ++i)
        genomes.push_back(testing::genome_for(
            task, i % 3 == 0 ? recurrent_net : (i % 3 == 1 ? gated_net : plain_net), i));
    return genomes;
}

std::vector<double> fitness_of(const Task& task, const std::vector<Genome>& genomes,
                               Family family) {
    const auto backend = make_cpu_backend({});
    std::vector<double> fitness;
    for (const Evaluation& one :
         Evaluator(*backend, task, 1, family).evaluate(testing::pointers_to(genomes), {}))
        fitness.push_back(one.fitness);
    return fitness;
}

class SimulatorTask : public ::testing::TestWithParam<Family> {};

TEST_P(SimulatorTask, NetworksCarryTheirStateInEachWorld) {
    const auto task = make_simulator_task("worlds", worlds, [](Population& population, auto&) {
        std::vector<float> outputs;
        for (std::int64_t step = 0; step < steps; ++step)
            outputs = population.step(observations(population.size(), 2, step), 2);
        std::vector<double> fitness;
        for (std::size_t n = 0; n < population.size(); ++n)
            fitness.push_back(static_cast<double>(outputs[2 * n] + 10.0F * outputs[2 * n + 1]));
        return fitness;
    });
    const std::vector<Genome> genomes = mixed(*task);
    const std::vector<double> fitness = fitness_of(*task, genomes, GetParam());
    for (std::size_t n = 0; n < genomes.size(); ++n)
        EXPECT_NEAR(fitness[n],
                    last_output(genomes[n], n, 0, 0) + 10.0 * last_output(genomes[n], n, 1, 0),
                    1e-5)
            << n;
    // Nobody's fitness depends on who else is there.
    EXPECT_EQ(fitness_of(*task, {genomes[0]}, GetParam())[0], fitness[0]);
}

TEST_P(SimulatorTask, WorldsAreResetOneByOneAndTogether) {
    const auto task = make_simulator_task("worlds", worlds, [](Population& population, auto&) {
        (void)population.step(observations(population.size(), 3, 7), 3);
        population.reset();
        std::vector<float> outputs;
        for (std::int64_t step = 0; step < steps; ++step) {
            // The second world of each network begins anew before the step 2.
            std::vector<std::uint8_t> marks(2 * population.size());
            for (std::size_t n = 0; n < population.size(); ++n) marks[2 * n + 1] = 1;
            if (step == 2) population.reset(marks);
            outputs = population.step(observations(population.size(), 2, step), 2);
        }
        std::vector<double> fitness;
        for (std::size_t n = 0; n < population.size(); ++n)
            fitness.push_back(static_cast<double>(outputs[2 * n] + 10.0F * outputs[2 * n + 1]));
        return fitness;
    });
    const std::vector<Genome> genomes = mixed(*task);
    const std::vector<double> fitness = fitness_of(*task, genomes, GetParam());
    for (std::size_t n = 0; n < genomes.size(); ++n)
        EXPECT_NEAR(fitness[n],
                    last_output(genomes[n], n, 0, 0) + 10.0 * last_output(genomes[n], n, 1, 2),
                    1e-5)
            << n;
}

INSTANTIATE_TEST_SUITE_P(Families, SimulatorTask,
                         ::testing::Values(Family::graph, Family::interpreted),
                         [](const auto& instance) {
                             return instance.param == Family::graph ? "graph" : "interpreted";
                         });

TEST(SimulatorTaskInput, RefusesWrongSizes) {
    const auto run = [](const std::function<void(Population&)>& use) {
        const auto task =
            make_simulator_task("worlds", worlds, [&use](Population& population, auto&) {
                use(population);
                return std::vector<double>(population.size());
            });
        (void)fitness_of(*task, {testing::genome_for(*task, plain_net)}, Family::graph);
    };
    EXPECT_THAT(testing::message_of<ShapeError>([&] {
                    run([](Population& all) { (void)all.step(std::vector<float>{1, 2, 3}, 2); });
                }),
                HasSubstr("was given 3 values for a step in 2 worlds"));
    EXPECT_THAT(testing::message_of<ShapeError>([&] {
                    run([](Population& all) {
                        (void)all.step(std::vector<float>{1, 2}, 1);
                        (void)all.step(std::vector<float>{1, 2, 3, 4}, 2);
                    });
                }),
                HasSubstr("call reset()"));
    EXPECT_THAT(testing::message_of<ShapeError>([&] {
                    run([](Population& all) {
                        (void)all.step(std::vector<float>{1, 2}, 1);
                        all.reset(std::vector<std::uint8_t>{1, 1});
                    });
                }),
                HasSubstr("2 marks"));
}

TEST(SimulatorTaskInput, TellsTheRoundAndWhatItIsFor) {
    HostRound seen;
    const auto task = make_simulator_task(
        "mine", {.observations = 1, .outputs = 1, .stochastic = true, .validates = true},
        [&seen](Population& population, const HostRound& round) {
            seen = round;
            return std::vector<double>(population.size());
        });
    EXPECT_EQ(task->type(), "mine");
    EXPECT_TRUE(task->signature().host && task->signature().stochastic);
    const auto backend = make_cpu_backend({});
    const Genome genome = testing::genome_for(*task, plain_net);
    const std::vector<const Genome*> one{&genome};
    (void)Evaluator(*backend, *task, 17).evaluate(one, {Phase::validation, 5});
    EXPECT_EQ(seen.phase, Phase::validation);
    EXPECT_EQ(seen.seed, 17U);
    EXPECT_EQ(seen.round, 5U);
}

}  // namespace
}  // namespace cambrian::evolve
