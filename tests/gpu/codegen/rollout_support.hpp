#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/bytecode/bytecode.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::test {

/// The graph of a rollout over a population, as an evaluator compiles it, and what goes into it.
class Rollout {
  public:
    enum class Form { nodes, bytecode };
    /// @param network a config's "network" object.
    /// @param form whether the network is nodes of the graph, or data that one of them interprets.
    Rollout(std::string_view network, std::int64_t episodes, std::int64_t steps,
            Form form = Form::nodes)
        : Rollout(network, {{"type", "cart_pole"}, {"episodes", episodes}, {"steps", steps}},
                  form) {}
    /// @param task a config's "task" object, of an environment.
    Rollout(std::string_view network, const nlohmann::json& task, Form form = Form::nodes)
        : task_(evolve::standard_tasks().make(task, {})),
          network_(blueprint_from_json(nlohmann::json::parse(network),
                                       task_->signature().observations,
                                       task_->signature().outputs)) {
        if (form == Form::bytecode) {
            bytecode_ = make_bytecode(network_);
            bytecode_.capacity = bytecode_.capacity.rounded();
            bytecode_.words.resize(static_cast<std::size_t>(bytecode_.capacity.words));
            interpreted_ = std::make_unique<BytecodeNetwork>(
                task_->signature().observations, task_->signature().outputs, bytecode_.capacity);
        }
        Graph single;
        const std::int64_t weights = interpreted_ ? bytecode_.capacity.weights : weight_count();
        const std::int64_t codes = interpreted_ ? bytecode_.capacity.words : activations();
        const NetworkOperands operands{
            .weights = single.input("weights", ValueType::real, {weights}),
            .activations = single.input("activations", ValueType::integer, {codes}),
            .enabled = single.input("enabled", ValueType::boolean, {network_.slot_count()})};
        std::vector<Var> draws;
        for (const Tensor& key : keys()) draws.push_back(single.input("key", key.type, key.shape));
        const ForwardModel& used = interpreted_ ? static_cast<const ForwardModel&>(*interpreted_)
                                                : static_cast<const ForwardModel&>(network_);
        const evolve::Objective objective = task_->build(
            {.graph = single, .network = used, .operands = operands, .data = {}, .draws = draws},
            evolve::Phase::train);
        single.output(objective.fitness);
        single.output(*objective.env_steps);
        single.output(*objective.per_sample);
        constexpr std::array<std::size_t, 3> own{0, 1, 2};
        graph_ = eliminate_dead_code(vmap(single, own));
    }

    [[nodiscard]] const Graph& graph() const { return graph_; }
    [[nodiscard]] std::int64_t weight_count() const { return network_.weight_count(); }

    /// Random weights and activations (of a bytecode its own); individual i has the same ones in
    /// any population.
    [[nodiscard]] std::vector<Tensor> inputs(std::int64_t population) const {
        Tensor weights(ValueType::real, {population, network_.weight_count()});
        Tensor activations_of(ValueType::integer, {population, activations()});
        Tensor enabled(ValueType::boolean, {population, network_.slot_count()});
        for (double& flag : enabled.elements) flag = 1.0;
        for (std::int64_t i = 0; i < population; ++i) {
            RandomStream rng(random_key(11, "rollout test"), static_cast<std::uint64_t>(i));
            fill(weights, i, [&] { return static_cast<double>(rng.normal()) * 0.7; });
            fill(activations_of, i, [&] { return static_cast<double>(rng.index(7)); });
        }
        return as_operands({weights, activations_of, enabled}, population);
    }

    /// Of multilayer_perceptron: every hidden unit leans the way the pole falls, so that all
    /// episodes last until their end. Activations are tanh, then none.
    [[nodiscard]] std::vector<Tensor> balancing_inputs(std::int64_t population) const {
        constexpr std::array gains{0.05, 0.15, 1.0, 0.5};
        std::vector<Tensor> tensors{{ValueType::real, {population, weight_count()}},
                                    {ValueType::integer, {population, activations()}},
                                    {ValueType::boolean, {population, network_.slot_count()}}};
        const std::int64_t hidden = (weight_count() - 2) / 7;
        const std::int64_t second = 5 * hidden;
        for (std::int64_t i = 0; i < population; ++i) {
            RandomStream rng(random_key(12, "rollout test"), static_cast<std::uint64_t>(i));
            std::int64_t word = 0;
            fill(tensors[0], i, [&] {
                const double size = 1.0 + 0.2 * static_cast<double>(rng.uniform());
                const std::int64_t at = word++;
                if (at < 4 * hidden) return size * gains[static_cast<std::size_t>(at % 4)];
                const bool output = at >= second && at < second + 2 * hidden;
                return output ? (at < second + hidden ? -size : size) : 0.0;
            });
            int code = 0;
            fill(tensors[1], i, [&] { return code++ == 0 ? 4.0 : 0.0; });
        }
        return as_operands(std::move(tensors), population);
    }

  private:
    [[nodiscard]] std::int64_t activations() const {
        return std::max<std::int64_t>(network_.activation_count(), 1);
    }

    template <class Value>
    static void fill(Tensor& tensor, std::int64_t individual, const Value& value) {
        const auto words = static_cast<std::size_t>(tensor.shape[1]);
        const auto first = static_cast<std::size_t>(individual) * words;
        for (std::size_t i = 0; i < words; ++i) tensor.elements[first + i] = value();
    }

    /// Of the episodes; none where no start is drawn.
    [[nodiscard]] std::vector<Tensor> keys() const {
        return task_->draws(evolve::Phase::train, 5, 0);
    }

    /// Weights, codes and flags as the operands of the form, and the key of the episodes.
    [[nodiscard]] std::vector<Tensor> as_operands(std::vector<Tensor> tensors,
                                                  std::int64_t population) const {
        for (Tensor& key : keys()) tensors.push_back(std::move(key));
        if (!interpreted_) return tensors;
        Tensor packed(ValueType::real, {population, bytecode_.capacity.weights});
        Tensor words(ValueType::integer, {population, bytecode_.capacity.words});
        std::vector<float> own(static_cast<std::size_t>(weight_count()));
        std::vector<float> row(static_cast<std::size_t>(bytecode_.capacity.weights));
        for (std::int64_t i = 0; i < population; ++i) {
            for (std::size_t w = 0; w < own.size(); ++w)
                own[w] = static_cast<float>(
                    tensors[0].elements[static_cast<std::size_t>(i) * own.size() + w]);
            pack_weights(network_, own, row);
            std::size_t at = 0;
            fill(packed, i, [&] { return static_cast<double>(row[at++]); });
            at = 0;
            fill(words, i, [&] { return static_cast<double>(bytecode_.words[at++]); });
        }
        tensors[0] = std::move(packed);
        tensors[1] = std::move(words);
        return tensors;
    }

    std::unique_ptr<evolve::Task> task_;
    Network network_;
    Bytecode bytecode_;
    std::unique_ptr<BytecodeNetwork> interpreted_;
    Graph graph_;
};

/// Two layers: 4 to `hidden` with an activation, to 2.
inline std::string multilayer_perceptron(std::int64_t hidden) {
    return fmt::format(
        R"({{"layers": [{{"type": "dense", "out": {}, "activation": "tanh"}}, {{"type": "dense"}}]}})",
        hidden);
}

}  // namespace cambrian::test
