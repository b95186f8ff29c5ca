#include <gtest/gtest.h>

#include <iostream>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/op_conformance.hpp"
#include "cambrian/tests/support/layer_bench.hpp"
#include "cambrian/tests/support/layer_samples.hpp"
#include "cambrian/tests/support/network_run.hpp"
#include "cambrian/tests/support/vulkan_device.hpp"

// Every layer and whole networks on the Vulkan backend, forward and backward.
namespace cambrian::test::vulkan_layer_test {
namespace {

VulkanOptions unfused(Math math) {
    VulkanOptions options = test_vulkan_options(math);
    options.fuse = false;
    return options;
}

struct Pair {
    Backend& strict;
    Backend& fast;
};

/// Backends that all tests share, so that they share pipelines. Layers run op by op: fused, each
/// would be several kernels of its own. Networks are fused, most of them under one kind of math.
struct VulkanBackends {
    std::unique_ptr<Backend> strict = make_vulkan_backend(test_vulkan_options(Math::strict));
    std::unique_ptr<Backend> fast = make_vulkan_backend(test_vulkan_options(Math::fast));
    std::unique_ptr<Backend> unfused_strict = make_vulkan_backend(unfused(Math::strict));
    std::unique_ptr<Backend> unfused_fast = make_vulkan_backend(unfused(Math::fast));

    [[nodiscard]] Pair for_layers() const { return {*unfused_strict, *unfused_fast}; }
    [[nodiscard]] Pair for_networks() const { return {*strict, *unfused_fast}; }
};

class VulkanBackendsEnvironment : public testing::Environment {
  public:
    void TearDown() override {
        if (!backends_) return;
        for (const Backend* backend :
             {backends_->strict.get(), backends_->fast.get(), backends_->unfused_strict.get(),
              backends_->unfused_fast.get()}) {
            const std::int64_t pipelines = vulkan_statistics(*backend).pipelines;
            std::cout << pipelines << " pipelines for all layers and networks with "
                      << backend->describe().math << " math\n";
            EXPECT_LE(pipelines, 300);
        }
        backends_.reset();
    }
    VulkanBackends& backends() {
        if (!backends_) backends_ = std::make_unique<VulkanBackends>();
        return *backends_;
    }

  private:
    std::unique_ptr<VulkanBackends> backends_;
};

/// Owned by the test program, which ends it after the last test.
VulkanBackendsEnvironment* const environment = static_cast<VulkanBackendsEnvironment*>(
    testing::AddGlobalTestEnvironment(new VulkanBackendsEnvironment));

VulkanBackends& backends() {
    return environment->backends();
}

/// Strict math gives the bits of the CPU, fast math is near the double precision reference.
void expect_conforms(const Pair& backends, const Graph& graph, std::int64_t population,
                     std::span<const Tensor> inputs) {
    const auto cpu = make_cpu_backend({.threads = 2, .math = Math::strict});
    const auto reference = make_reference_backend(Precision::f64);
    const auto expected = evaluate(*cpu, graph, population, inputs);
    const auto strict = evaluate(backends.strict, graph, population, inputs);
    const auto exact = evaluate(*reference, graph, population, inputs);
    const auto fast = evaluate(backends.fast, graph, population, inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i));
        expect_elements_equal(strict[i].elements, expected[i].elements, 0.0);
        expect_elements_equal(fast[i].elements, exact[i].elements, 2e-4);
    }
}

/// The same individuals alone: the same bits.
void expect_independent(Backend& backend, const Graph& graph, std::int64_t population,
                        std::span<const Tensor> inputs) {
    const auto together = evaluate(backend, graph, population, inputs);
    for (const std::int64_t p : {std::int64_t{0}, population - 1}) {
        std::vector<Tensor> own(inputs.begin(), inputs.end());
        for (std::size_t i = 0; i < own.size(); ++i) {
            if (!graph.value(graph.inputs()[i]).per_individual) continue;
            std::vector<std::int64_t> extents(own[i].shape.extents().begin(),
                                              own[i].shape.extents().end());
            extents[0] = 1;
            own[i] = Tensor(own[i].type, Shape(std::span<const std::int64_t>(extents)),
                            individual(own[i], p));
        }
        const auto alone = evaluate(backend, graph, 1, own);
        for (std::size_t o = 0; o < alone.size(); ++o)
            expect_elements_equal(graph.value(graph.outputs()[o]).per_individual
                                      ? individual(together[o], p)
                                      : together[o].elements,
                                  alone[o].elements, 0.0);
    }
}

class VulkanLayerConformance : public testing::TestWithParam<LayerSample> {
  protected:
    /// A stateful layer is described for one leading axis.
    VulkanLayerConformance()
        : bench_(GetParam().layer, GetParam().row,
                 GetParam().layer.stateful() ? std::vector<std::int64_t>{3}
                                             : std::vector<std::int64_t>{2, 3}) {}

    [[nodiscard]] Graph vmapped_gradients() const {
        std::vector<std::size_t> marked;
        for (std::size_t i = bench_.first_own(); i < bench_.graph().inputs().size(); ++i)
            marked.push_back(i);
        return vmap(bench_.gradients(), marked);
    }

    LayerBench bench_;
};
INSTANTIATE_TEST_SUITE_P(Every, VulkanLayerConformance, testing::ValuesIn(layer_samples()),
                         [](const auto& sample) { return sample.param.name; });

TEST_P(VulkanLayerConformance, ForwardForOneAndForAPopulation) {
    expect_conforms(backends().for_layers(), bench_.graph(), 1, bench_.values());
    expect_conforms(backends().for_layers(), bench_.vmap(), 5, bench_.values(5));
}

TEST_P(VulkanLayerConformance, BackwardForOneAndForAPopulation) {
    expect_conforms(backends().for_layers(), bench_.gradients(), 1, bench_.values());
    expect_conforms(backends().for_layers(), vmapped_gradients(), 5, bench_.values(5));
}

TEST_P(VulkanLayerConformance, IndividualsAreTheSameBitsAloneAndAmongSeven) {
    const Pair pair = backends().for_layers();
    for (Backend* backend : {&pair.strict, &pair.fast}) {
        expect_independent(*backend, bench_.vmap(), 7, bench_.values(7));
        expect_independent(*backend, vmapped_gradients(), 7, bench_.values(7));
    }
}

/// Output of a network for a batch of sequences, and the gradient of its weighted sum.
struct NetworkCase {
    NetworkCase(std::string_view json, std::int64_t population)
        : network(blueprint_of(json, 3, 2)) {
        const std::vector<std::int32_t> codes = network.activation_codes();
        const std::vector<std::int32_t> flags = network.enabled_flags();
        const auto code_count = static_cast<std::int64_t>(codes.size());
        const auto flag_count = static_cast<std::int64_t>(flags.size());
        Graph single;
        const Var x = single.input("x", ValueType::real, {2, 4, 3});
        const Var weights = single.input("weights", ValueType::real, {network.weight_count()});
        const Var activations = single.input("activations", ValueType::integer, {code_count});
        const Var enabled = single.input("enabled", ValueType::boolean, {flag_count});
        const Var y = network.sequence(x, {weights, activations, enabled});
        single.output(y);
        const Var loss = sum_all(y * y * 0.5 + y);
        for (const Var g : gradient(loss, std::array{weights})) single.output(g);
        graph = vmap(single, std::array<std::size_t, 3>{1, 2, 3});

        inputs = {some_rows({2, 4, 3}),
                  Tensor(ValueType::real, {population, network.weight_count()}),
                  Tensor(ValueType::integer, {population, code_count}),
                  Tensor(ValueType::boolean, {population, flag_count})};
        inputs[1] = some_rows({population, network.weight_count()}, 5);
        for (double& weight : inputs[1].elements) weight *= 0.3;
        for (std::size_t i = 0; i < inputs[2].elements.size(); ++i)
            inputs[2].elements[i] = static_cast<double>(i % count_of(network.activation_set()));
        for (std::size_t i = 0; i < inputs[3].elements.size(); ++i)
            inputs[3].elements[i] = i % 5 == 3 ? 0.0 : 1.0;
    }

    Network network;
    Graph graph;
    std::vector<Tensor> inputs;
};

constexpr std::string_view networks[] = {
    "{}",
    R"({"layers": [{"type": "dense", "out": 16, "activation": "tanh"}, {"type": "dense"}]})",
    R"({"layers": [{"type": "dense", "out": 5}, {"type": "layer_norm"}, {"type": "softmax"},
        {"type": "rms_norm"}, {"type": "dense"}],
        "links": [{"source": "input", "target": 2}, {"source": 0, "target": "head"}]})",
    R"({"layers": [{"type": "dense", "out": 4}, {"type": "rms_norm"}, {"type": "dense"}],
        "links": [{"source": 1, "target": 0, "kind": "backward"}]})",
    R"({"layers": [{"type": "rnn", "hidden": 6}, {"type": "dense"}]})",
    R"({"layers": [{"type": "dense", "out": 8, "activation": "hard_swish"}, {"type": "dense", "out": 4},
        {"type": "dense", "out": 6}, {"type": "dense"}]})",
};

TEST(VulkanNetworks, ForwardAndBackwardForAPopulation) {
    for (const std::string_view json : networks) {
        SCOPED_TRACE(json);
        const NetworkCase some(json, 5);
        const Pair pair = backends().for_networks();
        expect_conforms(pair, some.graph, 5, some.inputs);
        expect_independent(pair.strict, some.graph, 5, some.inputs);
        expect_independent(pair.fast, some.graph, 5, some.inputs);
    }
}

TEST(VulkanNetworks, NormsAndSoftmaxAreFusedUnderFastMath) {
    const NetworkCase some(networks[2], 5);
    const Pair pair{*backends().strict, *backends().fast};
    expect_conforms(pair, some.graph, 5, some.inputs);
    expect_independent(pair.fast, some.graph, 5, some.inputs);
}

}  // namespace
}  // namespace cambrian::test::vulkan_layer_test
