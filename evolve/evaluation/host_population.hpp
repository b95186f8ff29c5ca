#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/evaluation/population_runner.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// The networks of a shard on a backend, for a task that runs on the host.
class HostPopulation final : public Population {
  public:
    /// Everything must outlive the population.
    /// @param origins of the individuals; none where no run bore them.
    HostPopulation(Backend& backend, PopulationRunner& runner, const TaskSignature& signature,
                   std::span<const Individual* const> individuals,
                   std::span<const BirthId> origins);

    [[nodiscard]] std::size_t size() const override { return individuals_.size(); }
    [[nodiscard]] std::vector<float> outputs(std::span<const float> inputs,
                                             std::int64_t batch) override;
    [[nodiscard]] std::vector<float> step(std::span<const float> observations,
                                          std::int64_t batch) override;
    void reset() override { batch_ = 0; }
    void reset(std::span<const std::uint8_t> worlds) override;
    [[nodiscard]] std::optional<BirthId> origin(std::size_t network) const override;
    [[nodiscard]] Genome genome(std::size_t network) const override;
    void count_steps(std::size_t network, std::uint64_t steps) override;
    void fail(std::size_t network) override;
    [[nodiscard]] std::uint64_t env_steps(std::size_t network) const { return steps_[network]; }
    [[nodiscard]] bool has_failed(std::size_t network) const { return failed_[network]; }

  private:
    void begin_worlds(std::int64_t batch);
    /// Throws ShapeError for a number that no network has.
    void require(std::size_t network) const;

    Backend& backend_;
    PopulationRunner& runner_;
    std::int64_t observations_;
    std::span<const Individual* const> individuals_;
    std::span<const BirthId> origins_;
    std::vector<std::uint64_t> steps_;  ///< Of each network.
    std::vector<bool> failed_;
    GrowingBuffer inputs_{ValueType::real};
    std::int64_t batch_ = 0;        ///< Worlds of each network; 0: nothing is carried.
    std::int64_t state_words_ = 0;  ///< Of one world, enough for every network.
    std::vector<float> state_;      ///< [networks, batch, words].
};

/// Outputs of a network for rows [batch, observations], each on its own: a network with state
/// starts from zero.
[[nodiscard]] Var stateless_outputs(const ForwardModel& network, Var rows,
                                    const NetworkOperands& operands);

}  // namespace cambrian::evolve
