#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/evolve/tasks/settings.hpp"
#include "cambrian/evolve/tasks/standard.hpp"

namespace cambrian::evolve {
namespace {

class XorTask final : public Task {
  public:
    std::string_view type() const override { return "xor"; }
    TaskSignature signature() const override { return {.observations = 2, .outputs = 1}; }

    Objective build(const ObjectiveContext& context, Phase) const override {
        Graph& graph = context.graph;
        const Var patterns =
            graph.constant(Tensor(ValueType::real, Shape{4, 2}, {0, 0, 0, 1, 1, 0, 1, 1}));
        const Var answers = graph.constant(Tensor(ValueType::real, Shape{4}, {0, 1, 1, 0}));

        const Var outputs = reshape(context.network.apply(patterns, context.operands), {4});
        const Var errors = square(outputs - answers);
        return {.fitness = 4.0 - sum_all(errors), .env_steps = {}, .per_sample = errors};
    }
};

}  // namespace

std::unique_ptr<Task> make_xor_task(const nlohmann::json& settings, const TaskContext&) {
    static constexpr std::array<std::string_view, 1> keys{"type"};
    [[maybe_unused]] const Settings checked(settings, "task", keys);
    return std::make_unique<XorTask>();
}

}  // namespace cambrian::evolve
