#include "cambrian/engine/backend/named_buffers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/engine/train/training_support.hpp"

namespace cambrian {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(NamedBuffers, InferenceSeesTheWeightsOfEveryTrainingStep) {
    const auto oracle = make_reference_backend(Precision::f32);
    std::vector<std::unique_ptr<Backend>> backends;
    backends.push_back(make_cpu_backend({.math = Math::strict}));
    backends.push_back(make_cpu_backend({.threads = 3, .math = Math::strict}));
    backends.push_back(make_reference_backend(Precision::f32));
    for (const auto& backend : backends)
        for (const std::int64_t population : {1, 5}) {
            test::Training training(*backend, population, Adam{});
            test::expect_inference_follows(training, *oracle, population);
        }
}

TEST(NamedBuffers, TrainingLowersTheLoss) {
    const auto cpu = make_cpu_backend({});
    test::Training training(*cpu, 2, Adam{});
    training.step();
    const std::vector<float> first = training.loss();
    for (int step = 0; step < 30; ++step) training.step();
    for (std::size_t i = 0; i < first.size(); ++i)
        EXPECT_LT(training.loss()[i], 0.5F * first[i]) << i;
}

TEST(NamedBuffers, BindsInputsByNameAndUpdatesToTheirInputs) {
    const auto cpu = make_cpu_backend({});
    NamedBuffers buffers(*cpu);
    Graph graph;
    const Var a = graph.input("a", ValueType::real, {2});
    const Var b = graph.input("b", ValueType::real, {2}, true);
    graph.update(b, b + a);
    graph.output(sum_all(a));
    const auto sum = cpu->allocate(ValueType::real, 1);
    const auto bindings = buffers.bind(graph, 3, std::vector<Binding>{{sum.get()}});
    EXPECT_THAT(buffers.names(), ElementsAre("a", "b"));
    EXPECT_EQ(bindings.inputs[0].buffer, &buffers.at("a"));
    EXPECT_EQ(bindings.outputs[0].buffer, &buffers.at("b"));
    EXPECT_EQ(bindings.outputs[1].buffer, sum.get());
    EXPECT_EQ(buffers.at("b").elements(), 6);
    buffers.write("a", Tensor(ValueType::real, {2}, {1, 2}));
    cpu->compile(graph)->run(3, bindings.inputs, bindings.outputs);
    EXPECT_THAT(buffers.read("b").elements, ElementsAre(1, 2, 1, 2, 1, 2));
}

TEST(NamedBuffers, OneNameHasOneShape) {
    const auto cpu = make_cpu_backend({});
    NamedBuffers buffers(*cpu);
    const auto graph_of = [](ValueType type, const Shape& shape, bool own) {
        Graph graph;
        static_cast<void>(graph.input("other", type, {1}));
        static_cast<void>(graph.input("a", type, shape, own));
        return graph;
    };
    const auto bind = [&](const Graph& graph, std::int64_t population) {
        return [&buffers, &graph, population] { (void)buffers.bind(graph, population, {}); };
    };
    Graph first;
    static_cast<void>(first.input("a", ValueType::real, {2, 3}));
    bind(first, 1)();
    for (const Graph& other :
         {graph_of(ValueType::real, {3, 2}, false), graph_of(ValueType::integer, {2, 3}, false),
          graph_of(ValueType::real, {2, 3}, true)})
        EXPECT_THAT(bind(other, 1), ThrowsMessage<ShapeError>(HasSubstr("'a' is real [2, 3]")));
    EXPECT_THAT(buffers.names(), ElementsAre("a")) << "nothing of what failed is kept";
    EXPECT_NO_THROW(bind(graph_of(ValueType::real, {2, 3}, false), 7)());
}

TEST(NamedBuffers, SaysWhatIsMissing) {
    const auto cpu = make_cpu_backend({});
    NamedBuffers buffers(*cpu);
    EXPECT_THAT([&] { (void)buffers.at("w"); }, ThrowsMessage<ShapeError>(HasSubstr("named 'w'")));
    Graph nameless;
    static_cast<void>(nameless.input("", ValueType::real, {}));
    EXPECT_THAT([&] { (void)buffers.bind(nameless, 1, {}); },
                ThrowsMessage<ShapeError>(HasSubstr("has no name")));
    Graph graph;
    graph.output(graph.input("x", ValueType::real, {}) + 1.0);
    EXPECT_THAT([&] { (void)buffers.bind(graph, 1, {}); },
                ThrowsMessage<ShapeError>(HasSubstr("1 outputs that replace no input")));
    EXPECT_FALSE(buffers.contains("x"));
}

}  // namespace
}  // namespace cambrian
