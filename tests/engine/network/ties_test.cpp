#include "cambrian/engine/network/ties.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/check/gradient_check.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/reduce.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/training_graphs.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Ids of 5, features of 3, and a head whose weight is the table.
Blueprint tied(const std::string& head = R"("tied": "slot.0.table", "bias": true)") {
    return test::blueprint_of(
        R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                       {"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense", )" +
            head + "}]}",
        1, 5);
}

TEST(Ties, AreOneTensor) {
    const Network network(tied());
    const Network copies(tied(R"("bias": true)"));
    EXPECT_EQ(network.weight_count(), copies.weight_count() - 15);
    EXPECT_NE(network.structure_key(), copies.structure_key());
    // The same function as that of two equal copies.
    const std::vector<float> weights = test::some_weights(network);
    std::vector<float> copied = weights;
    copied.insert(copied.end() - 5, weights.begin(), weights.begin() + 15);
    Tensor ids(ValueType::real, {4, 1});
    ids.elements = {0, 3, 1, 4};
    EXPECT_EQ(test::difference(test::run(network, weights, ids), test::run(copies, copied, ids)),
              0.0);
}

TEST(Ties, LearnFromBothUses) {
    const auto cpu = make_cpu_backend({});
    const std::array<Backend*, 1> backends{cpu.get()};
    const Network network(tied());
    const CheckReport report =
        check_network(network, network, test::some_weights(network), backends, {.samples = 0});
    EXPECT_TRUE(report.passed());
    for (const CheckedTensor& each : report.tensors) EXPECT_LE(each.error, 1e-5) << each.name;
    // Rows of ids that are not asked for have a slope by the head alone.
    EXPECT_EQ(report.tensors.size(), network.weights().size() + 1);
}

TEST(Ties, SurviveJsonAndArchives) {
    const Blueprint blueprint = tied();
    EXPECT_EQ(Network(blueprint_from_json(nlohmann::json(network_section(blueprint)))).blueprint(),
              Network(blueprint).blueprint());
    ArchiveWriter writer;
    writer.write(blueprint);
    const std::vector<std::byte> bytes = writer.take();
    ArchiveReader reader(bytes, "test");
    Blueprint again;
    reader.read(again);
    EXPECT_EQ(again, blueprint);
}

TEST(Ties, ThatCannotBeAreRefused) {
    const auto refused = [](const std::string& head, const std::string& why) {
        EXPECT_THAT([&] { static_cast<void>(Network(tied(head))); },
                    ThrowsMessage<ShapeError>(HasSubstr(why)));
    };
    refused(R"("tied": "slot.1.table")", "(there is no layer of type embedding in that slot)");
    refused(R"("tied": "slot.77.table")", "(there is no layer of type embedding in that slot)");
    refused(R"("tied": "slot.0.weight")", "(there is no layer of type dense in that slot)");
    for (const char* name : {"table", "slot..table", "slot.-1.table", "slot.0.bias", "slot.0.",
                             "slot.0", "slot.0x.table", "slot.99999999999.table"})
        refused(R"("tied": ")" + std::string(name) + "\"",
                "(a name is like \"slot.0.table\" or \"slot.0.weight\")");
    EXPECT_THAT(
        [] {
            Network(test::blueprint_of(
                R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                               {"type": "dense", "out": 4}, {"type": "dense", "tied": "slot.0.table"}]})",
                1, 5));
        },
        ThrowsMessage<ShapeError>(HasSubstr("its table is")));
    EXPECT_THAT(
        [] {
            Network(test::blueprint_of(
                R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                               {"type": "sequential", "layers": [{"type": "dense", "out": 5, "tied": "slot.0.table"}]}]})",
                1, 5));
        },
        ThrowsMessage<ShapeError>(HasSubstr("in a container is tied")));
}

/// Three layers between 3 elements, the last two with one weight, and a head of 2.
Blueprint in_depth(const std::string& last = R"("tied": "slot.1.weight")",
                   const std::string& head = "") {
    return test::blueprint_of(
        R"({"layers": [{"type": "dense", "out": 3, "activation": "tanh"},
                       {"type": "dense", "out": 3, "activation": "sigmoid"},
                       {"type": "dense", "out": 3, "activation": "tanh")" +
            (last.empty() ? last : ", " + last) + R"(}, {"type": "dense")" +
            (head.empty() ? head : ", " + head) + "}]}",
        3, 2);
}

/// The weights of in_depth() as those of in_depth("") with two equal layers.
std::vector<float> with_copy(std::span<const float> weights) {
    std::vector<float> copied(weights.begin(), weights.end());
    copied.insert(copied.begin() + 24, weights.begin() + 12, weights.begin() + 21);
    return copied;
}

TEST(Ties, ShareTheWeightOfADenseLayer) {
    const Network network(in_depth());
    const Network copies(in_depth(""));
    EXPECT_EQ(network.weight_count(), copies.weight_count() - 9);
    const std::vector<float> weights = test::some_weights(network);
    EXPECT_EQ(test::difference(test::run(network, weights, test::some_rows({2, 3})),
                               test::run(copies, with_copy(weights), test::some_rows({2, 3}))),
              0.0);
}

TEST(Ties, MayNameALayerThatComesLater) {
    const std::string sizes = R"("type": "dense", "out": 3, "bias": false)";
    const Network network(test::blueprint_of(R"({"layers": [{"tied": "slot.1.weight", )" + sizes +
                                                 "}, {" + sizes + R"(}, {"type": "dense"}]})",
                                             3, 2));
    const Network copies(test::blueprint_of(
        R"({"layers": [{)" + sizes + "}, {" + sizes + R"(}, {"type": "dense"}]})", 3, 2));
    const std::vector<float> weights = test::some_weights(network);
    std::vector<float> copied = weights;
    copied.insert(copied.begin(), weights.begin(), weights.begin() + 9);
    EXPECT_EQ(test::difference(test::run(network, weights, test::some_rows({2, 3})),
                               test::run(copies, copied, test::some_rows({2, 3}))),
              0.0);
}

/// The gradient of the sum of squares of what a network gives.
std::vector<double> gradient_of(const Network& network, std::span<const float> weights) {
    Graph graph;
    const std::array w{graph.input("weights", ValueType::real, {network.weight_count()})};
    const Var x = graph.input("x", ValueType::real, {2, 3});
    const Var y = network.apply(x, training_graphs::network_operands(graph, network, w.front()));
    graph.output(gradient(sum_all(square(y)), w).front());
    const std::vector<Tensor> inputs{
        Tensor(ValueType::real, {network.weight_count()}, {weights.begin(), weights.end()}),
        test::some_rows({2, 3})};
    const auto backend = make_reference_backend(Precision::f64);
    return evaluate(*backend, graph, 1, inputs).front().elements;
}

TEST(Ties, HaveTheSumOfTheGradientsOfBoth) {
    const Network network(in_depth());
    const Network copies(in_depth(""));
    const std::vector<float> weights = test::some_weights(network);
    const std::vector<double> shared = gradient_of(network, weights);
    const std::vector<double> apart = gradient_of(copies, with_copy(weights));
    for (std::size_t i = 0; i < 9; ++i)
        EXPECT_NEAR(shared[12 + i], apart[12 + i] + apart[24 + i], 1e-12);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(shared[i], apart[i], 1e-12);
}

TEST(Ties, OfDenseLayersThatCannotBeAreRefused) {
    const auto refused = [](const std::string& last, const std::string& head,
                            const std::string& why) {
        EXPECT_THAT([&] { static_cast<void>(in_depth(last, head)); },
                    ThrowsMessage<ShapeError>(HasSubstr(why)));
    };
    refused(R"("tied": "slot.2.weight")", "", "(that is the layer itself)");
    refused(R"("tied": "slot.7.weight")", "", "(there is no layer of type dense in that slot)");
    refused(R"("tied": "slot.1.weight")", R"("tied": "slot.2.weight")",
            "(the layer in that slot is tied itself)");
    refused("", R"("tied": "slot.0.weight")", "(its weight is [3, 3], the weight is [2, 3])");
    EXPECT_THAT(
        [] {
            static_cast<void>(test::blueprint_of(
                R"({"layers": [{"type": "residual", "layers": [{"type": "dense", "out": 3}]},
                               {"type": "dense", "out": 3, "tied": "slot.0.weight"},
                               {"type": "dense"}]})",
                3, 2));
        },
        ThrowsMessage<ShapeError>(HasSubstr("(there is no layer of type dense in that slot)")));
}

TEST(Ties, OfDenseLayersSurviveJson) {
    const Blueprint blueprint = in_depth();
    EXPECT_EQ(Network(blueprint_from_json(nlohmann::json(network_section(blueprint)))).blueprint(),
              Network(blueprint).blueprint());
}

TEST(Ties, FollowSlotsThatMove) {
    Blueprint blueprint = in_depth();
    renumber_ties(blueprint, [](int slot) { return slot + 4; });
    EXPECT_EQ(std::get<Dense>(blueprint.slots[2]->layer.variant()).tied, "slot.5.weight");
    EXPECT_EQ(tie_of(blueprint.slots[2]->layer)->slot, 5);
    EXPECT_FALSE(lends(blueprint, 1));
    EXPECT_TRUE(lends_to_enabled(blueprint, 5, "weight"));
    EXPECT_THAT(borrowers(blueprint, 5, "weight"), testing::ElementsAre(2));
    blueprint.slots[2]->enabled = false;
    EXPECT_FALSE(lends_to_enabled(blueprint, 5, "weight"));
    EXPECT_TRUE(lends(blueprint, 5));
}

}  // namespace
}  // namespace cambrian
