#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {
namespace {

class CallbackTask final : public Task {
  public:
    CallbackTask(std::int64_t observations, std::int64_t outputs,
                 std::function<std::vector<double>(Population&)> fitness)
        : observations_(observations), outputs_(outputs), fitness_(std::move(fitness)) {}

    std::string_view type() const override { return "callback"; }
    TaskSignature signature() const override {
        return {.observations = observations_, .outputs = outputs_, .host = true};
    }

    std::vector<double> evaluate(Population& population, Phase, std::uint64_t,
                                 std::uint64_t) const override {
        std::vector<double> fitness = fitness_(population);
        if (fitness.size() != population.size())
            throw ConfigError(fmt::format(
                "the fitness function returned {} values (the population has {} networks) return "
                "one fitness for each network, in their order",
                fitness.size(), population.size()));
        return fitness;
    }

  private:
    std::int64_t observations_;
    std::int64_t outputs_;
    std::function<std::vector<double>(Population&)> fitness_;
};

}  // namespace

std::unique_ptr<Task> make_callback_task(std::int64_t observations, std::int64_t outputs,
                                         std::function<std::vector<double>(Population&)> fitness) {
    if (observations < 1 || outputs < 1)
        throw ConfigError(fmt::format(
            "a callback task with {} observations and {} outputs (both must be at least 1) say how "
            "wide a row is that the networks read and write",
            observations, outputs));
    CAMBRIAN_ASSERT(fitness != nullptr);
    return std::make_unique<CallbackTask>(observations, outputs, std::move(fitness));
}

}  // namespace cambrian::evolve
