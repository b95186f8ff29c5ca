#include "cambrian/engine/train/targets.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {
namespace {

int head_of(const Network& network) {
    return network.blueprint().grid.slots();
}

std::vector<Var> leaves(const SlotTrace& trace, std::span<const std::size_t> reads) {
    std::vector<Var> values;
    for (const std::size_t read : reads) values.push_back(trace.reads[read].value);
    return values;
}

/// What the head reads, at those ticks whose answers the loss depends on.
std::vector<std::size_t> reads_of_head(const Network& network, const SlotTrace& trace) {
    const int last = trace.sites.back().tick;
    const bool all = !trace.last_tick_only || network.blueprint().head.stateful();
    std::vector<std::size_t> reads;
    for (const TracedSite& site : trace.sites)
        if (site.slot == head_of(network) && !site.input && (all || site.tick == last))
            reads.insert(reads.end(), site.reads.begin(), site.reads.end());
    return reads;
}

/// All that a site depends on but its weights: what it reads, and, where the layer has a state of
/// its own, what it read at the ticks before.
std::vector<std::size_t> influences(const Network& network, const SlotTrace& trace,
                                    const TracedSite& site) {
    if (site.input || !layer_of(network.blueprint(), site.slot).stateful()) return site.reads;
    std::vector<std::size_t> reads;
    for (const TracedSite& other : trace.sites)
        if (other.slot == site.slot && !other.input && other.tick <= site.tick)
            reads.insert(reads.end(), other.reads.begin(), other.reads.end());
    return reads;
}

void add(std::optional<Var>& sum, Var value) {
    sum = sum ? *sum + value : value;
}

/// Gives to the sources of reads what their readers send back.
void send(const SlotTrace& trace, std::span<const std::size_t> reads, std::span<const Var> values,
          std::vector<std::optional<Var>>& sums) {
    for (std::size_t i = 0; i < reads.size(); ++i)
        if (const auto source = trace.reads[reads[i]].source)
            add(sums[*source], shaped(values[i], trace.sites[*source].value.shape()));
}

/// Rows as vectors.
Var matrix(Var value, std::int64_t width) {
    return reshape(value, {value.shape().elements() / width, width});
}

const Inverse* inverse_of(const InverseOperands& all, int slot) {
    const auto found = std::ranges::find(all.inverses, slot, &Inverse::slot);
    return found == all.inverses.end() ? nullptr : &*found;
}

Var inverted(const InverseOperands& all, const Inverse& inverse, Var given) {
    const auto index = static_cast<std::size_t>(&inverse - all.inverses.data());
    return invert(inverse, all.parts[2 * index], all.parts[2 * index + 1], all.activation, given);
}

/// The reads that an inverse gives back: those of other slots.
std::vector<std::size_t> reads_of_slots(const SlotTrace& trace, const TracedSite& site) {
    std::vector<std::size_t> reads;
    std::ranges::copy_if(site.reads, std::back_inserter(reads), [&](std::size_t read) {
        return trace.reads[read].which.source != input_port;
    });
    return reads;
}

/// Elements of a row of what is read.
std::int64_t width_of(const Network& network, const SlotRead& read) {
    return read.kind == ReadKind::skip ? network.shape_before(read.source).elements()
                                       : network.shape_after(read.source).elements();
}

/// Displacements of sites toward their targets, from the head back to the port.
class DifferenceSweep {
  public:
    DifferenceSweep(const Network& network, const SlotTrace& trace, const InverseOperands& inverses)
        : network_(network),
          trace_(trace),
          inverses_(inverses),
          sums_(trace.sites.size()),
          readers_(trace.sites.size(), 0) {}

    Residuals run(double step) {
        const std::vector<std::size_t> reads = reads_of_head(network_, trace_);
        std::vector<Var> toward = gradient(trace_.loss.mean, leaves(trace_, reads));
        for (Var& value : toward) value = value * (-step * static_cast<double>(trace_.rows));
        send(trace_, reads, toward, sums_);
        // However often it reads a site, the head is one reader: its gradient is the sum of all.
        for (const std::size_t read : reads)
            if (const auto source = trace_.reads[read].source) readers_[*source] = 1;
        Residuals residuals(trace_.sites.size());
        for (std::size_t i = trace_.sites.size(); i-- > 0;) {
            if (!sums_[i]) continue;
            const Var displacement = *sums_[i] * (1.0 / static_cast<double>(readers_[i]));
            residuals[i] = displacement * (-1.0 / static_cast<double>(trace_.rows));
            pass_on(trace_.sites[i], displacement);
        }
        return residuals;
    }

  private:
    void propose(std::span<const std::size_t> reads, std::span<const Var> values) {
        send(trace_, reads, values, sums_);
        for (const std::size_t read : reads)
            if (const auto source = trace_.reads[read].source) ++readers_[*source];
    }

    void pass_on(const TracedSite& site, Var displacement) {
        // The input of a slot is what the one before it gives; links only add to it.
        if (site.input || is_disabled(network_.blueprint(), site.slot)) {
            propose(std::span(site.reads).first(1), std::span(&displacement, 1));
            return;
        }
        const Inverse* inverse = inverse_of(inverses_, site.slot);
        if (inverse == nullptr) return;
        const Var given = matrix(site.value, inverse->given);
        const Var change =
            inverted(inverses_, *inverse, given + matrix(displacement, inverse->given)) -
            inverted(inverses_, *inverse, given);
        const std::vector<std::size_t> reads = reads_of_slots(trace_, site);
        std::vector<Var> parts;
        std::int64_t offset = 0;
        for (const std::size_t read : reads) {
            const std::int64_t width = width_of(network_, trace_.reads[read].which);
            parts.push_back(slice(change, 1, offset, width));
            offset += width;
        }
        CAMBRIAN_ASSERT(offset == inverse->read);
        propose(reads, parts);
    }

    const Network& network_;
    const SlotTrace& trace_;
    const InverseOperands& inverses_;
    std::vector<std::optional<Var>> sums_;
    std::vector<int> readers_;  ///< That proposed something.
};

}  // namespace

Residuals gradient_targets(const Network& network, const SlotTrace& trace, double step) {
    std::vector<std::optional<Var>> adjoints(trace.sites.size());
    const std::vector<std::size_t> of_head = reads_of_head(network, trace);
    send(trace, of_head, gradient(trace.loss.mean, leaves(trace, of_head)), adjoints);
    Residuals residuals(trace.sites.size());
    for (std::size_t i = trace.sites.size(); i-- > 0;) {
        if (!adjoints[i]) continue;
        residuals[i] = *adjoints[i] * step;
        const std::vector<std::size_t> reads = influences(network, trace, trace.sites[i]);
        send(trace, reads, gradient(trace.sites[i].value, *adjoints[i], leaves(trace, reads)),
             adjoints);
    }
    return residuals;
}

Residuals difference_targets(const Network& network, const SlotTrace& trace, double step,
                             const InverseOperands& inverses) {
    return DifferenceSweep(network, trace, inverses).run(step);
}

std::vector<Var> local_gradients(const SlotTrace& trace, const Residuals& residuals,
                                 std::span<const Var> parts) {
    std::vector<Var> values{trace.loss.mean};
    std::vector<Var> upstream{filled(*trace.loss.mean.graph, Shape{}, 1.0)};
    for (std::size_t i = 0; i < residuals.size(); ++i) {
        if (!residuals[i]) continue;
        values.push_back(trace.sites[i].value);
        upstream.push_back(*residuals[i]);
    }
    return gradient(values, upstream, parts);
}

std::optional<Var> reconstruction_loss(const SlotTrace& trace, const Residuals& residuals,
                                       const InverseOperands& inverses) {
    std::optional<Var> sum;
    for (std::size_t i = 0; i < residuals.size(); ++i) {
        const TracedSite& site = trace.sites[i];
        const Inverse* inverse = site.input ? nullptr : inverse_of(inverses, site.slot);
        if (!residuals[i] || inverse == nullptr) continue;
        const std::int64_t rows = site.value.shape().elements() / inverse->given;
        std::vector<Var> read;
        for (const std::size_t index : reads_of_slots(trace, site)) {
            const Var value = trace.reads[index].disturbed;
            read.push_back(matrix(value, value.shape().elements() / rows));
        }
        const Var error =
            inverted(inverses, *inverse, matrix(site.disturbed, inverse->given)) - concat(read, 1);
        add(sum, sum_all(square(error)) * (0.5 / static_cast<double>(trace.rows)));
    }
    return sum;
}

std::vector<int> aiming_slots(const Network& network) {
    std::vector<int> slots;
    for (int slot = 0; slot < head_of(network); ++slot)
        if (network.blueprint().slots[static_cast<std::size_t>(slot)]) slots.push_back(slot);
    return slots;
}

TargetDistance target_distance(const Network& network, const SlotTrace& trace,
                               const Residuals& residuals) {
    Graph& graph = *trace.loss.mean.graph;
    std::vector<Var> budgets;
    std::vector<Var> gaps;
    for (const int slot : aiming_slots(network)) {
        std::optional<Var> product;
        std::optional<Var> given;
        std::optional<Var> aimed;
        std::optional<Var> missed;
        std::int64_t elements = 0;
        for (std::size_t i = 0; i < residuals.size(); ++i) {
            const TracedSite& site = trace.sites[i];
            if (!residuals[i] || site.input || site.slot != slot) continue;
            const Var gap = *residuals[i] * static_cast<double>(trace.rows);
            const Var target = site.value - gap;
            add(product, sum_all(site.value * target));
            add(given, sum_all(square(site.value)));
            add(aimed, sum_all(square(target)));
            add(missed, sum_all(square(gap)));
            elements += gap.shape().elements();
        }
        if (!product) {
            budgets.push_back(constant(graph, 1.0));
            gaps.push_back(constant(graph, 0.0));
            continue;
        }
        // Apart: their product leaves float32 where they do not.
        const Var norms = sqrt(*given) * sqrt(*aimed);
        // Without a direction there is none to agree with.
        const Var cosine = select(less(0.0, norms), *product / norms, constant(graph, 0.0));
        budgets.push_back(0.5 + 0.5 * cosine);
        gaps.push_back(sqrt(*missed * (1.0 / static_cast<double>(elements))));
    }
    return {stack(budgets), stack(gaps)};
}

}  // namespace cambrian
