#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/json/json_read.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {
namespace {

class XorTask final : public Task {
  public:
    std::string_view type() const override { return "xor"; }
    TaskSignature signature() const override { return {.observations = 2, .outputs = 1}; }

    /// Four answers from 0 to 1 on the right sides cost less than 4 · .5². Others may cost more and
    /// are tested later: a test of every leader would change all results that are published.
    std::optional<SolvedTest> solved() const override {
        return SolvedTest{.candidate = 3.0, .phase = Phase::champion, .passes = 1.0};
    }

    Objective build(const ObjectiveContext& context, Phase phase) const override {
        Graph& graph = context.graph;
        const Var patterns =
            graph.constant(Tensor(ValueType::real, Shape{4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}));
        const Var answers = graph.constant(Tensor(ValueType::real, Shape{4}, {0, 1, 1, 0}));

        const Var outputs = reshape(context.network.apply(patterns, context.operands), {4});
        if (phase == Phase::champion) {
            const Var same_side = less(0.0, (outputs - 0.5) * (answers - 0.5));
            return {.fitness = 0.25 * sum_all(cast(same_side, ValueType::real)),
                    .env_steps = {},
                    .per_sample = {}};
        }
        const Var errors = square(outputs - answers);
        return {.fitness = 4.0 - sum_all(errors), .env_steps = {}, .per_sample = errors};
    }
};

}  // namespace

/// `{"type": "xor"}`: the four patterns of exclusive or.
TaskKind xor_task() {
    const auto make = [](const nlohmann::json& settings, const TaskContext&) {
        static constexpr std::array<std::string_view, 1> keys{"type"};
        json_read::object(settings, "task", keys);
        return std::make_unique<XorTask>();
    };
    const auto describe = [](nlohmann::ordered_json& schema) {
        schema["properties"] = nlohmann::ordered_json::object();
    };
    return {"xor",
            "The four rows of exclusive or; fitness = 4 - sum of squared errors; solved: "
            "all four answers are on the right side of .5, tested from a fitness of 3 on, which "
            "such answers from 0 to 1 have.",
            make, describe};
}

}  // namespace cambrian::evolve
