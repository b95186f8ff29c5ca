#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/tests/support/neuron_networks.hpp"

// Networks of single neurons, each of a structure of its own, and an episode that runs to its end.
namespace cambrian::evolve::bench {

/// Cart_pole that begins again, always alike, in the step after a fall: every step is computed. A
/// step that ends in a fall is worth nothing: a reward that no network could change would need
/// none.
class EndlessCartPole final : public Environment {
  public:
    std::string_view type() const override { return "endless_cart_pole"; }
    std::int64_t observations() const override { return inner_->observations(); }
    std::int64_t outputs() const override { return inner_->outputs(); }
    std::int64_t reset_draws() const override { return inner_->reset_draws(); }
    std::vector<Var> reset(Var draws) const override { return inner_->reset(draws); }
    Var observe(std::span<const Var> state) const override { return inner_->observe(state); }
    EnvironmentStep step(std::span<const Var> state, Var output) const override {
        constexpr double start = 0.02;
        EnvironmentStep next = inner_->step(state, output);
        const Var fallen = reshape(next.done, {next.done.shape()[0], 1});
        for (Var& each : next.state) each = select(fallen, constant(*each.graph, start), each);
        next.reward = select(next.done, 0.0 * next.reward, next.reward);
        next.done = less(next.reward, 0.0 * next.reward);
        return next;
    }

  private:
    std::unique_ptr<Task> task_ = standard_tasks().make({{"type", "cart_pole"}}, {});
    const Environment* inner_ = environment_of(*task_);
};

inline std::unique_ptr<Task> endless_cart_pole(std::int64_t episodes, std::int64_t steps) {
    TaskRegistry tasks = standard_tasks();
    tasks.add(rollout_task([] { return std::make_unique<EndlessCartPole>(); }, "For benchmarks."));
    return tasks.make({{"type", "endless_cart_pole"}, {"episodes", episodes}, {"steps", steps}},
                      {});
}

inline std::vector<Genome> neuron_population(const test::NeuronDraw& draw, std::uint64_t first,
                                             std::uint64_t count) {
    std::vector<Genome> genomes;
    for (std::uint64_t i = 0; i < count; ++i)
        genomes.push_back(test::random_neuron_genome(draw, first + i));
    return genomes;
}

/// What xor makes of NEAT: 1 to 5 hidden neurons.
inline constexpr test::NeuronDraw evolved_for_xor{
    .in = 2, .out = 1, .min_hidden = 1, .max_hidden = 5, .max_inputs = 4};
/// 6 to 60 neurons with the inputs.
inline constexpr test::NeuronDraw grown_for_cart_pole{
    .in = 4, .out = 2, .min_hidden = 0, .max_hidden = 54, .max_inputs = 4, .all_live = true};

}  // namespace cambrian::evolve::bench
