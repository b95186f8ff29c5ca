#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/train/optimizer.hpp"

// One training step of one perceptron 784-128-10: 128 images, cross entropy, AdamW. The program's
// updates write over what they read. training_torch.py sets it beside PyTorch.
namespace cambrian {
namespace {

constexpr std::int64_t batch = 128;
constexpr std::int64_t inputs = 784;
constexpr std::int64_t hidden = 128;
constexpr std::int64_t classes = 10;

Graph training_step() {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {batch, inputs});
    const Var targets = graph.input("targets", ValueType::integer, {batch});
    const Var step = graph.input("step", ValueType::real, {});
    std::vector<Var> parameters;
    std::vector<std::vector<Var>> moments;
    for (const Shape& shape :
         {Shape{inputs, hidden}, Shape{hidden}, Shape{hidden, classes}, Shape{classes}}) {
        parameters.push_back(graph.input("parameter", ValueType::real, shape));
        moments.push_back({graph.input("mean", ValueType::real, shape),
                           graph.input("square", ValueType::real, shape)});
    }
    const Var h = activate(matmul(x, parameters[0]) + parameters[1], Activation::relu);
    const Var loss = cross_entropy(matmul(h, parameters[2]) + parameters[3], targets);
    const auto gradients = gradient(loss, constant(graph, 1.0), parameters);
    const StepScalars scalars{.learning_rate = constant(graph, 1e-3), .step = step};
    const Optimizer adamw = Adam{.weight_decay = 0.01, .decoupled = true};
    graph.output(loss);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const UpdatedParameter next =
            update(adamw, scalars, parameters[i], gradients[i], moments[i]);
        graph.update(parameters[i], next.value);
        for (std::size_t moment = 0; moment < next.moments.size(); ++moment) {
            graph.update(moments[i][moment], next.moments[moment]);
        }
    }
    graph.update(step, step + 1.0);
    return graph;
}

void training_step_mlp(benchmark::State& state) {
    const Graph graph = training_step();
    const auto backend = make_cpu_backend({.threads = static_cast<int>(state.range(0))});
    const auto program = backend->compile(graph);
    std::vector<std::unique_ptr<Buffer>> buffers;
    std::vector<Binding> bindings;
    for (const ValueId id : graph.inputs()) {
        const ValueInfo& info = graph.value(id);
        const std::int64_t count = info.shape.elements();
        buffers.push_back(backend->allocate(info.type, count));
        bindings.push_back({buffers.back().get(), 0});
        if (info.type == ValueType::real && bindings.size() != 3) {
            std::vector<float> numbers(static_cast<std::size_t>(count));
            RandomField{random_key(1, "bench"), bindings.size()}.fill_normal(0, numbers);
            for (float& number : numbers) number = 0.05F * std::abs(number);
            backend->upload(*buffers.back(), 0, std::span<const float>(numbers));
        }
    }
    const std::vector<float> one{1.0F};
    backend->upload(*buffers[2], 0, std::span<const float>(one));
    std::vector<std::int32_t> targets(batch);
    for (std::size_t i = 0; i < targets.size(); ++i) {
        targets[i] = static_cast<std::int32_t>(i) % std::int32_t{classes};
    }
    backend->upload(*buffers[1], 0, std::span<const std::int32_t>(targets));
    const auto loss = backend->allocate(ValueType::real, 1);
    std::vector<Binding> outputs(graph.outputs().size(), Binding{loss.get(), 0});
    for (const Update& own : graph.updates()) outputs[own.output] = bindings[own.input];
    for (auto iteration : state) program->run(1, bindings, outputs);
}
BENCHMARK(training_step_mlp)->Arg(1)->Arg(2)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
}  // namespace cambrian
