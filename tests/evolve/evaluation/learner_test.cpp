#include "cambrian/evolve/evaluation/learner.hpp"

#include <cmath>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/packed_weights.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view two_layers =
    R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"}, {"type": "dense"}]})";
constexpr std::string_view one_layer = R"({"layers": [{"type": "dense"}]})";
constexpr std::string_view blobs =
    R"({"type": "dataset", "source": {"type": "blobs", "features": 3, "classes": 4, "rows": 60},
        "loss": {"type": "cross_entropy"}, "split": {"shuffle": false}})";

std::vector<std::vector<float>> learned(const Task& task, const std::vector<Genome>& genomes,
                                        const LearningSettings& settings, std::uint64_t round = 0) {
    const auto backend = make_cpu_backend({});
    return Learner(*backend, task, 1, settings)
        .learn(Individuals(testing::pointers_to(genomes)).pointers, round);
}

double loss_of(const Task& task, Genome genome, std::vector<float> weights) {
    genome.weights = std::move(weights);
    const auto backend = make_cpu_backend({});
    const std::vector<const Genome*> one{&genome};
    return -Evaluator(*backend, task, 1).evaluate(one, {})[0].fitness;
}

LearningSettings settings_with(std::int64_t steps, double rate) {
    LearningSettings settings;
    settings.mode = LearningMode::lamarckian;
    settings.steps = steps;
    settings.batch = 1000;
    settings.learning_rate = rate;
    return settings;
}

/// What a training makes of a network in as many steps, each of all rows.
std::vector<float> trained(const Task& task, const Genome& genome,
                           const LearningSettings& settings) {
    const auto backend = make_cpu_backend({});
    const TrainingSettings training{.epochs = settings.steps,
                                    .batch = settings.batch,
                                    .loss = task.learning()->loss,
                                    .optimizer = settings.optimizer,
                                    .learning_rates = {settings.learning_rate},
                                    .clip_norm = settings.clip_norm,
                                    .initial_weights = genome.weights};
    Trainer trainer(*backend, Network(genome.blueprint), task.learning()->data, training);
    trainer.run();
    return trainer.weights(0);
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected,
                 std::string_view of) {
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 2e-5F) << of << ' ' << i;
}

TEST(Learner, OvercomesAShortageInHalves) {
    const auto task = testing::standard_task(blobs);
    std::vector<Genome> genomes;
    for (std::uint64_t id = 0; id < 9; ++id)
        genomes.push_back(testing::genome_for(*task, two_layers, id));
    const LearningSettings settings = settings_with(3, 0.05);
    const Individuals individuals(testing::pointers_to(genomes));
    bool refuse = false;
    int refused = 0;
    const auto backend = make_cpu_backend({.refuse_memory = [&] {
        // Twice: what is refused once is tried again.
        if (!refuse || refused == 2) return false;
        ++refused;
        return true;
    }});
    Learner learner(*backend, *task, 1, settings);
    (void)learner.learn(std::span(individuals.pointers).first(1), 0);
    refuse = true;
    EXPECT_EQ(learner.learn(individuals.pointers, 0), learned(*task, genomes, settings));
    EXPECT_EQ(refused, 2);
}

TEST(Learner, TakesTheStepsOfATraining) {
    const auto task = testing::standard_task(blobs);
    for (const Optimizer& optimizer : {Optimizer(Sgd{.momentum = 0.9}), Optimizer(Adam{}),
                                       Optimizer(RmsProp{.weight_decay = 0.1})}) {
        const Genome genome = testing::genome_for(*task, two_layers, 3);
        LearningSettings settings = settings_with(5, 0.05);
        settings.optimizer = optimizer;
        settings.clip_norm = 0.5;
        expect_near(learned(*task, {genome}, settings)[0], trained(*task, genome, settings),
                    name(optimizer));
    }
}

TEST(Learner, DecayLeavesDisabledLayersAsTheyAreUnlessTheyShareWeights) {
    const auto task = testing::standard_task(blobs);
    const std::string begins = R"({"layers": [{"type": "dense", "out": 4, "activation": "tanh"},
        {"type": "dense", "out": 4}, {"type": "dense", "out": 4, "activation": "tanh")";
    for (const Optimizer& optimizer : {Optimizer(Adam{.weight_decay = 0.5, .decoupled = true}),
                                       Optimizer(Sgd{.momentum = 0.9, .weight_decay = 0.5})}) {
        LearningSettings settings = settings_with(5, 0.05);
        settings.optimizer = optimizer;
        for (const std::string tie : {"", R"(, "tied": "slot.1.weight")"}) {
            std::vector<Genome> genomes(
                4, testing::genome_for(*task, begins + tie + R"(}, {"type": "dense"}]})", 3));
            // One run has all of them.
            for (std::size_t i = 0; i < genomes.size(); ++i) {
                genomes[i].blueprint.slots[1]->enabled = i % 2 == 0;
                genomes[i].blueprint.slots[2]->enabled = i / 2 == 0;
            }
            const auto together = learned(*task, genomes, settings);
            for (std::size_t i = 0; i < genomes.size(); ++i)
                expect_near(together[i], trained(*task, genomes[i], settings),
                            std::string(name(optimizer)) + tie);
        }
    }
}

TEST(Learner, LowersTheLossOfMixedStructuresEachOnItsOwn) {
    const auto task = testing::standard_task(blobs);
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < 8; ++i)
        genomes.push_back(testing::genome_for(*task, i % 2 == 0 ? one_layer : two_layers, i));
    LearningSettings settings = settings_with(30, 0.05);
    settings.batch = 16;
    const auto weights = learned(*task, genomes, settings, 4);
    for (std::size_t i = 0; i < genomes.size(); ++i) {
        EXPECT_LT(loss_of(*task, genomes[i], weights[i]),
                  0.8 * loss_of(*task, genomes[i], genomes[i].weights));
        EXPECT_EQ(weights[i], learned(*task, {genomes[i]}, settings, 4)[0]);
    }
    EXPECT_NE(weights[0], learned(*task, {genomes[0]}, settings, 5)[0]) << "other batches";
}

TEST(Learner, LearnsOnMastersOfWhicheverFormatEachHas) {
    const auto task = testing::standard_task(blobs);
    const LearningSettings settings = settings_with(3, 0.05);
    std::vector<Genome> genomes(3, testing::genome_for(*task, two_layers, 1));
    genomes[1] = with_formats(genomes[1], {.weights = Dtype::int2});
    genomes[2].blueprint.head_formats.weights = Dtype::int8;
    const auto together = learned(*task, genomes, settings);
    for (std::size_t i = 0; i < genomes.size(); ++i)
        EXPECT_EQ(learned(*task, {genomes[i]}, settings)[0], together[i]) << i;
    EXPECT_NE(together[0], together[1]);
    EXPECT_NE(together[0], together[2]);

    // No step: what was finer than the codes is still there.
    EXPECT_EQ(learned(*task, {genomes[1]}, settings_with(1, 0.0))[0], genomes[1].weights);

    // A tensor that stays codes where the network is evaluated.
    Genome large = testing::genome_for(
        *task,
        R"({"layers": [{"type": "dense", "out": 16400, "activation": "tanh"}, {"type": "dense"}],
                   "dtype": "int8"})",
        1);
    EXPECT_TRUE(PackedWeights(Network(large.blueprint)).any());
    EXPECT_LT(loss_of(*task, large, learned(*task, {large}, settings_with(3, 0.001))[0]),
              loss_of(*task, large, large.weights));
}

TEST(Learner, LearnsOnSequencesWithState) {
    const auto task = testing::standard_task(
        R"({"type": "dataset", "source": {"type": "delay", "rows": 40, "steps": 6, "delay": 2}})");
    const Genome genome = testing::genome_for(
        *task, R"({"layers": [{"type": "gru", "hidden": 6}, {"type": "dense"}]})", 2);
    const auto weights = learned(*task, {genome}, settings_with(40, 0.02));
    EXPECT_LT(loss_of(*task, genome, weights[0]), 0.9 * loss_of(*task, genome, genome.weights));
}

TEST(Learner, KeepsTimeConstantsAboveZero) {
    const auto task = testing::standard_task(
        R"({"type": "dataset", "source": {"type": "delay", "rows": 40, "steps": 6, "delay": 2}})");
    const Genome genome = testing::genome_for(
        *task,
        R"({"layers": [{"type": "neurons", "out": 12, "continuous": true}, {"type": "dense"}]})",
        2);
    // The first step of Adam is as long as its rate, up or down.
    const std::vector<float> after = learned(*task, {genome}, settings_with(1, 2.0))[0];
    const Network network(genome.blueprint);
    int stopped = 0;
    for (const WeightRange& range : network.weights())
        for (std::int64_t i = 0; range.parameter.positive && i < range.count; ++i) {
            const float value = after[static_cast<std::size_t>(range.offset + i)];
            EXPECT_GE(value, smallest_positive);
            stopped += value == smallest_positive ? 1 : 0;
        }
    EXPECT_GT(stopped, 0);
}

TEST(Learner, KeepsBuffersAndWeightsWithoutAFiniteGradient) {
    const auto task = testing::standard_task(blobs);
    Genome genome =
        testing::genome_for(*task, R"({"layers": [{"type": "batch_norm"}, {"type": "dense"}]})", 2);
    const Network network(genome.blueprint);
    const std::vector<float> after = learned(*task, {genome}, settings_with(3, 0.1))[0];
    for (const WeightRange& range : network.weights()) {
        const auto at = static_cast<std::size_t>(range.offset);
        if (range.parameter.buffer) {
            EXPECT_EQ(after[at], genome.weights[at]) << range.parameter.name;
        }
    }
    EXPECT_NE(after, genome.weights);
    Genome huge = testing::genome_for(*task, two_layers, 2);
    for (float& weight : huge.weights) weight = 3e38F;
    EXPECT_EQ(learned(*task, {huge}, settings_with(3, 0.1))[0], huge.weights);
}

TEST(Learner, RefusesTasksWithoutSamples) {
    const auto task = testing::standard_task(R"({"type": "cart_pole"})");
    EXPECT_THAT(
        testing::message_of<ConfigError>([&] { check_learning(settings_with(1, 1.0), *task); }),
        HasSubstr("task cart_pole has no samples to learn from"));
    check_learning({}, *task);
}

}  // namespace
}  // namespace cambrian::evolve
