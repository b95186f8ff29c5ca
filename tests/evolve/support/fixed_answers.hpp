#pragma once

#include <utility>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve::testing {

/// A network that gives the same answers whatever it sees: what a task makes of known ones.
class FixedAnswers final : public ForwardModel {
  public:
    FixedAnswers(std::int64_t inputs, Tensor answers)
        : inputs_(inputs), answers_(std::move(answers)) {}
    std::int64_t input_features() const override { return inputs_; }
    std::span<const StateSpec> state() const override { return {}; }
    Var apply(Var x, const NetworkOperands&) const override { return x.graph->constant(answers_); }
    StepResult step(Var x, std::span<const Var>, const NetworkOperands& operands) const override {
        return {apply(x, operands), {}};
    }
    Var sequence(Var x, const NetworkOperands& operands) const override {
        return apply(x, operands);
    }

  private:
    std::int64_t inputs_;
    Tensor answers_;
};

/// What known answers, shaped as the outputs of a network, are worth.
struct Judged {
    double fitness = 0.0;
    double accuracy = -1.0;  ///< Where the task tells right from wrong.
};
inline Judged judge_answers(Backend& backend, const Task& task, Tensor answers,
                            Phase phase = Phase::train) {
    Graph graph;
    std::vector<Var> data;
    const std::vector<Tensor> values = task.data(phase);
    for (const Tensor& tensor : values)
        data.push_back(graph.input("data", tensor.type, tensor.shape));
    const FixedAnswers network(task.signature().observations, std::move(answers));
    const Objective objective = task.build({graph, network, {}, data, {}}, phase);
    graph.output(objective.fitness);
    if (objective.accuracy) graph.output(*objective.accuracy);
    const std::vector<Tensor> outputs = evaluate(backend, graph, 1, values);
    return {outputs[0].elements[0], outputs.size() > 1 ? outputs[1].elements[0] : -1.0};
}

}  // namespace cambrian::evolve::testing
