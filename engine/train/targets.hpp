#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/train/inverses.hpp"
#include "cambrian/engine/train/slot_trace.hpp"

// Targets of slots, and what slots learn from them.
namespace cambrian {

/// The inverses of a network in a graph.
struct InverseOperands {
    std::span<const Inverse> inverses;
    std::span<const Var> parts;  ///< inverse_parts().
    Activation activation = Activation::identity;
};

/// (What a site gives − its target) / rows for each site of a trace; nothing for sites that nothing
/// with a target reads. It is the gradient of the site's own loss |site − target|² / 2, the mean
/// over rows, with respect to what it gives.
using Residuals = std::vector<std::optional<Var>>;

/// target = site − step · rows · dL/dsite, by the chain rule, so that a row's target does not
/// depend on how many rows there are.
[[nodiscard]] Residuals gradient_targets(const Network& network, const SlotTrace& trace,
                                         double step);
/// What the head reads has that target; what a slot reads has read + g(target) − g(slot) with the
/// inverse g of the slot, the mean where several read it (Lee et al. 2015, "Difference Target
/// Propagation"). A slot that is passed by hands its target on to the one before it.
[[nodiscard]] Residuals difference_targets(const Network& network, const SlotTrace& trace,
                                           double step, const InverseOperands& inverses);

/// Gradients of all local losses, and of the loss of the head, with respect to `parts`: each flows
/// to the weights of its own slot and of the links to it alone.
[[nodiscard]] std::vector<Var> local_gradients(const SlotTrace& trace, const Residuals& residuals,
                                               std::span<const Var> parts);

/// Σ |g(f(r + noise)) − (r + noise)|² / 2 over what slots f with a target read, the mean over
/// rows; of a trace with noise. Nothing where no slot has an inverse and a target.
[[nodiscard]] std::optional<Var> reconstruction_loss(const SlotTrace& trace,
                                                     const Residuals& residuals,
                                                     const InverseOperands& inverses);

/// Slots (not the head) that a network may give targets to, ascending: the filled ones.
[[nodiscard]] std::vector<int> aiming_slots(const Network& network);
/// How near slots come to their targets, over rows and ticks together.
struct TargetDistance {
    Var budgets;  ///< [slots] (1 + cosine of what they give and their target) / 2.
    Var gaps;     ///< [slots] root mean square of the difference.
};
/// Of aiming_slots(); those without a target have a budget of 1 and a gap of 0.
[[nodiscard]] TargetDistance target_distance(const Network& network, const SlotTrace& trace,
                                             const Residuals& residuals);

}  // namespace cambrian
