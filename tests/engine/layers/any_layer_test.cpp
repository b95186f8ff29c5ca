#include "cambrian/engine/layers/any_layer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/identity.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::ThrowsMessage;

Sequential nested() {
    Residual residual;
    residual.layers.emplace_back(Dense{.out = 4, .activation = Activation::gelu});
    residual.layers.emplace_back(Dense{.activation = Activation::tanh});
    Sequential sequential;
    sequential.layers.emplace_back(Dense{.out = 4, .bias = false, .activation = Activation::relu});
    sequential.layers.emplace_back(residual);
    sequential.layers.emplace_back(Rnn{{.hidden = 2}});
    return sequential;
}

std::vector<double> output(const AnyLayer& layer, const std::vector<Tensor>& parameters,
                           const Tensor& x) {
    Graph graph;
    std::vector<Var> values;
    for (const Tensor& parameter : parameters) values.push_back(graph.constant(parameter));
    std::vector<Var> codes;
    for (const Activation activation : layer.activations())
        codes.push_back(constant(graph, static_cast<double>(activation), ValueType::integer));
    graph.output(layer.build(graph.constant(x),
                             {.parameters = values, .activations = codes, .row = {x.shape[-1]}}));
    return evaluate(*make_reference_backend(Precision::f64), graph, 1, {}).front().elements;
}

TEST(AnyLayer, ListsTheTypesByName) {
    const std::set<std::string_view> types(layer_types().begin(), layer_types().end());
    EXPECT_EQ(types.size(), layer_types().size());
    EXPECT_TRUE(types.contains("dense") && types.contains("mamba"));
    for (const std::string_view type : layer_types()) EXPECT_EQ(default_layer(type)->type(), type);
    EXPECT_FALSE(default_layer("dence").has_value());
}

TEST(AnyLayer, FindsActivationsDepthFirst) {
    AnyLayer layer = nested();
    EXPECT_THAT(std::as_const(layer).activations(),
                ElementsAre(Activation::relu, Activation::gelu, Activation::tanh));
    *layer.activations()[1] = Activation::sigmoid;
    EXPECT_THAT(std::as_const(layer).activations(),
                ElementsAre(Activation::relu, Activation::sigmoid, Activation::tanh));
}

TEST(AnyLayer, ContainersInferWidthsAndPrefixNames) {
    AnyLayer layer = nested();
    layer.resolve({3});
    EXPECT_EQ(layer.output_shape({3}), Shape{2});
    std::vector<std::string> names;
    for (const ParameterSpec& parameter : layer.parameters()) names.push_back(parameter.name);
    EXPECT_THAT(names,
                ElementsAre("layers.0.weight", "layers.1.layers.0.weight", "layers.1.layers.0.bias",
                            "layers.1.layers.1.weight", "layers.1.layers.1.bias",
                            "layers.2.weight_ih", "layers.2.weight_hh", "layers.2.bias"));
    EXPECT_EQ(layer.parameters()[3].shape, (Shape{4, 4}));
}

TEST(AnyLayer, AContainerOfAStatefulLayerIsStateful) {
    AnyLayer layer = nested();
    layer.resolve({3});
    EXPECT_TRUE(layer.stateful());
    ASSERT_EQ(layer.state().size(), 1U);
    EXPECT_EQ(layer.state()[0].name, "layers.2.hidden");
    EXPECT_FALSE(AnyLayer(Residual::example()).stateful());
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {1, 3});
    EXPECT_THROW(static_cast<void>(layer.build(x, {})), ContractViolation);
}

/// Whether the default layer of a type is there and joins two rows.
bool joins(std::string_view type, const Shape& in, const Shape& out) {
    std::optional<AnyLayer> layer = fitted_layer(type, in, out);
    if (!layer) return false;
    EXPECT_EQ(layer->type(), type == Embedding::name ? Sequential::name : type);
    AnyLayer resolved = *layer;
    EXPECT_NO_THROW(resolved.resolve(in)) << type;
    EXPECT_EQ(resolved, *layer) << type;
    EXPECT_EQ(layer->output_shape(in), out) << type;
    return true;
}

std::vector<std::string_view> joining(const Shape& in, const Shape& out) {
    std::vector<std::string_view> types;
    for (const std::string_view type : layer_types())
        if (joins(type, in, out)) types.push_back(type);
    return types;
}

TEST(AnyLayer, FittedLayersJoinRows) {
    EXPECT_THAT(joining({3}, {5}),
                ElementsAre("dense", "sequential", "rnn", "lstm", "gru", "embedding", "kmeans",
                            "parallel", "neurons", "mgu", "ugrnn", "delta"));
    // Whatever keeps the shape of its rows joins those of one shape: new layers, too.
    EXPECT_THAT(
        joining({4}, {4}),
        IsSupersetOf({"dense", "rms_norm", "layer_norm", "softmax", "sequential", "residual", "rnn",
                      "lstm", "gru", "multi_head_attention", "swiglu", "batch_norm", "dropout",
                      "embedding", "kmeans", "parallel", "mamba", "neurons"}));
    EXPECT_THAT(
        joining({2, 6}, {2, 6}),
        IsSupersetOf({"rms_norm", "layer_norm", "softmax", "residual", "multi_head_attention",
                      "swiglu", "conv1d", "conv_transpose1d", "batch_norm", "dropout"}));
    EXPECT_THAT(joining({2, 6, 4}, {3, 3, 2}), ElementsAre("conv2d"));
    EXPECT_THAT(joining({2, 6, 4}, {2, 3, 2}),
                ElementsAre("conv2d", "max_pool2d", "average_pool2d"));
    EXPECT_THAT(joining({2, 3, 2}, {5, 6, 4}), ElementsAre("conv_transpose2d"));
    EXPECT_THAT(joining({2, 3, 2, 4}, {5, 3, 2, 4}), ElementsAre("conv3d", "conv_transpose3d"));
    EXPECT_THAT(joining({2, 3, 2}, {7}),
                ElementsAre("dense", "sequential", "rnn", "lstm", "gru", "embedding", "kmeans",
                            "parallel", "neurons", "mgu", "ugrnn", "delta"));
    EXPECT_THAT(joining({6, 6, 6}, {5, 5, 5}), ElementsAre());
    EXPECT_THAT([] { static_cast<void>(fitted_layer("rmsnorm", {2}, {2})); },
                ThrowsMessage<ConfigError>(
                    AllOf(HasSubstr("dense, rms_norm"), HasSubstr("did you mean \"rms_norm\"?"))));
}

TEST(AnyLayer, IdentitiesHoldTheirShape) {
    EXPECT_EQ(identity_layer("dense", {3}), AnyLayer(Dense{.in = 3, .out = 3}));
    EXPECT_EQ(identity_layer("softmax", {3})->type(), "residual");
    RandomStream rng(random_key(1, "test.identity"), 0);
    EXPECT_THAT(identity_parameters(Dense{.in = 2, .out = 2}, rng), ElementsAre(1, 0, 0, 1, 0, 0));
    EXPECT_FALSE(can_be_identity(Dense{.in = 2, .out = 3}));
    EXPECT_FALSE(can_be_identity(Dense{.in = 2, .out = 2, .activation = Activation::relu}));
    EXPECT_FALSE(can_be_identity(Residual{}));
    EXPECT_THROW(static_cast<void>(identity_parameters(RmsNorm{.features = 2}, rng)),
                 ContractViolation);
}

TEST(Dense, ComputesWeightedSums) {
    const Dense dense{.in = 2, .out = 2, .activation = Activation::relu};
    EXPECT_THAT(output(dense,
                       {Tensor(ValueType::real, {2, 2}, {1, 2, 3, 4}),
                        Tensor(ValueType::real, {2}, {10, -20})},
                       Tensor(ValueType::real, {1, 2}, {1, 3})),
                ElementsAre(17, 0));
}

TEST(RmsNorm, ScalesToUnitMeanSquare) {
    const RmsNorm norm{.features = 2, .epsilon = 1e-30F};
    EXPECT_THAT(output(norm, {Tensor(ValueType::real, {2}, {1, 10})},
                       Tensor(ValueType::real, {1, 2}, {1, -7})),
                ElementsAre(::testing::DoubleEq(0.2), ::testing::DoubleEq(-14)));
}

TEST(LayerNorm, KeepsItsDigitsUnderALargeMean) {
    const LayerNorm norm{.features = 2, .epsilon = 1e-30F};
    const std::vector<Tensor> parameters{Tensor(ValueType::real, {2}, {1, 10}),
                                         Tensor(ValueType::real, {2}, {0, 5})};
    EXPECT_THAT(output(norm, parameters, Tensor(ValueType::real, {1, 2}, {1e9 - 1, 1e9 + 1})),
                ElementsAre(::testing::DoubleEq(-1), ::testing::DoubleEq(15)));
}

TEST(Softmax, SumsToOneAlsoForLargeInputs) {
    const auto y =
        output(Softmax{.features = 3}, {}, Tensor(ValueType::real, {1, 3}, {1000, 1000, -1000}));
    EXPECT_THAT(y, ElementsAre(0.5, 0.5, 0));
}

TEST(Norms, RefuseAnEpsilonThatIsNotPositive) {
    EXPECT_THROW((RmsNorm{.features = 2, .epsilon = 0.0F}.resolve({2})), ShapeError);
    EXPECT_THROW((LayerNorm{.features = 2, .epsilon = -1.0F}.resolve({2})), ShapeError);
}

}  // namespace
}  // namespace cambrian
