#include "cambrian/tests/bench/vulkan/measurements.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/train/optimizer.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t batch = 128;
constexpr std::int64_t pixels = 784;
constexpr std::int64_t hidden = 128;
constexpr std::int64_t classes = 10;

struct Parameter {
    Var value;
    std::vector<Var> moments;
};

Parameter parameter(Graph& graph, const std::string& name, Shape shape) {
    Parameter result{graph.input(name, ValueType::real, shape, true), {}};
    for (const char* moment : {" mean", " variance"})
        result.moments.push_back(graph.input(name + moment, ValueType::real, shape, true));
    return result;
}

/// Output 0 is the loss; every other one replaces an input.
Graph training_step() {
    Graph graph;
    const Var x = graph.input("x", ValueType::real, {batch, pixels});
    const Var labels = graph.input("labels", ValueType::integer, {batch});
    const Var rate = graph.input("learning rate", ValueType::real, {}, true);
    const Var step = graph.input("step", ValueType::real, {});
    const std::vector<Parameter> parameters{
        parameter(graph, "weights 1", {hidden, pixels}), parameter(graph, "bias 1", {hidden}),
        parameter(graph, "weights 2", {classes, hidden}), parameter(graph, "bias 2", {classes})};
    const Var code = constant(graph, 1.0, ValueType::integer);
    const Var y = activate(matmul(x, parameters[0].value, false, true) + parameters[1].value, code);
    const Var logits = matmul(y, parameters[2].value, false, true) + parameters[3].value;
    const Var loss = cross_entropy(logits, labels);
    graph.output(loss);
    std::vector<Var> values;
    for (const Parameter& p : parameters) values.push_back(p.value);
    const std::vector<Var> gradients = gradient(loss, values);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const UpdatedParameter updated =
            update(Adam{}, {rate, step}, parameters[i].value, gradients[i], parameters[i].moments);
        graph.update(parameters[i].value, updated.value);
        for (std::size_t j = 0; j < updated.moments.size(); ++j)
            graph.update(parameters[i].moments[j], updated.moments[j]);
    }
    return graph;
}

/// The buffers of a step; outputs that replace an input are bound where that is.
class Buffers {
  public:
    Buffers(Backend& backend, const Graph& graph, std::int64_t population) {
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            inputs.push_back(bound(backend, graph.value(graph.inputs()[i]), population));
            fill(backend, *inputs.back().buffer, graph.input_name(i));
        }
        for (const ValueId id : graph.outputs())
            outputs.push_back(bound(backend, graph.value(id), population));
        for (const Update& update : graph.updates()) outputs[update.output] = inputs[update.input];
    }
    std::vector<Binding> inputs;
    std::vector<Binding> outputs;

  private:
    Binding bound(Backend& backend, const ValueInfo& info, std::int64_t population) {
        const std::int64_t individuals = info.per_individual ? population : 1;
        owned_.push_back(backend.allocate(info.type, individuals * info.shape.elements()));
        return {owned_.back().get(), 0};
    }

    static void fill(Backend& backend, Buffer& buffer, const std::string& name) {
        const auto elements = static_cast<std::size_t>(buffer.elements());
        RandomStream stream(random_key(1, name), 0);
        if (buffer.type() == ValueType::integer) {
            std::vector<std::int32_t> labels(elements);
            for (std::int32_t& label : labels)
                label = static_cast<std::int32_t>(stream.uniform() * float{classes});
            backend.upload(buffer, 0, std::span<const std::int32_t>(labels));
            return;
        }
        if (name.ends_with("mean") || name.ends_with("variance")) return;
        std::vector<float> words(elements, name == "step" ? 1.0F : 1e-3F);
        if (elements > 1 && name != "learning rate")
            for (float& word : words) word = (stream.uniform() * 2.0F - 1.0F) * 0.05F;
        backend.upload(buffer, 0, std::span<const float>(words));
    }

    std::vector<std::unique_ptr<Buffer>> owned_;
};

double seconds_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

/// Seconds of wall clock a step, `runs` of them one after the other.
double measure(Backend& backend, const Graph& graph, std::int64_t population, int runs,
               float& loss) {
    const auto program = backend.compile(graph);
    const Buffers buffers(backend, graph, population);
    const auto run = [&](int times) {
        for (int i = 0; i < times; ++i) program->run(population, buffers.inputs, buffers.outputs);
        backend.download(*buffers.outputs[0].buffer, 0, std::span<float>(&loss, 1));
    };
    run(3);
    static_cast<void>(backend.take_profile());
    const double start = seconds_now();
    run(runs);
    return (seconds_now() - start) / runs;
}

}  // namespace

void measure_training(const VulkanOptions& options, std::int64_t scale, int runs,
                      const std::string& only) {
    const std::int64_t population = std::max<std::int64_t>(256 / scale, 1);
    const std::string name = fmt::format("training step of {} MLPs", population);
    if (name.find(only) == std::string::npos) return;
    const Graph graph = training_step();
    VulkanOptions profiled = options;
    profiled.profile = true;
    float loss = 0.0F;
    const double wall = measure(*make_vulkan_backend(options), graph, population, runs, loss);
    const auto backend = make_vulkan_backend(profiled);
    static_cast<void>(measure(*backend, graph, population, runs, loss));
    const std::vector<KernelTime> kernels = backend->take_profile();
    double device = 0.0;
    for (const KernelTime& kernel : kernels) device += kernel.seconds / runs;
    fmt::print("{:<43} {:>10.3f} {:>10.3f} ms; loss {:.4f} after {} steps\n", name, device * 1e3,
               wall * 1e3, loss, runs + 3);
    for (const KernelTime& kernel : kernels)
        fmt::print("    {:>10.4f} ms in {:>3}  {}\n", kernel.seconds / runs * 1e3,
                   kernel.dispatches / runs, kernel.kernel);
    std::fflush(stdout);
}

}  // namespace cambrian
