#include "cambrian/engine/train/slot_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/graph_copy.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/engine/train/training_graphs.hpp"

namespace cambrian {
namespace {

/// A tap that is told which tick begins.
class TickTap : public NetworkTap {
  public:
    void begin(int tick) { tick_ = tick; }

  protected:
    [[nodiscard]] int tick() const { return tick_; }

  private:
    int tick_ = 0;
};

/// Notes reads and sites, and lets no gradient pass between them.
class TraceTap final : public TickTap {
  public:
    explicit TraceTap(SlotTrace& trace) : trace_(trace) {}

    Var read(const SlotRead& which, Var value) override {
        const Var leaf = stop_gradient(value);
        const int tick_read = which.delayed ? tick() - 1 : tick();
        TracedRead traced{.which = which, .tick = tick(), .value = leaf};
        const auto site =
            known_.find(std::tuple{tick_read, which.source, which.kind == ReadKind::skip});
        if (site != known_.end()) traced.source = site->second;
        open_.push_back(trace_.reads.size());
        trace_.reads.push_back(traced);
        return leaf;
    }
    void took(int slot, Var input) override { add(slot, true, input); }
    void gave(int slot, Var output) override {
        add(slot, false, output);
        open_.clear();
    }

  private:
    void add(int slot, bool input, Var value) {
        known_[{tick(), slot, input}] = trace_.sites.size();
        trace_.sites.push_back(
            {.slot = slot, .tick = tick(), .input = input, .value = value, .reads = open_});
    }

    SlotTrace& trace_;
    std::vector<std::size_t> open_;  ///< Reads of the current slot.
    std::map<std::tuple<int, int, bool>, std::size_t> known_;
};

/// Gives every reader what it read in the pass that was traced, with noise.
class NoiseTap final : public TickTap {
  public:
    NoiseTap(SlotTrace& trace, const Blueprint& blueprint, Var key, Var pass, double deviation)
        : trace_(trace), blueprint_(blueprint), draws_(key, pass), deviation_(deviation) {}

    Var read(const SlotRead& which, Var /*value*/) override {
        TracedRead& read = trace_.reads[next_read_++];
        // The port has no target, and ids are no numbers that noise could be added to.
        if (which.source == input_port || takes_ids(layer_of(blueprint_, which.reader)))
            return read.value;
        const Shape& shape = read.value.shape();
        const Var drawn = normal(draws_.next_key(), draws_.id(), shape.elements());
        read.disturbed = read.value + reshape(drawn, shape) * deviation_;
        return read.disturbed;
    }
    void took(int /*slot*/, Var input) override { trace_.sites[next_site_++].disturbed = input; }
    void gave(int /*slot*/, Var output) override { trace_.sites[next_site_++].disturbed = output; }

  private:
    SlotTrace& trace_;
    const Blueprint& blueprint_;
    TrainingPass draws_;
    double deviation_;
    std::size_t next_read_ = 0;
    std::size_t next_site_ = 0;
};

/// The network on every step of sequences [batch, time, features], one after the other.
std::vector<Var> unrolled(const Network& network, Var inputs, NetworkOperands operands,
                          TrainingPass& training, TickTap& tap) {
    const std::int64_t batch = inputs.shape()[0];
    std::vector<Var> state = network.initial_state(*inputs.graph, batch);
    const Var key = training.next_key();
    std::vector<Var> outputs;
    for (std::int64_t tick = 0; tick < inputs.shape()[1]; ++tick) {
        const Var number = constant(*inputs.graph, static_cast<double>(tick), ValueType::integer);
        TrainingPass own(TrainingPass::derived_key(key, number), training.id());
        operands.training = &own;
        tap.begin(static_cast<int>(tick));
        const Var row = reshape(slice(inputs, 1, tick, 1), {batch, inputs.shape()[2]});
        StepResult result = step_tapped(network, row, state, operands, tap);
        if (!own.updates().empty())
            throw ShapeError(
                "a batch_norm cannot be trained in a network that reads its previous step (its "
                "statistics are of all steps together) remove one of them");
        state = std::move(result.state);
        outputs.push_back(result.output);
    }
    return outputs;
}

/// What the network answers, in the shape that the targets need.
Var traced_answers(const Network& network, const NetworkOperands& operands, Var inputs, Var targets,
                   const Loss& loss, TickTap& tap) {
    if (inputs.rank() == 2) return apply_tapped(network, inputs, operands, tap);
    const bool last = targets.rank() == (wants_classes(loss) ? 1 : 2);
    Var outputs{};
    if (reads_previous_step(network.blueprint())) {
        std::vector<Var> steps = unrolled(network, inputs, operands, *operands.training, tap);
        if (last) return steps.back();
        for (Var& step : steps) step = reshape(step, {step.shape()[0], 1, step.shape()[1]});
        return concat(steps, 1);
    }
    outputs = network.stateful() ? sequence_tapped(network, inputs, operands, tap)
                                 : apply_tapped(network, inputs, operands, tap);
    if (!last) return outputs;
    return reshape(slice(outputs, 1, outputs.shape()[1] - 1, 1),
                   {outputs.shape()[0], outputs.shape()[2]});
}

/// Every value of a trace in an order of its own.
std::vector<Var*> values_of(SlotTrace& trace) {
    std::vector<Var*> values{&trace.loss.mean, &trace.loss.count, &trace.loss.right};
    for (BufferUpdate& update : trace.statistics) values.push_back(&update.value);
    for (TracedRead& read : trace.reads) {
        values.push_back(&read.value);
        values.push_back(&read.disturbed);
    }
    for (TracedSite& site : trace.sites) {
        values.push_back(&site.value);
        values.push_back(&site.disturbed);
    }
    std::erase_if(values, [](const Var* value) { return value->graph == nullptr; });
    return values;
}

}  // namespace

const AnyLayer& layer_of(const Blueprint& blueprint, int slot) {
    if (slot == blueprint.grid.slots()) return blueprint.head;
    return blueprint.slots[static_cast<std::size_t>(slot)]->layer;
}

bool is_disabled(const Blueprint& blueprint, int slot) {
    if (slot < 0 || slot >= blueprint.grid.slots()) return false;
    const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
    return filled && !filled->enabled;
}

void check_traceable(const Network& network, const Shape& inputs) {
    const Blueprint& blueprint = network.blueprint();
    if (inputs.rank() != 3 || !reads_previous_step(blueprint)) return;
    const auto filled =
        std::ranges::count_if(blueprint.slots, [](const auto& slot) { return slot.has_value(); });
    const std::int64_t sites = 2 * (filled + 1) * inputs[1];
    if (sites > largest_trace)
        throw ConfigError(fmt::format(
            "training.method needs the network unrolled over {} steps (a mesh or backward links "
            "with {} slots have {} values to aim at then, of {} that there may be) use shorter "
            "sequences or the method \"gradient\"",
            inputs[1], filled, sites, largest_trace));
}

SlotTrace trace_slots(const Network& network, const Loss& loss, std::span<const Var> parts,
                      const TracedBatch& batch, const std::optional<ReadNoise>& noise) {
    Graph& graph = *batch.inputs.graph;
    std::vector<Var> outer(parts.begin(), parts.end());
    outer.insert(outer.end(), {batch.inputs, batch.targets, batch.key, batch.pass});
    if (noise) outer.push_back(noise->key);
    // A graph of its own that is simplified before anything is differentiated: each tensor of
    // weights then is an operand by itself, and its gradient needs no zeros around it.
    Graph inner;
    std::vector<Var> in;
    for (const Var value : outer)
        in.push_back(
            inner.input("", value.info().type, value.shape(), value.info().per_individual));
    const std::span<const Var> own = std::span(in).subspan(parts.size());

    SlotTrace trace;
    TrainingPass pass(own[2], own[3]);
    NetworkOperands operands = training_graphs::network_operands(
        inner, network, concat(std::span(in).first(parts.size()), 0));
    operands.training = &pass;
    TraceTap tap(trace);
    trace.loss =
        measure(loss, traced_answers(network, operands, own[0], own[1], loss, tap), own[1]);
    trace.statistics.assign(pass.updates().begin(), pass.updates().end());
    if (noise) {
        TrainingPass same(own[2], own[3]);
        operands.training = &same;
        NoiseTap disturb(trace, network.blueprint(), own[4], own[3], noise->deviation);
        static_cast<void>(traced_answers(network, operands, own[0], own[1], loss, disturb));
    }
    trace.rows = batch.inputs.shape()[0];
    trace.last_tick_only = batch.inputs.rank() == 3 && reads_previous_step(network.blueprint()) &&
                           batch.targets.rank() == (wants_classes(loss) ? 1 : 2);

    const std::vector<Var*> values = values_of(trace);
    for (const Var* value : values) inner.output(*value);
    const std::vector<Var> results =
        inline_graph(graph, eliminate_dead_code(fold_constants(inner, evaluate_node)), outer);
    CAMBRIAN_ASSERT(results.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) *values[i] = results[i];
    return trace;
}

}  // namespace cambrian
