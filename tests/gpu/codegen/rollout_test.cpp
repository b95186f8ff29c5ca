#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/tests/engine/support/random_graph.hpp"
#include "cambrian/tests/gpu/codegen/rollout_support.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Whole episodes in one kernel: the bits of the CPU backend.
namespace cambrian {
namespace {

using test::first_difference;
using test::Rollout;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::vector<Tensor> on_cpu(const Rollout& rollout, std::int64_t population) {
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict});
    return evaluate(*backend, rollout.graph(), population, rollout.inputs(population));
}

/// Runs on the device, checks that no step of an episode was a dispatch of its own.
std::vector<Tensor> in_one_kernel(const Rollout& rollout, std::int64_t population) {
    const auto backend = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    std::vector<Tensor> results =
        evaluate(*backend, rollout.graph(), population, rollout.inputs(population));
    EXPECT_LT(vulkan_statistics(*backend).dispatches, 30);
    return results;
}

void expect_equal_bits(const std::vector<Tensor>& expected, const std::vector<Tensor>& found) {
    ASSERT_EQ(expected.size(), found.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(expected[i].shape, found[i].shape);
        EXPECT_EQ(first_difference(expected[i].elements, found[i].elements), -1)
            << "output " << i << " of " << expected[i].shape.text();
    }
}

void expect_the_bits_of_the_cpu(const std::string& network, std::int64_t episodes,
                                std::int64_t steps, std::int64_t population) {
    const Rollout rollout(network, episodes, steps);
    expect_equal_bits(on_cpu(rollout, population), in_one_kernel(rollout, population));
}

/// Largest number of individuals that the tests of whole populations take.
std::int64_t population_of_environment(std::int64_t usual) {
    const char* value = std::getenv("CAMBRIAN_TEST_POPULATION");
    return value == nullptr ? usual : std::atoll(value);
}

TEST(Rollout, PerceptronsWithEveryActivation) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(16), 3, 100, 37);
}

TEST(Rollout, EveryEnvironmentIsOneKernelWithTheBitsOfTheCpu) {
    for (const std::string_view task : {
             R"({"type": "acrobot", "episodes": 2, "steps": 30})",
             R"({"type": "cart_pole", "episodes": 2, "variant": "stanley", "steps": 60})",
             R"({"type": "double_pole", "velocities": false, "fitness": "damping", "steps": 130})",
             R"({"type": "mountain_car", "episodes": 2, "steps": 60})",
             R"({"type": "mountain_car_continuous", "episodes": 2, "steps": 60})",
             R"({"type": "pendulum", "episodes": 2, "steps": 60})",
             R"({"type": "swing_up", "episodes": 2, "steps": 60})",
             R"({"type": "t_maze", "episodes": 2, "steps": 60})",
         }) {
        SCOPED_TRACE(task);
        const Rollout rollout(R"({"layers": [{"type": "dense"}]})", nlohmann::json::parse(task));
        expect_equal_bits(on_cpu(rollout, 9), in_one_kernel(rollout, 9));
    }
}

TEST(Rollout, OneEpisodeOfOneIndividual) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(16), 1, 50, 1);
}

TEST(Rollout, ALinearPolicyIsOnlyAHead) {
    expect_the_bits_of_the_cpu(R"({"layers": [{"type": "dense"}]})", 4, 60, 20);
}

TEST(Rollout, RecurrentNetworksKeepTheirStateInRegisters) {
    expect_the_bits_of_the_cpu(R"({"layers": [{"type": "rnn", "hidden": 7}, {"type": "dense"}]})",
                               3, 60, 21);
}

TEST(Rollout, NormsAndSoftmaxStayInsideARowAndBackwardLinksReadThePreviousStep) {
    expect_the_bits_of_the_cpu(
        R"({"layers": [{"type": "dense", "out": 6, "activation": "tanh"}, {"type": "layer_norm"},
                       {"type": "softmax"}, {"type": "dense", "out": 6, "activation": "relu"},
                       {"type": "rms_norm"}, {"type": "dense"}],
            "links": [{"source": 3, "target": 0, "kind": "backward"},
                      {"source": 0, "target": "head", "kind": "forward"}]})",
        3, 60, 21);
}

TEST(Rollout, LayersTooWideForRegistersBecomeLoops) {
    // Below 32 steps weights are read where they are, then from words laid out side by side.
    for (const std::int64_t steps : {20, 40})
        expect_the_bits_of_the_cpu(test::multilayer_perceptron(80), 2, steps, 5);
}

TEST(Rollout, ANetworkThatIsDataGivesTheBitsOfTheOneThatIsNodes) {
    const std::string network = test::multilayer_perceptron(16);
    const Rollout bytecode(network, 2, 60, Rollout::Form::bytecode);
    const Rollout nodes(network, 2, 60);
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    const auto expected = evaluate(*cpu, nodes.graph(), 9, nodes.balancing_inputs(9));
    expect_equal_bits(expected, evaluate(*vulkan, nodes.graph(), 9, nodes.balancing_inputs(9)));
    expect_equal_bits(expected,
                      evaluate(*vulkan, bytecode.graph(), 9, bytecode.balancing_inputs(9)));
    EXPECT_EQ(expected[0].elements[0], 60.0);
}

TEST(Rollout, NetworksThatAreDataRunWholeEpisodes) {
    const Rollout rollout(R"({"layers": [{"type": "rnn", "hidden": 7}, {"type": "dense"}]})", 3, 60,
                          Rollout::Form::bytecode);
    // Seven: what an individual has before its network is no multiple of 16 bytes.
    for (const std::int64_t population : {12, 7})
        expect_equal_bits(on_cpu(rollout, population), in_one_kernel(rollout, population));
}

// 10,000 individuals by CAMBRIAN_TEST_POPULATION.
TEST(Rollout, WholeEpisodesOfAPopulationDifferInNoBit) {
    expect_the_bits_of_the_cpu(test::multilayer_perceptron(16), 1, 500,
                               population_of_environment(1000));
}

void expect_cuts_change_nothing(Rollout::Form form, std::span<const double> seconds_of_dispatches) {
    const Rollout rollout(R"({"layers": [{"type": "rnn", "hidden": 7}, {"type": "dense"}]})", 3, 50,
                          form);
    VulkanOptions options = test::test_vulkan_options(Math::strict);
    const auto whole = make_vulkan_backend(options);
    const auto inputs = rollout.inputs(16);
    const auto expected = evaluate(*whole, rollout.graph(), 16, inputs);
    for (const double seconds : seconds_of_dispatches) {
        options.longest_dispatch = seconds;
        const auto cut = make_vulkan_backend(options);
        expect_equal_bits(expected, evaluate(*cut, rollout.graph(), 16, inputs));
        EXPECT_GT(vulkan_statistics(*cut).dispatches, vulkan_statistics(*whole).dispatches);
    }
}

TEST(Rollout, CutIntoDispatchesItGivesTheSameBits) {
    expect_cuts_change_nothing(Rollout::Form::nodes, std::array{1e-9, 2e-5, 5e-5});
    expect_cuts_change_nothing(Rollout::Form::bytecode, std::array{2e-6});
}

/// Networks of different structures as data, each individual one of them, on the same sequences.
class Interpreted {
  public:
    /// @param sharing individuals whose weights lie in one vector for all, or 0: each has its own.
    Interpreted(const std::vector<std::string>& networks, std::int64_t steps, std::int64_t sharing)
        : steps_(steps), sharing_(sharing) {
        for (const std::string& text : networks) {
            networks_.emplace_back(blueprint_from_json(nlohmann::json::parse(text), 4, 2));
            bytecodes_.push_back(make_bytecode(networks_.back()));
            capacity_ = capacity_.joined(bytecodes_.back().capacity);
        }
        capacity_ = capacity_.rounded();
        const BytecodeNetwork form(4, 2, capacity_);
        Graph single;
        const NetworkOperands operands{
            .weights = single.input("weights", ValueType::real,
                                    {capacity_.weights * std::max<std::int64_t>(1, sharing)}),
            .activations = single.input("bytecode", ValueType::integer, {capacity_.words}),
            .enabled = single.input("enabled", ValueType::boolean, {1})};
        single.output(form.sequence(single.input("x", ValueType::real, {5, steps_, 4}), operands));
        constexpr std::array<std::size_t, 2> own{1, 0};
        graph_ = vmap(single, std::span(own).first(sharing > 0 ? 1 : 2));
    }

    [[nodiscard]] const Graph& graph() const { return graph_; }

    [[nodiscard]] std::vector<Tensor> inputs(std::int64_t population) const {
        Tensor weights(ValueType::real, {population, capacity_.weights});
        Tensor words(ValueType::integer, {population, capacity_.words});
        Tensor x(ValueType::real, {5, steps_, 4});
        RandomStream rng(random_key(13, "interpreted"), 0);
        for (double& element : x.elements) element = static_cast<double>(rng.normal());
        for (std::int64_t i = 0; i < population; ++i) {
            const auto structure = static_cast<std::size_t>(i) % networks_.size();
            std::vector<float> values(
                static_cast<std::size_t>(networks_[structure].weight_count()));
            for (float& value : values) value = rng.normal();
            std::vector<float> packed(static_cast<std::size_t>(capacity_.weights));
            pack_weights(networks_[structure], values, packed);
            std::ranges::copy(packed, weights.elements.begin() + i * capacity_.weights);
            std::ranges::copy(bytecodes_[structure].words,
                              words.elements.begin() + i * capacity_.words);
        }
        if (sharing_ > 0) {
            weights.shape = {weights.shape.elements()};
            for (std::int64_t i = 0; i < population; ++i) move_weights(words, i);
        }
        return {weights, words, Tensor(ValueType::boolean, {1}), x};
    }

  private:
    /// Makes the bytecode of an individual say where its weights are among those of all.
    void move_weights(Tensor& words, std::int64_t individual) const {
        const Bytecode& bytecode =
            bytecodes_[static_cast<std::size_t>(individual) % bytecodes_.size()];
        constexpr std::size_t weights_word = offsetof(BytecodeInstruction, weights) / sizeof(int);
        const auto first = static_cast<std::size_t>(individual * capacity_.words);
        for (std::size_t i = 0; i < bytecode.words.size();) {
            words.elements[first + i + weights_word] +=
                static_cast<double>(individual * capacity_.weights);
            const auto* instruction =
                reinterpret_cast<const BytecodeInstruction*>(&bytecode.words[i]);
            i += static_cast<std::size_t>(bytecode_length(*instruction));
        }
    }

    std::int64_t steps_;
    std::int64_t sharing_;
    std::vector<Network> networks_;
    std::vector<Bytecode> bytecodes_;
    BytecodeCapacity capacity_;
    Graph graph_;
};

/// From 32 steps on networks are read from a copy that lays groups of eight side by side: the
/// populations have groups and some left over, groups alone, and no whole one.
void expect_interpreted_bits(const std::vector<std::string>& networks, bool sharing = false,
                             std::int64_t steps = 40) {
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    for (const std::int64_t population : {23, 16, 3}) {
        const Interpreted interpreted(networks, steps, sharing ? population : 0);
        const std::vector<Tensor> inputs = interpreted.inputs(population);
        const std::int64_t before = vulkan_statistics(*vulkan).dispatches;
        expect_equal_bits(evaluate(*cpu, interpreted.graph(), population, inputs),
                          evaluate(*vulkan, interpreted.graph(), population, inputs));
        EXPECT_LT(vulkan_statistics(*vulkan).dispatches - before, 12);
    }
}

TEST(Rollout, NetworksThatAreDataRunInOneKernel) {
    expect_interpreted_bits(
        {test::multilayer_perceptron(6),
         R"({"layers": [{"type": "dense", "out": 5, "activation": "silu"}, {"type": "layer_norm"},
                        {"type": "dense", "out": 5, "activation": "gelu"}, {"type": "dense"}],
             "links": [{"source": 0, "target": "head", "kind": "forward"},
                       {"source": "input", "target": 2, "kind": "forward"}]})",
         R"({"layers": [{"type": "dense"}]})"},
        false, 9);
}

TEST(Rollout, NetworksThatAreDataMayHaveAnyActivation) {
    std::string layers;
    for (const std::string_view activation : activation_names)
        layers +=
            R"({"type": "dense", "out": 6, "activation": ")" + std::string(activation) + "\"},";
    expect_interpreted_bits(
        {test::multilayer_perceptron(6), R"({"layers": [)" + layers + R"({"type": "dense"}]})"});
}

TEST(Rollout, NetworksThatAreDataKeepTheirState) {
    expect_interpreted_bits({R"({"layers": [{"type": "rnn", "hidden": 7}, {"type": "dense"}]})",
                             R"({"layers": [{"type": "dense", "out": 6, "activation": "relu"},
                        {"type": "dense", "out": 6, "activation": "tanh"}, {"type": "dense"}],
             "links": [{"source": 1, "target": 0, "kind": "backward"}]})",
                             test::multilayer_perceptron(9)});
}

TEST(Rollout, NetworksThatAreDataMayShareOneVectorOfWeights) {
    expect_interpreted_bits(
        {test::multilayer_perceptron(6),
         R"({"layers": [{"type": "rnn", "hidden": 5}, {"type": "rms_norm"}, {"type": "dense"}]})"},
        true);
}

/// Neurons of none to eleven inputs, among them values of a step before, after a layer.
std::string network_of_neurons(std::int64_t hidden, NeuronAggregation aggregation) {
    Neurons layer;
    layer.in = 5;
    layer.out = 2;
    layer.neurons.assign(static_cast<std::size_t>(layer.out + hidden),
                         {NeuronActivation::tanh, aggregation});
    for (std::int64_t i = layer.out; i < layer.out + hidden; ++i) {
        for (std::int64_t source = -1; source < i % 11; ++source)
            layer.connections.push_back({.source = source % layer.in, .target = i});
        layer.connections.push_back({.source = layer.in + i, .target = i % layer.out});
        layer.connections.push_back({.source = layer.in, .target = i, .delay = 1});
    }
    std::ranges::sort(layer.connections, {}, [](const Neurons::Connection& each) {
        return std::tuple(each.target, each.source, each.delay);
    });
    const auto repeated =
        std::ranges::unique(layer.connections, {}, [](const Neurons::Connection& each) {
            return std::tuple(each.target, each.source, each.delay);
        });
    layer.connections.erase(repeated.begin(), repeated.end());
    nlohmann::json network;
    network["layers"].push_back({{"type", "dense"}, {"out", layer.in}});
    network["layers"].push_back(nlohmann::json(to_json(AnyLayer(layer))));
    return network.dump();
}

void expect_bits_of_neurons(NeuronAggregation aggregation, bool sharing) {
    expect_interpreted_bits({network_of_neurons(3, aggregation),
                             network_of_neurons(17, aggregation), test::multilayer_perceptron(5)},
                            sharing);
}

TEST(Rollout, NetworksThatAreDataMayBeNeurons) {
    expect_bits_of_neurons(NeuronAggregation::sum, true);
}

TEST(Rollout, NetworksThatAreDataMayBeNeuronsOfAnyKind) {
    expect_bits_of_neurons(NeuronAggregation::max, false);
}

/// Medians of 40 inputs, which many turns of loops find.
std::string network_of_medians(std::int64_t hidden) {
    Neurons layer;
    layer.in = 40;
    layer.out = 2;
    layer.neurons.assign(static_cast<std::size_t>(layer.out + hidden),
                         {NeuronActivation::tanh, NeuronAggregation::median});
    for (std::int64_t target = 0; target < layer.out + hidden; ++target) {
        for (std::int64_t source = 0; source < layer.in; ++source)
            layer.connections.push_back({.source = source, .target = target});
        if (target >= layer.out)
            layer.connections.push_back({.source = layer.in + target, .target = 0});
    }
    std::ranges::stable_sort(layer.connections, {}, &Neurons::Connection::target);
    nlohmann::json network;
    network["layers"].push_back({{"type", "dense"}, {"out", layer.in}});
    network["layers"].push_back(nlohmann::json(to_json(AnyLayer(layer))));
    return network.dump();
}

TEST(Rollout, NetworksThatAreDataMayHaveMediansOfManyInputs) {
    expect_interpreted_bits({network_of_medians(0), test::multilayer_perceptron(5)});
}

TEST(Rollout, ADeviceThatEndsLoopsSaysSo) {
    if (!test::test_vulkan_device().software()) GTEST_SKIP() << "this one ends none";
    const Interpreted interpreted({network_of_medians(300)}, 1, 0);
    const auto vulkan = make_vulkan_backend(test::test_vulkan_options(Math::strict));
    EXPECT_THAT([&] { (void)evaluate(*vulkan, interpreted.graph(), 1, interpreted.inputs(1)); },
                ThrowsMessage<InputError>(HasSubstr("ends loops after 65,535 turns")));
}

TEST(Rollout, AnIndividualDoesNotSeeItsPopulation) {
    const Rollout rollout(test::multilayer_perceptron(16), 3, 100);
    const auto backend = make_vulkan_backend(test::test_vulkan_options(Math::fast));
    const auto many = evaluate(*backend, rollout.graph(), 33, rollout.inputs(33));
    const auto few = evaluate(*backend, rollout.graph(), 4, rollout.inputs(4));
    const std::span all(many[2].elements);
    EXPECT_EQ(first_difference(all.first(few[2].elements.size()), few[2].elements), -1);
}

}  // namespace
}  // namespace cambrian
