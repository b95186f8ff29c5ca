#include "cambrian/engine/network/observe/observer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/support/network_passes.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view prefix = "watched.";

Tensor codes(ValueType type, const std::vector<std::int32_t>& values) {
    return {type, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()}};
}

NetworkOperands operands_of(Graph& graph, const Network& network) {
    return {.weights = graph.input("weights", ValueType::real, {network.weight_count()}),
            .activations = graph.constant(codes(ValueType::integer, network.activation_codes())),
            .enabled = graph.constant(codes(ValueType::boolean, network.enabled_flags()))};
}

/// A pass over sequences, watched or not, whose output is the answers; of the half sum of their
/// squares the gradients are captured.
Graph pass_of(const Network& network, const Shape& shape, bool watched) {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, shape);
    const NetworkOperands operands = operands_of(graph, network);
    const Var y = watched ? WatchedNetwork(network, prefix).sequence(x, operands)
                          : network.sequence(x, operands);
    graph.output(y);
    if (watched) capture_watched_gradients(sum_all(square(y)) * 0.5, prefix);
    return graph;
}

std::vector<Tensor> inputs_of(const Network& network, const std::vector<float>& weights,
                              const Tensor& x) {
    return {x, Tensor(ValueType::real, {network.weight_count()}, {weights.begin(), weights.end()})};
}

std::vector<Observation> observed(const Network& network, const std::vector<float>& weights,
                                  const Tensor& x) {
    const ObservedGraph graph(pass_of(network, x.shape, true), network, prefix);
    const auto backend = make_reference_backend(Precision::f64);
    return graph.read(1, 1, evaluate(*backend, graph.graph(), 1, inputs_of(network, weights, x)));
}

/// The statistics of elements, counted one by one.
Observation expected(const std::vector<double>& elements) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    Observation result{.max = -infinity, .min = infinity};
    for (const double x : elements) {
        ++result.count;
        result.active += std::abs(x) > 1e-6 ? 1.0 : 0.0;
        if (!std::isfinite(x)) {
            ++result.not_finite;
            continue;
        }
        result.mean += x;
        result.max = std::max(result.max, x);
        result.min = std::min(result.min, x);
    }
    result.mean /= static_cast<double>(result.count - result.not_finite);
    result.active /= static_cast<double>(result.count);
    return result;
}

void expect_statistics(const Observation& is, const std::vector<double>& elements) {
    const Observation should = expected(elements);
    EXPECT_NEAR(is.mean, should.mean, 1e-9);
    EXPECT_EQ(is.max, should.max);
    EXPECT_EQ(is.min, should.min);
    EXPECT_DOUBLE_EQ(is.active, should.active);
    EXPECT_EQ(is.count, should.count);
    EXPECT_EQ(is.not_finite, should.not_finite);
}

Network relu_network() {
    return Network(test::blueprint_of(R"({"grid": {"cols": 2, "layers_per_cell": 2}, "layers": [
        {"type": "dense", "out": 6, "activation": "relu"},
        {"type": "rms_norm", "enabled": false, "at": [0, 0, 1, 0]}, {"type": "dense"}]})",
                                      4, 3));
}

TEST(Observation, IsWhatTheCapturedValuesAre) {
    const Network network = relu_network();
    const std::vector<float> weights = test::some_weights(network);
    const Tensor x = test::some_rows({5, 2, 4});
    const Graph graph = pass_of(network, x.shape, true);
    const std::vector<std::string> names = capture_names(graph);
    EXPECT_THAT(names,
                testing::UnorderedElementsAre("watched.slot.0", "watched.slot.2", "watched.head",
                                              "watched.slot.0.gradient", "watched.slot.2.gradient",
                                              "watched.head.gradient"));
    const auto values = evaluate(*make_reference_backend(Precision::f64),
                                 with_captures(graph, names), 1, inputs_of(network, weights, x));
    const std::vector<Observation> all = observed(network, weights, x);
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(all[2].place, "slot 2 [0 0 1 0]");
    EXPECT_EQ(all[2].layer, "rms_norm");
    EXPECT_EQ(all[4].place, "head");
    for (const Observation& observation : all) {
        std::string name = watched_name(prefix, observation.slot, 4);
        if (observation.direction == Direction::gradient) name += ".gradient";
        const auto index = std::ranges::find(names, name) - names.begin();
        SCOPED_TRACE(name);
        expect_statistics(observation, values[1 + static_cast<std::size_t>(index)].elements);
    }
    // The gradient of half a sum of squares with respect to the answers is the answers.
    expect_statistics(all[5], values[0].elements);
    EXPECT_LT(all[0].active, 1.0);
}

TEST(Observation, CountsWhatIsNotFiniteAndLeavesItOut) {
    const Network network(test::blueprint_of(R"({"layers": [{"type": "dense", "out": 3,
        "bias": false}, {"type": "dense"}]})",
                                             1, 1));
    std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    weights[0] = std::numeric_limits<float>::infinity();
    Tensor x(ValueType::real, {1, 2, 1}, {2.0, -3.0});
    expect_statistics(observed(network, weights, x)[0],
                      {std::numeric_limits<double>::infinity(), 2.0, 2.0,
                       -std::numeric_limits<double>::infinity(), -3.0, -3.0});
    const Observation nothing = observed(network, weights, x)[2];
    EXPECT_EQ(nothing.not_finite, nothing.count);
    EXPECT_EQ(nothing.mean, 0.0);
    EXPECT_EQ(nothing.max, 0.0);
}

TEST(Observation, AddsUpManyElements) {
    const Network network(test::blueprint_of(R"({"layers": [{"type": "dense", "out": 1,
        "bias": false}, {"type": "dense"}]})",
                                             1, 1));
    const std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    Tensor x(ValueType::real, {4096, 1, 1}, std::vector<double>(4096, 1.0));
    x.elements[0] = 0x1p24;  // 2^24 + 1 is 2^24 in f32.
    const ObservedGraph graph(pass_of(network, x.shape, true), network, prefix);
    const auto backend = make_cpu_backend({});
    const std::vector<Observation> all =
        graph.read(1, 1, evaluate(*backend, graph.graph(), 1, inputs_of(network, weights, x)));
    EXPECT_NEAR(all[0].mean, 4097.0, 0.02);
    EXPECT_EQ(all[0].active, 1.0);
}

TEST(Observation, SeesEveryStepOfAScanForward) {
    const Network network(test::blueprint_of(R"({"layers": [{"type": "dense", "out": 3},
        {"type": "gru", "hidden": 4}, {"type": "dense"}],
        "links": [{"source": 1, "target": 0, "kind": "backward"}]})",
                                             2, 1));
    const std::vector<float> weights = test::some_weights(network);
    const Tensor x = test::some_rows({3, 5, 2});
    const std::vector<Observation> all = observed(network, weights, x);
    ASSERT_EQ(all.size(), 3U);
    for (const Observation& observation : all) EXPECT_EQ(observation.direction, Direction::forward);
    EXPECT_EQ(all[1].count, 5 * 3 * 4);
    expect_statistics(all[2], test::run_sequence(network, weights, x).elements);
}

TEST(Observation, SeesGradientsOfLayersThatTakeWholeSequences) {
    const Network network(test::blueprint_of(R"({"layers": [{"type": "mamba", "state": 2},
        {"type": "gru", "hidden": 4}, {"type": "dense"}]})",
                                             2, 1));
    const std::vector<float> weights = test::some_weights(network);
    const std::vector<Observation> all = observed(network, weights, test::some_rows({3, 5, 2}));
    ASSERT_EQ(all.size(), 6U);
    EXPECT_EQ(all[3].direction, Direction::gradient);
    EXPECT_EQ(all[3].count, 3 * 5 * 4);
    EXPECT_GT(all[3].active, 0.5);
}

TEST(Observation, ChangesNoNodeOfAPass) {
    const Network network = relu_network();
    const Shape shape{5, 2, 4};
    Graph graph;
    const Var x = graph.input("x", ValueType::real, shape);
    graph.output(WatchedNetwork(network, prefix).sequence(x, operands_of(graph, network)));
    const Graph plain = pass_of(network, shape, false);
    ASSERT_EQ(graph.nodes().size(), plain.nodes().size());
    EXPECT_TRUE(plain.captures().empty());
    const std::vector<float> weights = test::some_weights(network);
    const auto inputs = inputs_of(network, weights, test::some_rows({5, 2, 4}));
    const auto backend = make_cpu_backend({});
    EXPECT_EQ(evaluate(*backend, graph, 1, inputs)[0].elements,
              evaluate(*backend, plain, 1, inputs)[0].elements);
    EXPECT_THROW((void)WatchedNetwork(network, prefix).sequence(x, operands_of(graph, network)),
                 ShapeError);
}

/// Keeps what it is told.
class Keeper final : public Observer {
  public:
    void observe(const Observation& observation) override { all.push_back(observation); }
    void finish() override { finished = true; }
    std::vector<Observation> all;
    bool finished = false;
};

Observation about(std::int64_t step, int slot, double mean, double max, double min) {
    return {.step = step,
            .slot = slot,
            .place = "slot 1 [0 0 0 1]",
            .layer = "dense",
            .mean = mean,
            .max = max,
            .min = min,
            .active = 0.25 * mean,
            .count = 8};
}

TEST(Observers, OfWindowsTellMeansAndTrueExtremes) {
    Keeper keeper;
    WindowObserver window(2, keeper);
    window.observe(about(1, 1, -1.0, -0.5, -2.0));
    window.observe(about(1, 2, 1.0, 1.5, 0.5));
    EXPECT_TRUE(keeper.all.empty());
    window.observe(about(2, 1, -2.0, -0.75, -4.0));
    ASSERT_EQ(keeper.all.size(), 1U);
    Observation both = about(2, 1, -1.5, -0.5, -4.0);
    both.steps = 2;
    both.count = 16;
    EXPECT_EQ(keeper.all[0], both);
    window.finish();
    ASSERT_EQ(keeper.all.size(), 2U);
    EXPECT_EQ(keeper.all[1], about(1, 2, 1.0, 1.5, 0.5));
    EXPECT_TRUE(keeper.finished);
}

TEST(Observers, OfWindowsTakeNoExtremesFromWhatHasNone) {
    Keeper keeper;
    WindowObserver window(2, keeper);
    Observation broken = about(1, 1, 0.0, 0.0, 0.0);
    broken.not_finite = broken.count;
    window.observe(broken);
    window.observe(about(2, 1, 3.0, 4.0, 2.0));
    ASSERT_EQ(keeper.all.size(), 1U);
    EXPECT_EQ(keeper.all[0].max, 4.0);
    EXPECT_EQ(keeper.all[0].min, 2.0);
    EXPECT_EQ(keeper.all[0].not_finite, 8);
}

TEST(Observers, WriteLines) {
    std::vector<std::string> lines;
    const LineSink sink = [&](const std::string& line) { lines.push_back(line); };
    Observation observation = about(7, 1, 0.5, 2.0, -1.0);
    observation.not_finite = 3;
    observation.individual = 4;
    ConsoleObserver(sink).observe(observation);
    JsonLinesObserver(sink).observe(observation);
    ASSERT_EQ(lines.size(), 2U);
    for (const char* part : {"step      7", "slot 1 [0 0 0 1]", "dense", "forward", "0.5", "12.50%",
                             "3 of 8 not finite", "individual 4"})
        EXPECT_THAT(lines[0], HasSubstr(part));
    EXPECT_EQ(lines[0].find('\n'), std::string::npos);
    const auto json = nlohmann::json::parse(lines[1]);
    EXPECT_EQ(json["step"], 7);
    EXPECT_EQ(json["place"], "slot 1 [0 0 0 1]");
    EXPECT_EQ(json["direction"], "forward");
    EXPECT_EQ(json["min"], -1.0);
    EXPECT_EQ(json["not_finite"], 3);
}

}  // namespace
}  // namespace cambrian
