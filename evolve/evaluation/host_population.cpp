#include "cambrian/evolve/evaluation/host_population.hpp"

#include <fmt/format.h>

#include <array>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::evolve {
namespace {

// Variants below are the phases of tasks that run on the backend.
constexpr std::int64_t first_batch_variant = 16;

}  // namespace

HostPopulation::HostPopulation(Backend& backend, PopulationRunner& runner,
                               const TaskSignature& signature,
                               std::span<const Individual* const> individuals)
    : backend_(backend),
      runner_(runner),
      observations_(signature.observations),
      individuals_(individuals) {}

std::vector<float> HostPopulation::outputs(std::span<const float> inputs, std::int64_t batch) {
    if (batch < 1 || static_cast<std::int64_t>(inputs.size()) != batch * observations_)
        throw ShapeError(fmt::format(
            "a population was given {} values for {} rows (a row has {} observations) pass batch × "
            "observations values, row by row",
            inputs.size(), batch, observations_));
    backend_.upload(inputs_.hold(backend_, batch * observations_), 0, inputs);

    const auto build = [&](Graph& graph, const ForwardModel& network,
                           const NetworkOperands& operands) {
        const Var rows = graph.input("rows", ValueType::real, Shape{batch, observations_});
        return std::vector<Var>{stateless_outputs(network, rows, operands)};
    };
    const std::array<Binding, 1> shared{{{inputs_.get(), 0}}};
    return runner_
        .run(individuals_,
             {.variant = first_batch_variant + batch, .build = build, .shared = shared})[0]
        .reals;
}

Var stateless_outputs(const ForwardModel& network, Var rows, const NetworkOperands& operands) {
    if (!network.stateful()) return network.apply(rows, operands);
    const std::vector<Var> zeros = network.initial_state(*rows.graph, rows.shape()[0]);
    return network.step(rows, zeros, operands).output;
}

}  // namespace cambrian::evolve
