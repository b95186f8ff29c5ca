#include "cambrian/engine/train/targets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/tests/engine/train/targets_support.hpp"

// Trainings by targets beside what they are computed by.
namespace cambrian::targets_support {
namespace {

using nlohmann::json;

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

}  // namespace
}  // namespace cambrian::targets_support
