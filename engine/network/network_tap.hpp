#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/network/network.hpp"

// Between the slots of a network: what stands there sees, and may replace, everything that one slot
// reads of another.
namespace cambrian {

enum class ReadKind : std::uint8_t {
    chain,  ///< What the slot before gives; rows.
    link,   ///< What the source of a link gives, before its weights; vectors.
    skip,   ///< What the slot before takes, which an empty residual adds.
};

struct SlotRead {
    ReadKind kind = ReadKind::chain;
    int reader = 0;           ///< Slot, or slots() for the head.
    int source = input_port;  ///< Slot, or the port.
    bool delayed = false;     ///< Of the previous step.
};

/// Is asked in the order of the computation: the reads of a slot from others, what it takes (with
/// what links add), the read of an empty residual, and what it gives.
class NetworkTap {
  public:
    virtual ~NetworkTap() = default;
    /// What the reader gets in place of the value; of its shape.
    virtual Var read(const SlotRead& read, Var value) = 0;
    virtual void took(int slot, Var input) = 0;
    virtual void gave(int slot, Var output) = 0;
};

/// Whether a slot reads what another gave in the previous step: in a mesh, or by backward links.
[[nodiscard]] bool reads_previous_step(const Blueprint& blueprint);

/// Network::apply with a tap.
[[nodiscard]] Var apply_tapped(const Network& network, Var x, const NetworkOperands& operands,
                               NetworkTap& tap);
/// Network::step with a tap.
[[nodiscard]] StepResult step_tapped(const Network& network, Var x, std::span<const Var> state,
                                     const NetworkOperands& operands, NetworkTap& tap);
/// Sequences [batch, time, features] layer by layer, of a network that reads no previous step.
[[nodiscard]] Var sequence_tapped(const Network& network, Var x, const NetworkOperands& operands,
                                  NetworkTap& tap);

}  // namespace cambrian
