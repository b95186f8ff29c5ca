#pragma once

#include <string>
#include <vector>

#include "cambrian/engine/backend/named_buffers.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/train/optimizer.hpp"

// Two programs over the same weights: one trains a small network, one asks it about a single row.
namespace cambrian::test {

inline constexpr std::int64_t training_rows = 6;

/// tanh(x w0) w1, of weights that every individual has for itself.
inline Var small_network(Graph& graph, Var x) {
    const Var w0 = graph.input("w0", ValueType::real, {3, 4}, true);
    const Var w1 = graph.input("w1", ValueType::real, {4, 2}, true);
    const Var hidden = tanh(matmul(x, w0));
    graph.capture("hidden", hidden);
    return matmul(hidden, w1);
}

/// Half the sum of squared errors on rows [6, 3] as its output; its gradients update the weights.
/// Captures hidden, loss, hidden.gradient, w0.gradient and w1.gradient.
inline Graph training_graph(const Optimizer& optimizer = Sgd{.momentum = 0.9}) {
    Graph graph;
    const Var rows = graph.input("rows", ValueType::real, {training_rows, 3});
    const Var targets = graph.input("targets", ValueType::real, {training_rows, 2});
    const StepScalars scalars{graph.input("rate", ValueType::real, {}),
                              graph.input("step", ValueType::real, {})};
    const Var loss = sum_all(square(small_network(graph, rows) - targets)) * 0.5;
    graph.capture("loss", loss);
    graph.output(loss);
    const std::vector<Var> weights{{&graph, graph.inputs()[4]}, {&graph, graph.inputs()[5]}};
    const std::vector<Var> gradients = gradient(loss, weights);
    for (std::size_t i = 0; i < weights.size(); ++i) {
        std::vector<Var> moments;
        for (std::size_t m = 0; m < moment_count(optimizer); ++m)
            moments.push_back(graph.input("w" + std::to_string(i) + ".moment" + std::to_string(m),
                                          ValueType::real, weights[i].shape(), true));
        const UpdatedParameter next = update(optimizer, scalars, weights[i], gradients[i], moments);
        graph.update(weights[i], next.value);
        for (std::size_t m = 0; m < moments.size(); ++m) graph.update(moments[m], next.moments[m]);
    }
    capture_gradients(loss, std::vector<std::string>{"hidden", "w0", "w1"});
    return graph;
}

/// The same network on one row.
inline Graph inference_graph() {
    Graph graph;
    graph.output(small_network(graph, graph.input("row", ValueType::real, {1, 3})));
    return graph;
}

/// Both programs on a backend, with their buffers.
class Training {
  public:
    Training(Backend& backend, std::int64_t population,
             const Optimizer& optimizer = Sgd{.momentum = 0.9})
        : backend_(backend),
          population_(population),
          train_(training_graph(optimizer)),
          infer_(inference_graph()),
          buffers_(backend),
          loss_(backend.allocate(ValueType::real, population)),
          answer_(backend.allocate(ValueType::real, 2 * population)),
          train_program_(backend.compile(train_)),
          infer_program_(backend.compile(infer_)),
          train_bindings_(buffers_.bind(train_, population, std::vector<Binding>{{loss_.get()}})),
          infer_bindings_(
              buffers_.bind(infer_, population, std::vector<Binding>{{answer_.get()}})) {
        write("rows", {training_rows, 3}, 0.3);
        write("targets", {training_rows, 2}, 0.7);
        write("w0", {population, 3, 4}, 0.1);
        write("w1", {population, 4, 2}, -0.2);
        write("row", {1, 3}, 0.5);
        buffers_.write("rate", Tensor::scalar(0.125));
    }

    void step() {
        buffers_.write("step", Tensor::scalar(++steps_));
        train_program_->run(population_, train_bindings_.inputs, train_bindings_.outputs);
    }
    void infer() {
        infer_program_->run(population_, infer_bindings_.inputs, infer_bindings_.outputs);
    }
    [[nodiscard]] std::vector<float> answer() { return download(*answer_, 2 * population_); }
    [[nodiscard]] std::vector<float> loss() { return download(*loss_, population_); }
    [[nodiscard]] NamedBuffers& buffers() { return buffers_; }
    [[nodiscard]] const Graph& inference() const { return infer_; }
    [[nodiscard]] const Graph& training() const { return train_; }

  private:
    /// Numbers between -1 and 1 that repeat after 11.
    void write(const std::string& name, const Shape& shape, double first) {
        Tensor tensor(ValueType::real, shape);
        for (std::size_t i = 0; i < tensor.elements.size(); ++i)
            tensor.elements[i] = first + 0.0625 * static_cast<double>(i % 11) - 0.25;
        buffers_.write(name, tensor);
    }
    std::vector<float> download(const Buffer& buffer, std::int64_t count) {
        std::vector<float> values(static_cast<std::size_t>(count));
        backend_.download(buffer, 0, std::span<float>(values));
        return values;
    }

    Backend& backend_;
    std::int64_t population_;
    Graph train_;
    Graph infer_;
    NamedBuffers buffers_;
    std::unique_ptr<Buffer> loss_;
    std::unique_ptr<Buffer> answer_;
    std::unique_ptr<Program> train_program_;
    std::unique_ptr<Program> infer_program_;
    NamedBuffers::Bindings train_bindings_;
    NamedBuffers::Bindings infer_bindings_;
    int steps_ = 0;
};

/// After each of some training steps, what the inference program says and what another backend
/// makes of the same row and of the weights as they are now.
inline void expect_inference_follows(Training& training, Backend& other, std::int64_t population) {
    std::vector<float> before;
    for (int step = 0; step < 4; ++step) {
        training.step();
        training.infer();
        const std::vector<float> answer = training.answer();
        EXPECT_NE(answer, before) << "step " << step;
        before = answer;
        std::vector<Tensor> inputs;
        for (const char* name : {"row", "w0", "w1"})
            inputs.push_back(training.buffers().read(name));
        const auto expected = evaluate(other, training.inference(), population, inputs);
        EXPECT_EQ(answer,
                  std::vector<float>(expected[0].elements.begin(), expected[0].elements.end()))
            << "step " << step;
    }
}

}  // namespace cambrian::test
