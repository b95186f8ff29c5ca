#include "cambrian/engine/train/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/tests/support/all_cases.hpp"

namespace cambrian::targets_test {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

/// CAMBRIAN_RANDOM_NETWORKS asks for more than the quick number.
std::int64_t random_networks() {
    return static_cast<std::int64_t>(test::asked("CAMBRIAN_RANDOM_NETWORKS", 40));
}

constexpr auto chain_rule = TrainingMethod::target_propagation;
constexpr auto difference = TrainingMethod::difference_target_propagation;

json tanh_chain(std::initializer_list<int> widths) {
    json layers = json::array();
    for (const int width : widths)
        layers.push_back({{"type", "dense"}, {"out", width}, {"activation", "tanh"}});
    layers.push_back({{"type", "dense"}});
    return layers;
}

Network network_of(const json& network, std::int64_t inputs, std::int64_t outputs) {
    return Network(blueprint_from_json(network, inputs, outputs));
}

Tensor numbers(const Shape& shape, std::string_view purpose, double scale = 1.0) {
    Tensor result(ValueType::real, shape);
    RandomStream rng(random_key(5, purpose), 0);
    for (double& x : result.elements)
        x = scale * (static_cast<double>(uniform_from_bits(rng.bits())) - 0.5);
    return result;
}

/// Rows, or sequences of which the last step is asked or all are.
DataSet data_of(std::int64_t rows, std::int64_t steps, std::int64_t inputs, std::int64_t outputs,
                bool all_steps = false) {
    DataSet data;
    data.outputs = outputs;
    data.train.inputs =
        numbers(steps == 0 ? Shape{rows, inputs} : Shape{rows, steps, inputs}, "inputs", 3.0);
    data.train.targets =
        numbers(all_steps ? Shape{rows, steps, outputs} : Shape{rows, outputs}, "targets", 2.0);
    return data;
}

/// Every row for so many steps.
DataSet shown_for(const DataSet& data, std::int64_t steps) {
    DataSet result = data;
    const std::int64_t rows = data.train.rows();
    const std::int64_t features = data.train.inputs.shape[1];
    result.train.inputs = Tensor(ValueType::real, {rows, steps, features});
    for (std::int64_t i = 0; i < rows * steps * features; ++i)
        result.train.inputs.elements[static_cast<std::size_t>(i)] =
            data.train.inputs.elements[static_cast<std::size_t>(i / (steps * features) * features +
                                                                i % features)];
    return result;
}

DataSet exclusive_or() {
    DataSet data;
    data.outputs = 1;
    data.train.inputs = Tensor(ValueType::real, {4, 2}, {-1, -1, -1, 1, 1, -1, 1, 1});
    data.train.targets = Tensor(ValueType::real, {4, 1}, {0, 1, 1, 0});
    return data;
}

std::vector<float> after(Backend& backend, const Network& network, const DataSet& data,
                         const TrainingSettings& settings, std::int64_t individual = 0) {
    Trainer trainer(backend, network, data, settings);
    trainer.run();
    return trainer.weights(individual);
}

using Matrix = std::vector<std::vector<double>>;
using Row = std::vector<double>;

/// weight [out, in] and bias [out] out of a vector of weights.
struct DenseLayer {
    Matrix weight;
    Row bias;

    DenseLayer(std::size_t in, std::size_t out, const float*& from)
        : weight(out, Row(in)), bias(out) {
        for (Row& row : weight)
            for (double& w : row) w = static_cast<double>(*from++);
        for (double& b : bias) b = static_cast<double>(*from++);
    }
    Row operator()(const Row& x, bool is_tanh) const {
        Row y = bias;
        for (std::size_t o = 0; o < y.size(); ++o) {
            for (std::size_t i = 0; i < x.size(); ++i) y[o] += weight[o][i] * x[i];
            if (is_tanh) y[o] = std::tanh(y[o]);
        }
        return y;
    }
    /// Moves by −rate · error ⊗ x.
    void learn(double rate, const Row& error, const Row& x) {
        for (std::size_t o = 0; o < bias.size(); ++o) {
            for (std::size_t i = 0; i < x.size(); ++i) weight[o][i] -= rate * error[o] * x[i];
            bias[o] -= rate * error[o];
        }
    }
    void write(std::vector<double>& to) const {
        for (const Row& row : weight) to.insert(to.end(), row.begin(), row.end());
        to.insert(to.end(), bias.begin(), bias.end());
    }
};

/// Difference target propagation by hand, without noise: layers 2 - 3 - 4 - 3 - 1 on one batch.
std::vector<double> by_hand(const TrainingSettings& settings, const DataSet& data,
                            const std::vector<float>& start, const std::vector<float>& inverses) {
    const float* at = start.data();
    std::vector<DenseLayer> layers{{2, 3, at}, {3, 4, at}, {4, 3, at}, {3, 1, at}};
    at = inverses.data();
    std::vector<DenseLayer> inverse{{4, 3, at}, {3, 4, at}};  // Of the second and the third layer.
    const auto rows = static_cast<std::size_t>(data.train.rows());
    for (std::int64_t step = 0; step < settings.epochs; ++step) {
        std::vector<DenseLayer> next = layers;
        std::vector<DenseLayer> next_inverse = inverse;
        for (std::size_t n = 0; n < rows; ++n) {
            const double share = 1.0 / static_cast<double>(rows);
            std::vector<Row> h{
                {data.train.inputs.elements[2 * n], data.train.inputs.elements[2 * n + 1]}};
            for (std::size_t i = 0; i < 3; ++i) h.push_back(layers[i](h.back(), true));
            const double error = layers[3](h[3], false)[0] - data.train.targets.elements[n];
            next[3].learn(settings.learning_rates[0], {2.0 * error * share}, h[3]);
            Row target = h[3];
            for (std::size_t i = 0; i < target.size(); ++i)
                target[i] -= settings.targets.step * 2.0 * error * layers[3].weight[0][i];
            for (std::size_t layer = 3; layer >= 1; --layer) {
                Row local(target.size());
                for (std::size_t i = 0; i < local.size(); ++i)
                    local[i] =
                        share * (h[layer][i] - target[i]) * (1.0 - h[layer][i] * h[layer][i]);
                next[layer - 1].learn(settings.learning_rates[0], local, h[layer - 1]);
                if (layer == 1) break;
                const DenseLayer& g = inverse[layer - 2];
                const Row given_back = g(h[layer], true);
                const Row aimed = g(target, true);
                Row wrong(given_back.size());
                target = h[layer - 1];
                for (std::size_t i = 0; i < target.size(); ++i) {
                    target[i] += aimed[i] - given_back[i];
                    wrong[i] = share * (given_back[i] - h[layer - 1][i]) *
                               (1.0 - given_back[i] * given_back[i]);
                }
                next_inverse[layer - 2].learn(settings.targets.inverse_learning_rate, wrong,
                                              h[layer]);
            }
        }
        layers = next;
        inverse = next_inverse;
    }
    std::vector<double> weights;
    for (const DenseLayer& layer : layers) layer.write(weights);
    return weights;
}

TrainingSettings golden_settings(std::int64_t epochs) {
    return {.epochs = epochs,
            .batch = 4,
            .optimizer = Sgd{},
            .learning_rates = {0.5},
            .method = difference,
            .targets = {.step = 0.7,
                        .inverse_learning_rate = 0.3,
                        .inverse_noise = 0.0,
                        .inverse_activation = Activation::tanh}};
}

TEST(Targets, DifferenceTargetPropagationIsWhatLoopsOfDoublesCompute) {
    const auto backend = make_reference_backend(Precision::f64);
    const Network network = network_of({{"layers", tanh_chain({3, 4, 3})}}, 2, 1);
    const DataSet data = exclusive_or();
    const std::vector<Inverse> inverses = inverses_of(network);
    ASSERT_EQ(inverses.size(), 2U) << "the first layer reads nothing but the port";
    RandomStream stream(random_key(1, "train/inverses"), 0);
    const std::vector<float> inverse_start = initial_weights(inverses, Activation::tanh, stream);
    for (const std::int64_t steps : {1, 2, 20}) {
        const TrainingSettings settings = golden_settings(steps);
        const std::vector<float> start = Trainer(*backend, network, data, settings).weights(0);
        const std::vector<double> expected = by_hand(settings, data, start, inverse_start);
        const std::vector<float> actual = after(*backend, network, data, settings);
        ASSERT_EQ(actual.size(), expected.size());
        for (std::size_t i = 0; i < actual.size(); ++i) {
            EXPECT_NEAR(static_cast<double>(actual[i]), expected[i], 1e-6) << steps << ' ' << i;
            EXPECT_NE(actual[i], start[i]) << steps << ' ' << i;
        }
        // The devices' arithmetic follows.
        const auto cpu = make_cpu_backend({});
        EXPECT_THAT(after(*cpu, network, data, settings),
                    testing::Pointwise(testing::FloatNear(1e-5F), actual));
    }
}

TEST(Targets, AMeshShownARowForAsManyStepsAsItHasSlotsLearnsAsItsChain) {
    const auto backend = make_reference_backend(Precision::f64);
    const DataSet data = exclusive_or();
    const json layers = tanh_chain({3, 4, 3});
    const Network chain = network_of({{"layers", layers}}, 2, 1);
    const Network mesh = network_of({{"layers", layers}, {"mode", "mesh"}}, 2, 1);
    for (const TrainingMethod method : {chain_rule, difference}) {
        TrainingSettings settings = golden_settings(5);
        settings.method = method;
        const std::vector<float> expected = after(*backend, chain, data, settings);
        // The first value is through after 3 steps; what comes before it answers nothing.
        for (const std::int64_t steps : {3, 5})
            EXPECT_THAT(after(*backend, mesh, shown_for(data, steps), settings),
                        testing::Pointwise(testing::FloatNear(1e-6F), expected))
                << name(method) << ' ' << steps;
    }
}

/// What a step at rate 1 takes off the weights.
std::vector<double> first_step(Backend& backend, const Network& network, const DataSet& data,
                               TrainingMethod method, double& loss) {
    TrainingSettings settings{.epochs = 1,
                              .batch = data.train.rows(),
                              .optimizer = Sgd{},
                              .learning_rates = {1.0},
                              .method = method};
    if (method != TrainingMethod::gradient) settings.targets.step = 1.0;
    Trainer trainer(backend, network, data, settings);
    const std::vector<float> start = trainer.weights(0);
    loss = trainer.run_epoch()->individuals[0].train.loss;
    const std::vector<float> end = trainer.weights(0);
    std::vector<double> change;
    for (std::size_t i = 0; i < end.size(); ++i)
        change.push_back(static_cast<double>(end[i]) - static_cast<double>(start[i]));
    return change;
}

TEST(Targets, OfRandomNetworksByTheChainRuleHaveTheGradientOfTheLoss) {
    const auto backend = make_reference_backend(Precision::f64);
    int compared = 0;
    int meshes = 0;
    for (std::int64_t seed = 1; seed <= random_networks(); ++seed) {
        const bool time = seed % 2 == 0;
        const Network network(build(RandomNetwork{.seed = seed, .max_layers = 5},
                                    {.input_features = 6, .output_features = 2, .time = time}));
        const DataSet data = data_of(5, time ? 4 : 0, 6, 2, time && seed % 4 == 0);
        double loss = 0.0;
        double loss_of_targets = 0.0;
        std::vector<double> expected;
        std::vector<double> actual;
        try {
            expected = first_step(*backend, network, data, TrainingMethod::gradient, loss);
            actual = first_step(*backend, network, data, chain_rule, loss_of_targets);
        } catch (const ShapeError& error) {
            EXPECT_THAT(error.what(), HasSubstr("batch_norm cannot be trained")) << seed;
            continue;
        }
        // Noise of a network that is unrolled is other noise than that of one which is scanned.
        if (std::abs(loss - loss_of_targets) > 1e-9 * std::abs(loss)) {
            EXPECT_TRUE(network.stateful()) << seed;
            continue;
        }
        ++compared;
        meshes += network.blueprint().mode == NetworkMode::mesh ? 1 : 0;
        for (std::size_t i = 0; i < actual.size(); ++i)
            ASSERT_NEAR(actual[i], expected[i], 2e-6 * (1.0 + std::abs(expected[i])))
                << seed << ' ' << i << ' ' << loss;
    }
    EXPECT_GE(compared, random_networks() / 2);
    EXPECT_GE(meshes, random_networks() / 10);
}

TEST(Targets, OfRandomNetworksByLearnedInversesTeachEveryKindOfLayer) {
    const auto backend = make_cpu_backend({});
    int trained = 0;
    for (std::int64_t seed = 1; seed <= random_networks(); ++seed) {
        const bool time = seed % 2 == 0;
        const Network network(build(RandomNetwork{.seed = seed, .max_layers = 4},
                                    {.input_features = 6, .output_features = 2, .time = time}));
        const DataSet data = data_of(5, time ? 3 : 0, 6, 2);
        TrainingSettings settings{
            .epochs = 2, .batch = 5, .learning_rates = {1e-3}, .method = difference};
        try {
            Trainer trainer(*backend, network, data, settings);
            trainer.run();
            ++trained;
            for (const float weight : trainer.weights(0))
                EXPECT_TRUE(std::isfinite(weight)) << seed;
        } catch (const ShapeError& error) {
            EXPECT_THAT(error.what(), HasSubstr("batch_norm cannot be trained")) << seed;
        }
    }
    EXPECT_GE(trained, random_networks() / 2);
}

TEST(Targets, OfLinksAndEmptyResidualsReachAllThatIsRead) {
    // Slot 2 adds what slot 1 took; slots 0 and 1 are read twice.
    const json network{{"layers",
                        {{{"type", "dense"}, {"out", 3}, {"activation", "tanh"}},
                         {{"type", "dense"}, {"out", 3}, {"activation", "tanh"}},
                         {{"type", "residual"}},
                         {{"type", "dense"}, {"out", 4}, {"activation", "tanh"}},
                         {{"type", "dense"}}}},
                       {"links", {{{"from", 0}, {"to", 3}}, {{"from", 1}, {"to", "head"}}}}};
    const Network built = network_of(network, 2, 1);
    const std::vector<Inverse> inverses = inverses_of(built);
    ASSERT_EQ(inverses.size(), 3U);
    EXPECT_EQ(inverses[0].read, 3);
    EXPECT_EQ(inverses[1].read, 6) << "what slot 1 gives and what it took";
    EXPECT_EQ(inverses[2].read, 6) << "what slot 2 gives, and slot 0 by the link";
    EXPECT_EQ(inverses[2].given, 4);
    const auto backend = make_cpu_backend({});
    TrainingSettings settings = golden_settings(3);
    settings.targets.step = 0.1;
    const DataSet data = exclusive_or();
    Trainer trainer(*backend, built, data, settings);
    const std::vector<float> start = trainer.weights(0);
    const std::vector<SlotAim> aims = trainer.run_epoch()->individuals[0].aims;
    ASSERT_EQ(aims.size(), 4U);
    for (const SlotAim& aim : aims) {
        EXPECT_GT(aim.gap, 0.0) << aim.slot;
        EXPECT_GT(aim.budget, 0.5) << aim.slot;
        EXPECT_LE(aim.budget, 1.0 + 1e-6) << aim.slot;
    }
    trainer.run();
    const std::vector<float> end = trainer.weights(0);
    for (std::size_t i = 0; i < end.size(); ++i) EXPECT_NE(end[i], start[i]) << i;
}

TEST(Targets, ASlotThatIsPassedByHandsItsTargetOn) {
    json layers = tanh_chain({3, 3, 3});
    json shorter = tanh_chain({3, 3});
    layers[1]["enabled"] = false;
    const auto backend = make_reference_backend(Precision::f64);
    const Network with = network_of({{"layers", layers}}, 2, 1);
    const Network without = network_of({{"layers", shorter}}, 2, 1);
    ASSERT_EQ(inverses_of(with).size(), 1U);
    // Both start from the same weights but for the slot between, which stays as it is.
    TrainingSettings settings = golden_settings(3);
    const std::vector<float> short_start =
        Trainer(*backend, without, exclusive_or(), settings).weights(0);
    std::vector<float> start(short_start.begin(), short_start.begin() + 9);
    start.insert(start.end(), 12, 0.25F);
    start.insert(start.end(), short_start.begin() + 9, short_start.end());
    const std::vector<float> expected = after(*backend, without, exclusive_or(), settings);
    settings.initial_weights = start;
    const std::vector<float> actual = after(*backend, with, exclusive_or(), settings);
    for (std::size_t i = 0; i < actual.size(); ++i)
        if (i < 9 || i >= 21)
            EXPECT_EQ(actual[i], expected[i < 9 ? i : i - 12]) << i;
        else
            EXPECT_EQ(actual[i], 0.25F) << i;
}

TEST(Targets, AnInverseSeesWhatItsSlotGivesForReadsWithNoise) {
    const Network network = network_of({{"layers", tanh_chain({4, 3})}}, 2, 1);
    Graph graph;
    const Var weights = graph.input("weights", ValueType::real, Shape{network.weight_count()});
    const std::vector<Var> parts = training_graphs::parts_of(network, weights);
    const Var key = graph.input("key", ValueType::integer, Shape{2});
    const std::int64_t rows = 500;
    const SlotTrace trace = trace_slots(network, MeanSquaredError{}, parts,
                                        {graph.input("x", ValueType::real, Shape{rows, 2}),
                                         graph.input("t", ValueType::real, Shape{rows, 1}), key,
                                         constant(graph, 3.0, ValueType::integer)},
                                        ReadNoise{key, 0.5});
    const auto site = std::ranges::find_if(
        trace.sites, [](const TracedSite& s) { return s.slot == 1 && !s.input; });
    const TracedRead& read = trace.reads[site->reads[0]];
    for (const Var value : {read.value, read.disturbed, site->disturbed}) graph.output(value);
    const auto backend = make_reference_backend(Precision::f64);
    Tensor start = numbers({network.weight_count()}, "weights");
    const std::vector<Tensor> results =
        evaluate(*backend, graph, 1,
                 std::vector<Tensor>{start, Tensor(ValueType::integer, {2}, {7, 8}),
                                     numbers({rows, 2}, "x"), numbers({rows, 1}, "t")});
    double sum = 0.0;
    double squares = 0.0;
    for (std::size_t n = 0; n < static_cast<std::size_t>(rows); ++n) {
        for (std::size_t i = 0; i < 4; ++i) {
            const double noise = results[1].elements[4 * n + i] - results[0].elements[4 * n + i];
            sum += noise;
            squares += noise * noise;
        }
        for (std::size_t o = 0; o < 3; ++o) {
            const double* weight = start.elements.data() + 12 + 4 * o;  // After the first layer.
            double expected = start.elements[12 + 12 + o];
            for (std::size_t i = 0; i < 4; ++i)
                expected += weight[i] * results[1].elements[4 * n + i];
            EXPECT_NEAR(results[2].elements[3 * n + o], std::tanh(expected), 1e-9);
        }
    }
    const double count = 4.0 * static_cast<double>(rows);
    EXPECT_NEAR(sum / count, 0.0, 0.05);
    EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.03);
}

TEST(Targets, AnIndividualDoesNotDependOnTheOthersOrOnThreads) {
    const json dropping{{{"type", "dense"}, {"out", 5}, {"activation", "tanh"}},
                        {{"type", "dropout"}, {"rate", 0.2}},
                        {{"type", "dense"}, {"out", 4}, {"activation", "relu"}},
                        {{"type", "dense"}}};
    for (const bool mesh : {false, true}) {
        const Network network =
            network_of({{"layers", dropping}, {"mode", mesh ? "mesh" : "chain"}}, 3, 2);
        const DataSet data = data_of(20, mesh ? 4 : 0, 3, 2);
        TrainingSettings settings{.epochs = 3,
                                  .batch = 8,
                                  .learning_rates = {0.1, 0.01, 0.0, 0.5},
                                  .clip_norm = 0.5,
                                  .method = difference};
        const auto one_thread = make_cpu_backend({.threads = 1});
        const auto three_threads = make_cpu_backend({.threads = 3});
        Trainer together(*one_thread, network, data, settings);
        together.run();
        Trainer threaded(*three_threads, network, data, settings);
        threaded.run();
        const std::vector<double> rates = settings.learning_rates;
        for (std::size_t i = 0; i < rates.size(); ++i) {
            const std::vector<float> weights = together.weights(static_cast<std::int64_t>(i));
            EXPECT_EQ(threaded.weights(static_cast<std::int64_t>(i)), weights) << i;
            settings.learning_rates = {rates[i]};
            settings.first_individual = i;
            EXPECT_EQ(after(*one_thread, network, data, settings), weights) << i;
        }
        EXPECT_NE(together.weights(0), together.weights(1));
    }
}

TEST(Targets, ATrainingGoesOnInEveryBitWhereItWas) {
    const auto backend = make_cpu_backend({});
    const Network network = network_of({{"layers", tanh_chain({5, 4, 5})}}, 3, 2);
    const DataSet data = data_of(20, 0, 3, 2);
    const TrainingSettings settings{
        .epochs = 4, .batch = 8, .learning_rates = {0.1, 0.01}, .method = difference};
    Trainer whole(*backend, network, data, settings);
    std::vector<EpochReport> reports;
    whole.run([&](const EpochReport& report) { reports.push_back(report); });
    for (const int stop : {0, 1, 4, 7}) {
        Trainer first(*backend, network, data, settings);
        int steps = 0;
        while (const auto report = first.run_epoch([&] { return steps++ < stop; }))
            if (steps > stop) break;
        Trainer second(*backend, network, data, settings);
        second.restore(first.state(), "memory");
        std::vector<EpochReport> rest;
        second.run([&](const EpochReport& report) { rest.push_back(report); });
        for (std::int64_t i = 0; i < 2; ++i) {
            EXPECT_EQ(second.weights(i), whole.weights(i)) << stop;
            const auto at = static_cast<std::size_t>(i);
            for (std::size_t slot = 0; slot < 3; ++slot) {
                EXPECT_EQ(rest.back().individuals[at].aims[slot].gap,
                          reports.back().individuals[at].aims[slot].gap);
                EXPECT_EQ(rest.front().individuals[at].aims[slot].budget,
                          reports[reports.size() - rest.size()].individuals[at].aims[slot].budget);
            }
        }
        EXPECT_EQ(second.state(), whole.state()) << stop;
    }
}

TEST(Targets, BothMethodsLearnExclusiveOrWithThreeHiddenLayersFromTwentyStarts) {
    const auto backend = make_cpu_backend({});
    DataSet data = exclusive_or();
    const json layers = tanh_chain({8, 8, 8});
    for (const TrainingMethod method : {chain_rule, difference})
        for (const bool mesh : {false, true}) {
            const Network network =
                network_of({{"layers", layers}, {"mode", mesh ? "mesh" : "chain"}}, 2, 1);
            TrainingSettings settings{.epochs = 300,
                                      .batch = 4,
                                      .loss = BinaryCrossEntropy{},
                                      .learning_rates = std::vector<double>(20, 0.01),
                                      .method = method};
            if (method == difference) settings.targets.inverse_learning_rate = 0.01;
            const DataSet seen = mesh ? shown_for(data, 3) : data;
            Trainer trainer(*backend, network, seen, settings);
            trainer.run();
            for (const Score& score : trainer.evaluate(Part::train)) {
                EXPECT_EQ(score.accuracy, 1.0) << name(method) << ' ' << mesh;
                EXPECT_LT(score.loss, 0.3) << name(method) << ' ' << mesh;
            }
        }
}

TEST(Targets, WhatIsFrozenStaysWithEveryMethod) {
    const auto backend = make_cpu_backend({});
    const json described{{"layers",
                          {{{"type", "dense"}, {"out", 4}, {"activation", "tanh"}},
                           {{"type", "batch_norm"}},
                           {{"type", "dense"}, {"out", 3}},
                           {{"type", "dense"}}}},
                         {"links", {{{"from", 0}, {"to", 2}}, {{"from", 0}, {"to", "head"}}}}};
    const Network network = network_of(described, 3, 2);
    const DataSet data = data_of(16, 0, 3, 2);
    const auto moved = [&](TrainingMethod method, std::vector<std::string> frozen) {
        const TrainingSettings settings{.epochs = 3,
                                        .batch = 8,
                                        .optimizer = Adam{.weight_decay = 0.1, .decoupled = true},
                                        .learning_rates = {0.01},
                                        .method = method,
                                        .frozen = std::move(frozen)};
        Trainer trainer(*backend, network, data, settings);
        const std::vector<float> start = trainer.weights(0);
        trainer.run();
        const std::vector<float> end = trainer.weights(0);
        std::vector<std::string> names;
        for (std::size_t range = 0; range < network.weights().size(); ++range) {
            const WeightRange& weights = network.weights()[range];
            for (std::int64_t i = weights.offset; i < weights.offset + weights.count; ++i)
                if (start[static_cast<std::size_t>(i)] != end[static_cast<std::size_t>(i)]) {
                    names.push_back(network.weight_name(range));
                    break;
                }
        }
        return names;
    };
    for (const TrainingMethod method : {TrainingMethod::gradient, chain_rule, difference}) {
        EXPECT_THAT(moved(method, {"hidden"}),
                    ElementsAre("head.weight", "head.bias", "link.1.projection"))
            << name(method);
        EXPECT_THAT(moved(method, {"slot.1", "head", "link.1", "slot.2.bias"}),
                    ElementsAre("slot.0.weight", "slot.0.bias", "slot.2.weight", "link.0.gain"))
            << name(method);
    }
}

TEST(Targets, RefuseWhatTheyCannotDo) {
    const auto backend = make_cpu_backend({});
    const auto refusal = [&](const json& network, const DataSet& data, TrainingSettings settings) {
        try {
            const Trainer trainer(*backend, network_of(network, 3, 2), data, std::move(settings));
        } catch (const Error& error) {
            return std::string(error.what());
        }
        return std::string("accepted");
    };
    const json plain{{"layers", tanh_chain({3, 3})}};
    json mesh = plain;
    mesh["mode"] = "mesh";
    const DataSet rows = data_of(8, 0, 3, 2);
    EXPECT_EQ(refusal(plain, rows, {.method = difference}), "accepted");
    EXPECT_THAT(refusal(mesh, rows, {.method = difference}), HasSubstr("rows have no time"));
    EXPECT_THAT(refusal(mesh, data_of(8, 1000, 3, 2), {.method = chain_rule}),
                HasSubstr("training.method needs the network unrolled over 1000 steps"));
    EXPECT_EQ(refusal(plain, data_of(8, 1000, 3, 2), {.method = chain_rule}), "accepted");
    const json norm{{"type", "batch_norm"}};
    mesh["layers"].insert(mesh["layers"].begin() + 1, norm);
    EXPECT_THAT(refusal(mesh, data_of(8, 4, 3, 2), {.method = difference}),
                HasSubstr("a batch_norm cannot be trained in a network that reads its previous"));
    EXPECT_THAT(refusal(mesh, data_of(8, 4, 3, 2), {}),
                HasSubstr("(a backward link or mode mesh makes it so"));
    EXPECT_THAT(refusal(plain, rows, {.method = chain_rule, .targets = {.step = 0.0}}),
                HasSubstr("training.targets.step is 0"));
    EXPECT_THAT(
        refusal(plain, rows, {.method = difference, .targets = {.inverse_learning_rate = -1.0}}),
        HasSubstr("training.targets.inverse_learning_rate is -1"));
    EXPECT_THAT(refusal(plain, rows, {.method = difference, .targets = {.inverse_noise = -1.0}}),
                HasSubstr("training.targets.inverse_noise is -1"));
    EXPECT_THAT(refusal(plain, rows, {.targets = {.step = 0.2}}),
                HasSubstr("the method gradient has no targets"));
    EXPECT_THAT(refusal(plain, rows, {.frozen = {"slot.7"}}),
                HasSubstr("training.frozen names \"slot.7\""));
    EXPECT_THAT(refusal(plain, rows, {.frozen = {"hidden", "head"}}),
                HasSubstr("nothing is left to learn"));
}

}  // namespace
}  // namespace cambrian::targets_test
