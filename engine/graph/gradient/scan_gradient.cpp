#include <memory>
#include <utility>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/movement.hpp"
#include "cambrian/engine/graph/builders/scan.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/gradient/scan_segments.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// The gradient of scan: a second forward scan keeps every carry as it was before its step, then a
// scan in the other direction recomputes each step and differentiates it.
namespace cambrian {
namespace {

bool is_real(Var value) {
    return value.info().type == ValueType::real;
}

/// Declares an input of a body like one step of `value`.
Var declare(Graph& body, Var value, bool sequence) {
    const Shape& shape = value.shape();
    return body.input("", value.info().type, sequence ? Shape(shape.extents().subspan(1)) : shape);
}

/// The gradient walks every step, also those after the end of an individual, where nothing may
/// fail.
ScanAttribute guarded(const GradientContext& context) {
    ScanAttribute scan = attribute<ScanAttribute>(context.attributes());
    if (scan.alive_carry >= 0)
        scan.body = std::make_shared<const Graph>(guard_body(*scan.body, scan.alive_carry));
    return scan;
}

class ScanGradient {
  public:
    explicit ScanGradient(GradientContext& context) : c_(context), scan_(guarded(context)) {
        for (std::size_t i = 0; i < c_.operand_count(); ++i) operands_.push_back(c_.operand(i));
    }

    void run() {
        const std::vector<Var> history = carry_history();
        plan_backward(history);
        Graph body = backward_body();
        const ScanResult result = scan(std::move(body), carries_, sequences_, invariants(),
                                       {.length = scan_.length, .reverse = !scan_.reverse});
        std::size_t next = 0;
        for (const std::size_t i : real_carries_) c_.accumulate(i, result.carries[next++]);
        for (const std::size_t i : wanted_invariants_) c_.accumulate(i, result.carries[next++]);
        for (std::size_t i = 0; i < wanted_sequences_.size(); ++i)
            c_.accumulate(wanted_sequences_[i], result.stacked[i]);
    }

  private:
    [[nodiscard]] std::size_t carry_count() const {
        return static_cast<std::size_t>(scan_.carries);
    }
    [[nodiscard]] std::size_t step_end() const {
        return carry_count() + static_cast<std::size_t>(scan_.sequences);
    }
    [[nodiscard]] std::span<const Var> all() const { return operands_; }
    [[nodiscard]] std::span<const Var> invariants() const { return all().subspan(step_end()); }
    [[nodiscard]] bool is_sequence(std::size_t i) const {
        return i >= carry_count() && i < step_end();
    }

    /// Every carry before each step, [length, ..] each.
    [[nodiscard]] std::vector<Var> carry_history() const {
        if (carry_count() == 0) return {};
        Graph body;
        std::vector<Var> inputs;
        for (std::size_t i = 0; i < operands_.size(); ++i)
            inputs.push_back(declare(body, operands_[i], is_sequence(i)));
        const std::vector<Var> outputs = inline_graph(body, *scan_.body, inputs);
        for (std::size_t i = 0; i < carry_count(); ++i) body.output(outputs[i]);
        for (std::size_t i = 0; i < carry_count(); ++i) body.output(inputs[i]);
        const auto carries = all().first(carry_count());
        const auto sequences = all().subspan(carry_count(), step_end() - carry_count());
        return scan(std::move(body), carries, sequences, invariants(),
                    {.length = scan_.length, .reverse = scan_.reverse})
            .stacked;
    }

    /// Operands of the backward scan: gradients of carries and of invariants are carried; carries
    /// before each step, sequences and gradients of stacked results are walked.
    void plan_backward(std::span<const Var> history) {
        for (std::size_t i = 0; i < operands_.size(); ++i) {
            if (i < carry_count() ? is_real(operands_[i]) : c_.wants(i))
                (i < carry_count() ? real_carries_
                 : is_sequence(i)  ? wanted_sequences_
                                   : wanted_invariants_)
                    .push_back(i);
        }
        for (const std::size_t i : real_carries_) carries_.push_back(c_.upstream(i));
        for (const std::size_t i : wanted_invariants_)
            carries_.push_back(broadcast(constant(c_.graph(), 0.0), operands_[i].shape()));
        sequences_.assign(history.begin(), history.end());
        sequences_.insert(sequences_.end(), operands_.begin() + scan_.carries,
                          operands_.begin() + static_cast<std::ptrdiff_t>(step_end()));
        for (std::size_t i = carry_count(); i < c_.result_count(); ++i) {
            if (!c_.arrived(i)) continue;
            arrived_results_.push_back(i);
            sequences_.push_back(c_.upstream(i));
        }
    }

    [[nodiscard]] Graph backward_body() const {
        Graph body;
        std::vector<Var> carried;
        std::vector<Var> walked;
        for (const Var value : carries_) carried.push_back(declare(body, value, false));
        for (const Var value : sequences_) walked.push_back(declare(body, value, true));
        // Operands of the step: carries before it, then its part of the sequences, then the
        // invariants.
        std::vector<Var> step(walked.begin(),
                              walked.begin() + static_cast<std::ptrdiff_t>(step_end()));
        for (const Var value : invariants()) step.push_back(declare(body, value, false));

        const std::vector<Var> outputs = inline_graph(body, *scan_.body, step);
        std::vector<Var> values;
        std::vector<Var> upstream;
        for (std::size_t k = 0; k < real_carries_.size(); ++k) {
            values.push_back(outputs[real_carries_[k]]);
            upstream.push_back(carried[k]);
        }
        for (std::size_t k = 0; k < arrived_results_.size(); ++k) {
            values.push_back(outputs[arrived_results_[k]]);
            upstream.push_back(walked[step_end() + k]);
        }
        std::vector<Var> with_respect_to;
        for (const auto* indices : {&real_carries_, &wanted_invariants_, &wanted_sequences_})
            for (const std::size_t i : *indices) with_respect_to.push_back(step[i]);
        const std::vector<Var> gradients = gradient(values, upstream, with_respect_to);
        for (std::size_t k = 0; k < gradients.size(); ++k) {
            const bool invariant = k >= real_carries_.size() && k < carries_.size();
            body.output(invariant ? carried[k] + gradients[k] : gradients[k]);
        }
        return body;
    }

    GradientContext& c_;
    ScanAttribute scan_;
    std::vector<Var> operands_;
    std::vector<std::size_t> real_carries_;
    std::vector<std::size_t> wanted_sequences_;
    std::vector<std::size_t> wanted_invariants_;
    std::vector<std::size_t> arrived_results_;
    std::vector<Var> carries_;
    std::vector<Var> sequences_;
};

/// Differentiates what computes the same as the scan and has the gradient that is asked for.
void differentiate_instead(GradientContext& context) {
    ScanParts parts{guarded(context), {}};
    // Values of their own to differentiate by: an operand may depend on another one.
    for (std::size_t i = 0; i < context.operand_count(); ++i)
        parts.operands.push_back(stop_gradient(context.operand(i)));
    const std::vector<Var> leaves = parts.operands;
    const std::vector<Var> results = in_segments(with_cuts(std::move(parts)));

    std::vector<Var> values;
    std::vector<Var> upstream;
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (!context.arrived(i)) continue;
        values.push_back(results[i]);
        upstream.push_back(context.upstream(i));
    }
    std::vector<std::size_t> wanted;
    std::vector<Var> with_respect_to;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
        if (!context.wants(i) || !is_real(leaves[i])) continue;
        wanted.push_back(i);
        with_respect_to.push_back(leaves[i]);
    }
    const std::vector<Var> gradients = gradient(values, upstream, with_respect_to);
    for (std::size_t i = 0; i < wanted.size(); ++i) context.accumulate(wanted[i], gradients[i]);
}

}  // namespace

void gradient_rule::scan(GradientContext& context) {
    if (has_gradient_steps(attribute<ScanAttribute>(context.attributes())))
        differentiate_instead(context);
    else
        ScanGradient(context).run();
}

constexpr std::size_t selective_scan_operands = 7;

// In a graph of its own: operands may depend on each other where they come from.
std::vector<Var> lower_selective_scan_gradient(Graph& graph, std::span<const Var> operands,
                                               const Attributes& attributes) {
    Graph alone;
    std::vector<Var> inputs;
    for (const Var operand : operands)
        inputs.push_back(alone.input("operand", ValueType::real, operand.shape()));
    const std::span<const Var> all(inputs);
    const std::vector<Var> results =
        lower_selective_scan(alone, all.first(selective_scan_operands), attributes);
    for (const Var g : gradient(results, all.subspan(selective_scan_operands),
                                all.first(selective_scan_operands)))
        alone.output(g);
    return inline_graph(graph, alone, operands);
}

}  // namespace cambrian
