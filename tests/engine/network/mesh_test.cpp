#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/engine/train/trainer.hpp"
#include "cambrian/tests/support/network_passes.hpp"
#include "cambrian/tests/support/network_run.hpp"

// Networks whose slots are clocked at once.
namespace cambrian {
namespace {

using test::blueprint_of;
using test::run_sequence;
using test::run_steps;
using test::some_rows;
using test::some_weights;

Network mesh(std::string_view layers, std::int64_t inputs, std::int64_t outputs,
             std::string_view rest = "") {
    return Network(blueprint_of(
        R"({"mode": "mesh", "layers": )" + std::string(layers) + std::string(rest) + "}", inputs,
        outputs));
}

/// One unit each, of weight 1 and no bias.
constexpr std::string_view three_units = R"([
    {"type": "dense", "out": 1, "bias": false}, {"type": "dense", "out": 1, "bias": false},
    {"type": "dense", "out": 1, "bias": false}, {"type": "dense", "out": 1, "bias": false}])";

Tensor impulse(std::int64_t length) {
    Tensor x(ValueType::real, {1, length, 1});
    x.elements[0] = 1.0;
    return x;
}

TEST(Mesh, AValueTakesAStepForEachSlot) {
    const Network network = mesh(three_units, 1, 1);
    const std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    EXPECT_EQ(run_sequence(network, weights, impulse(6)).elements,
              (std::vector<double>{0, 0, 1, 0, 0, 0}));
}

TEST(Mesh, LinksCarryWhatTheirSourceGaveInTheStepBefore) {
    const Network network =
        mesh(three_units, 1, 1,
             R"(, "links": [{"source": "input", "target": 2}, {"source": 0, "target": 0,
                 "kind": "backward"}])");
    std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    // The input reaches slot 2 at once, and slot 0 hears itself.
    EXPECT_EQ(run_sequence(network, weights, impulse(6)).elements,
              (std::vector<double>{1, 0, 1, 1, 1, 1}));
}

TEST(Mesh, OfOneSlotIsAChain) {
    constexpr std::string_view layers =
        R"([{"type": "dense", "out": 5, "activation": "tanh"}, {"type": "dense"}])";
    const Network clocked = mesh(layers, 3, 2);
    const Network chained(blueprint_of(R"({"layers": )" + std::string(layers) + "}", 3, 2));
    const std::vector<float> weights = some_weights(chained);
    const Tensor x = some_rows({2, 4, 3});
    EXPECT_EQ(run_sequence(clocked, weights, x).elements,
              run_sequence(chained, weights, x).elements);
}

TEST(Mesh, AnEmptyResidualAddsTheInputThatMadeItsOwn) {
    const Network network = mesh(R"([{"type": "dense", "out": 1, "bias": false},
        {"type": "dense", "out": 1, "bias": false}, {"type": "residual"}, {"type": "dense",
        "bias": false}])",
                                 1, 1);
    const std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    // Both parts of the sum left slot 0 in the same step.
    EXPECT_EQ(run_sequence(network, weights, impulse(5)).elements,
              (std::vector<double>{0, 0, 2, 0, 0}));
}

/// Slots 0 and 2 of three units, with slot 1 between them as it is given.
Network with_middle(std::string_view middle) {
    return mesh(R"([{"type": "dense", "out": 1, "bias": false}, )" + std::string(middle) +
                    R"(, {"type": "dense", "out": 1, "bias": false},
                    {"type": "dense", "out": 1, "bias": false}])",
                1, 1);
}

TEST(Mesh, ASlotWithoutAClockTakesNoStep) {
    const Network network =
        with_middle(R"({"type": "dense", "out": 1, "bias": false, "clocked": false})");
    const std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    EXPECT_EQ(run_sequence(network, weights, impulse(5)).elements,
              (std::vector<double>{0, 1, 0, 0, 0}));
    EXPECT_EQ(run_steps(network, weights, impulse(5)).elements,
              (std::vector<double>{0, 1, 0, 0, 0}));
}

TEST(Mesh, AnEmptyResidualWithoutAClockAddsWhatIsThereNow) {
    const Network network = with_middle(R"({"type": "residual", "clocked": false})");
    const std::vector<float> weights(static_cast<std::size_t>(network.weight_count()), 1.0F);
    // What slot 0 gives and its input, both of this step.
    EXPECT_EQ(run_sequence(network, weights, impulse(5)).elements,
              (std::vector<double>{0, 2, 0, 0, 0}));
}

TEST(Mesh, ClocksAreKeptByFilesAndAreOfTheStructure) {
    const Network network = with_middle(R"({"type": "rms_norm", "clocked": false})");
    const Blueprint& blueprint = network.blueprint();
    EXPECT_EQ(test::through_archive(blueprint), blueprint);
    EXPECT_EQ(to_json(blueprint)["layers"][1]["clocked"], false);
    EXPECT_FALSE(to_json(blueprint)["layers"][0].contains("clocked"));
    EXPECT_EQ(blueprint_from_json(nlohmann::json(network_section(blueprint))), blueprint);
    Blueprint copy = blueprint;
    copy.slots[1]->clocked = true;
    EXPECT_NE(Network(copy).structure_key(), network.structure_key());
    copy = blueprint;
    copy.mode = NetworkMode::chain;
    EXPECT_THROW(Network{copy}, ShapeError);
}

TEST(Mesh, StepsEqualTheSequence) {
    const Network network =
        mesh(R"([{"type": "gru", "hidden": 4}, {"type": "rms_norm"},
        {"type": "lstm", "hidden": 4}, {"type": "residual"}, {"type": "dense"}])",
             3, 2, R"(, "links": [{"source": 2, "target": 0, "kind": "backward"}])");
    const std::vector<float> weights = some_weights(network);
    const Tensor x = some_rows({2, 6, 3});
    EXPECT_EQ(run_steps(network, weights, x).elements, run_sequence(network, weights, x).elements);
}

TEST(Mesh, IsKeptByFilesAndHasAStructureOfItsOwn) {
    const Blueprint blueprint = mesh(three_units, 1, 1).blueprint();
    Blueprint copy = test::through_archive(blueprint);
    EXPECT_EQ(copy, blueprint);
    EXPECT_EQ(to_json(copy)["mode"], "mesh");
    copy.mode = NetworkMode::chain;
    EXPECT_NE(Network(copy).structure_key(), Network(blueprint).structure_key());
}

/// Bits, and the same ones two steps later.
Samples delayed_bits(std::int64_t rows, std::int64_t length, std::uint64_t seed) {
    Samples samples{Tensor(ValueType::real, {rows, length, 1}),
                    Tensor(ValueType::real, {rows, length, 1})};
    RandomStream rng(random_key(seed, "delayed bits"), 0);
    for (double& x : samples.inputs.elements) x = rng.index(2) == 0 ? -1.0 : 1.0;
    constexpr std::size_t delay = 2;
    const auto width = static_cast<std::size_t>(length);
    for (std::size_t i = 0; i < samples.inputs.elements.size(); ++i)
        if (i % width >= delay) samples.targets.elements[i] = samples.inputs.elements[i - delay];
    return samples;
}

TEST(Mesh, LearnsToCopyWithADelayThroughTime) {
    constexpr std::string_view layers = R"([{"type": "dense", "out": 8, "activation": "tanh"},
        {"type": "dense", "out": 8, "activation": "tanh"},
        {"type": "dense", "out": 8, "activation": "tanh"}, {"type": "dense"}])";
    const Network network = mesh(layers, 1, 1);
    DataSet data;
    data.train = delayed_bits(64, 12, 1);
    data.test = delayed_bits(64, 12, 2);
    data.outputs = 1;
    TrainingSettings settings;
    settings.epochs = 60;
    settings.batch = 16;
    settings.learning_rates = {0.01};
    const auto backend = make_cpu_backend({});
    Trainer trainer(*backend, network, data, settings);
    trainer.run();
    EXPECT_LT(trainer.evaluate(Part::test)[0].loss, 0.01);
}

}  // namespace
}  // namespace cambrian
