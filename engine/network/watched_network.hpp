#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/network/network.hpp"

namespace cambrian {

/// A network whose passes name what its slots and its head give, as captures (captures.hpp) of the
/// graph or the scan's body that they write into; nodes and results are those of the network. A
/// graph takes one pass of a prefix.
class WatchedNetwork final : public ForwardModel {
  public:
    /// The network must outlive it.
    WatchedNetwork(const Network& network, std::string_view prefix)
        : network_(network), prefix_(prefix) {}

    [[nodiscard]] std::int64_t input_features() const override { return network_.input_features(); }
    [[nodiscard]] std::span<const StateSpec> state() const override { return network_.state(); }
    [[nodiscard]] Var apply(Var x, const NetworkOperands& operands) const override;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const NetworkOperands& operands) const override;
    [[nodiscard]] Var sequence(Var x, const NetworkOperands& operands) const override;

  private:
    const Network& network_;
    std::string prefix_;
};

/// "<prefix>slot.3", or "<prefix>head" for slot = head.
[[nodiscard]] std::string watched_name(std::string_view prefix, int slot, int head);

}  // namespace cambrian
