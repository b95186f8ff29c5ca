#pragma once

#include <optional>

#include "cambrian/engine/graph/builders/arithmetic.hpp"

// Losses: of classes by index, and means over all elements of a prediction and a target, rank 0.
namespace cambrian {

/// The mean of (prediction - target)^2 over all elements, rank 0.
Var mse(Var prediction, Var target, Where where = Where::current());
/// The mean of |prediction − target|.
Var mae(Var prediction, Var target, Where where = Where::current());
/// The mean of e²/2 where |e| = |prediction − target| ≤ delta, else of delta (|e| − delta/2)
/// (Huber, 1964). Throws ShapeError unless delta is positive.
Var huber(Var prediction, Var target, double delta = 1.0, Where where = Where::current());
/// The mean of −t log p − (1 − t) log(1 − p) with p = sigmoid(x), as
/// (max(0, x) − t x) + log1p(e^-|x|) of the logit x: a small loss of a large logit is kept.
Var bce_with_logits(Var logits, Var targets, Where where = Where::current());

enum class LossForm : std::uint8_t {
    mean,  ///< Over the targets that count; 0 when none does.
    sum,
    each,  ///< One loss a target, 0 for one that does not count.
};
struct LossOptions {
    LossForm form = LossForm::mean;
    std::optional<std::int32_t> ignored{};  ///< Targets of this index do not count.
};
/// Negative log-likelihood: −x[.., target] of log-probabilities [.., classes] and integer targets
/// [..]. A target that is no class is an InputError at run time.
Var nll(Var log_probabilities, Var targets, const LossOptions& options = {},
        Where where = Where::current());
/// log Σ exp(x) − x[.., target] of logits [.., classes] and integer targets [..], as
/// (max x − x[.., target]) + log Σ exp(x − max x): nll of log_softmax without storing it.
Var cross_entropy(Var logits, Var targets, const LossOptions& options = {},
                  Where where = Where::current());

}  // namespace cambrian
