#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/tasks/environment.hpp"

namespace cambrian::evolve {

/// A car in a valley, too weak to drive out of it at once (Moore, 1990), whatever its motor is.
/// State: position and velocity.
class Valley : public Environment {
  public:
    explicit Valley(double goal) : goal_(goal) {}

    std::int64_t observations() const override { return 2; }
    std::int64_t reset_draws() const override { return 1; }
    std::vector<Var> reset(Var draws) const override;
    Var observe(std::span<const Var> state) const override;
    std::optional<Picture> picture(EpisodeState state) const override;

  protected:
    /// After a step.
    struct Car {
        std::vector<Var> state;
        Var arrived;  ///< boolean [episodes, 1]
    };
    /// @param push what the motor adds to the velocity, [episodes, 1].
    [[nodiscard]] Car drive(std::span<const Var> state, Var push) const;

  private:
    double goal_;
};

}  // namespace cambrian::evolve
