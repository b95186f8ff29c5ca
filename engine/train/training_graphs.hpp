#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/network/observe/observation.hpp"
#include "cambrian/engine/train/trainer.hpp"

// The programs of a training. Their inputs meet by name in buffers: what belongs to an individual
// is "weights", "moment.0" ..; samples are "train.inputs", "train.targets"; an epoch walks over
// "order" at "position".
namespace cambrian::training_graphs {

inline constexpr std::string_view weights = "weights";
inline constexpr std::string_view best_weights = "best.weights";

// Of difference target propagation: "inverses" and "inverse.moment.0" ..
inline constexpr std::string_view inverses = "inverses";
inline constexpr std::string_view inverse_noise = "inverse.noise";

// What the sums of an epoch begin with, and those of an evaluation: one between two steps leaves
// the epoch's alone.
inline constexpr std::string_view epoch_sums = "sum";
inline constexpr std::string_view evaluation_sums = "evaluation.sum";

/// The buffer of what a sum has lost, which is its value together with it.
[[nodiscard]] std::string lost_of(std::string_view sum);

/// Throws ConfigError or ShapeError unless the network can read and answer such samples.
void check_fit(const Network& network, const Loss& loss, const Samples& samples,
               std::string_view part);

/// A network's genes as constants beside its weights.
[[nodiscard]] NetworkOperands network_operands(Graph& graph, const Network& network, Var values);

/// A vector of weights tensor by tensor, in the order of Network::weights().
[[nodiscard]] std::vector<Var> parts_of(const Network& network, Var values);

/// The weights that an optimizer has moved; those that stay above 0 no further down than
/// smallest_positive, or than they were where that is less.
[[nodiscard]] Var kept_positive(const Network& network, Var before, Var moved);

/// What a network answers to rows [n, features], or to sequences [n, time, features]: at every
/// step, or only at the last one where the targets have no axis of time.
[[nodiscard]] Var answers(const ForwardModel& network, const NetworkOperands& operands, Var inputs,
                          Var targets, const Loss& loss);

/// One step on the next `rows` rows of the order. Every individual has weights, moments, "step"
/// (those taken), "rate", "active" the key "noise" of its random numbers and the sums
/// "sum.loss", "sum.right", "sum.skipped"; all share "order", "position", "batch", "pass",
/// "factors" and "sum.count". An individual that is not active or whose gradient is not finite
/// keeps what it has. With the methods of targets there are "sum.budget" and "sum.gap" of
/// aiming_slots(), with inverses also "inverses", their moments and the key "inverse.noise". Beside
/// each sum there is what it lost.
[[nodiscard]] Graph step(const Network& network, const TrainingSettings& settings,
                         const Samples& samples, std::int64_t rows);

/// What the slots of the network give in the step on the next `rows` rows of the order, and which
/// gradients of the loss reach them, where no scan repeats them. Reads what `step` reads and
/// changes nothing.
[[nodiscard]] ObservedGraph observation(const Network& network, const Loss& loss,
                                        const Samples& samples, std::int64_t rows);

/// Adds the loss of the next `rows` rows of a part, from "position" on, to the evaluation's sums.
[[nodiscard]] Graph evaluation(const Network& network, const Loss& loss, const Samples& samples,
                               std::string_view part, std::string_view weights_name,
                               std::int64_t rows);

/// "best.weights" become "weights" where "improved" says so.
[[nodiscard]] Graph keep_best(const Network& network);

}  // namespace cambrian::training_graphs
