#include "cambrian/engine/network/bytecode/bytecode.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"
#include "cambrian/engine/network/weight_layout.hpp"

namespace cambrian {
namespace {

// Whether layers have a bytecode form.
template <class L>
bool has_bytecode(const L& layer) {
    constexpr bool plain =
        std::is_same_v<L, Rnn> || std::is_same_v<L, RmsNorm> || std::is_same_v<L, LayerNorm>;
    if constexpr (std::is_same_v<L, Softmax>) {
        return layer.variant == "standard" && layer.temperature == 1.0F;
    } else if constexpr (std::is_same_v<L, Dense>) {
        return layer.tied.empty();
    } else if constexpr (std::is_same_v<L, Sequential> || std::is_same_v<L, Residual>) {
        return std::ranges::all_of(layer.layers, [](const AnyLayer& inner) {
            return std::visit([](const auto& concrete) { return has_bytecode(concrete); },
                              inner.variant());
        });
    } else if constexpr (std::is_same_v<L, Neurons>) {
        return std::ssize(layer.connections) <= NeuronTable::input_limit;
    } else {
        return plain;
    }
}
bool has_bytecode(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return has_bytecode(concrete); }, layer.variant());
}

// The weights of a layer without its parameter specs: building those costs more than a bytecode.
template <class L>
std::int64_t weight_count(const L&) {
    CAMBRIAN_ASSERT(false && "a layer with a form in bytecode");
    return 0;
}
std::int64_t weight_count(const AnyLayer& layer);
std::int64_t weight_count(const std::vector<AnyLayer>& layers) {
    std::int64_t count = 0;
    for (const AnyLayer& layer : layers) count += weight_count(layer);
    return count;
}
std::int64_t weight_count(const Dense& dense) {
    return dense.out * (dense.in + (dense.bias ? 1 : 0));
}
std::int64_t weight_count(const Rnn& rnn) {
    return rnn.hidden * (rnn.in + rnn.hidden + 1);
}
std::int64_t weight_count(const RmsNorm& norm) {
    return norm.features;
}
std::int64_t weight_count(const LayerNorm& norm) {
    return 2 * norm.features;
}
std::int64_t weight_count(const Softmax&) {
    return 0;
}
std::int64_t weight_count(const Neurons& layer) {
    return std::ssize(layer.connections) + std::ssize(layer.neurons) * layer.weights_of_neuron();
}
std::int64_t weight_count(const Sequential& sequential) {
    return weight_count(sequential.layers);
}
std::int64_t weight_count(const Residual& residual) {
    return weight_count(residual.layers);
}
std::int64_t weight_count(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return weight_count(concrete); }, layer.variant());
}

// Elements after a layer that has a bytecode form.
template <class L>
std::int64_t width_after(const L& layer) {
    if constexpr (std::is_same_v<L, Dense>) {
        return layer.out;
    } else if constexpr (std::is_same_v<L, Neurons>) {
        return layer.out;
    } else if constexpr (std::is_same_v<L, Rnn>) {
        return layer.hidden;
    } else if constexpr (std::is_same_v<L, Sequential>) {
        return std::visit([](const auto& last) { return width_after(last); },
                          layer.layers.back().variant());
    } else if constexpr (requires { layer.features; }) {
        return layer.features;
    } else {
        return weight_count(layer);
    }
}
std::int64_t width_after(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return width_after(concrete); }, layer.variant());
}

std::int32_t narrow(std::int64_t value) {
    CAMBRIAN_ASSERT(value >= 0 && value <= INT32_MAX);
    return static_cast<std::int32_t>(value);
}

}  // namespace

std::int64_t generous(std::int64_t value, std::int64_t minimum) {
    std::int64_t size = minimum;
    while (size < value)
        size =
            std::has_single_bit(static_cast<std::uint64_t>(size)) ? size + size / 2 : size / 3 * 4;
    return size;
}

BytecodeCapacity BytecodeCapacity::joined(const BytecodeCapacity& other) const {
    return {.words = std::max(words, other.words),
            .weights = std::max(weights, other.weights),
            .state = std::max(state, other.state),
            .memory = std::max(memory, other.memory),
            .neurons = std::max(neurons, other.neurons),
            .activations = std::max(activations, other.activations)};
}

BytecodeCapacity BytecodeCapacity::rounded() const {
    return {.words = generous(words, 32),
            .weights = generous(weights, 256),
            .state = state == 0 ? 0 : generous(state, 32),
            .memory = generous(memory, 64),
            .neurons = neurons,
            .activations = activations};
}

BytecodeCapacity capacity_of(const InterpretAttribute& interpret, const Shape& bytecode,
                             const Shape& weights, const Shape& state) {
    return {.words = bytecode[0],
            .weights = weights[0],
            .state = state[-1],
            .memory = interpret.memory,
            .neurons = interpret.neurons,
            .activations = interpret.activations};
}

/// Writes the instructions of layers.
class BytecodeLayers {
  public:
    explicit BytecodeLayers(BytecodeWriter& writer) : writer_(writer) {}

    /// → the vector of the output.
    std::int32_t layer(const AnyLayer& any, std::int32_t input) {
        return std::visit([&](const auto& concrete) { return write(concrete, input); },
                          any.variant());
    }
    void skip(const AnyLayer& any) { from_ += weight_count(any); }

    std::int32_t add(std::int32_t a, std::int32_t b) {
        const std::int32_t width = writer_.vectors_[static_cast<std::size_t>(a)].width;
        const std::int32_t result = writer_.add_vector(width);
        writer_.add({.op = BytecodeOp::add,
                     .result = result,
                     .source = a,
                     .other = b,
                     .in = width,
                     .out = width});
        return result;
    }

  private:
    template <class L>
    std::int32_t write(const L&, std::int32_t) {
        CAMBRIAN_ASSERT(false && "a layer with a form in bytecode");
        return 0;
    }
    std::int32_t write(const Dense& dense, std::int32_t input) {
        if (!is_common(dense.activation)) writer_.activation_set_ = ActivationSet::any;
        return weighted({.op = BytecodeOp::dense,
                         .source = input,
                         .in = narrow(dense.in),
                         .out = narrow(dense.out),
                         .detail = static_cast<std::int32_t>(dense.activation)},
                        weight_count(dense), dense.bias);
    }
    std::int32_t write(const Rnn& rnn, std::int32_t input) {
        const std::int32_t place = narrow(writer_.state_);
        writer_.state_ += rnn.hidden;
        return weighted({.op = BytecodeOp::rnn,
                         .source = input,
                         .other = place,
                         .in = narrow(rnn.in),
                         .out = narrow(rnn.hidden)},
                        weight_count(rnn));
    }
    std::int32_t write(const RmsNorm& layer, std::int32_t input) {
        return norm(BytecodeOp::rms_norm, layer.features, layer.epsilon, input,
                    weight_count(layer));
    }
    std::int32_t write(const LayerNorm& layer, std::int32_t input) {
        return norm(BytecodeOp::layer_norm, layer.features, layer.epsilon, input,
                    weight_count(layer));
    }
    std::int32_t write(const Softmax& softmax, std::int32_t input) {
        const std::int32_t width = narrow(softmax.features);
        const std::int32_t result = writer_.add_vector(width);
        writer_.add({.op = BytecodeOp::softmax,
                     .result = result,
                     .source = input,
                     .in = width,
                     .out = width});
        return result;
    }
    std::int32_t write(const Neurons& layer, std::int32_t input) {
        BytecodePacking packing{
            .op = BytecodeOp::neurons, .from = from_, .to = writer_.packed_, .gather = {}};
        const std::size_t begin = writer_.tables_.size();
        const auto [more, neurons] =
            NeuronTableWriter::write(layer, writer_.tables_, packing.gather);
        const std::int32_t result = writer_.add_vector(layer.out, more);
        writer_.add(
            {.op = BytecodeOp::neurons,
             .result = result,
             .source = input,
             .other = narrow(writer_.state_),
             .in = narrow(layer.in),
             .out = narrow(layer.out),
             .weights = narrow(writer_.packed_),
             .detail = narrow(std::ssize(writer_.tables_) - static_cast<std::int64_t>(begin))});
        writer_.state_ += writer_.tables_[begin + 1];
        writer_.neurons_ = std::max(writer_.neurons_, neurons);
        writer_.packed_ += std::ssize(packing.gather);
        writer_.packings_->push_back(std::move(packing));
        from_ += weight_count(layer);
        return result;
    }
    std::int32_t write(const Sequential& sequential, std::int32_t input) {
        return chain(sequential.layers, input);
    }
    std::int32_t write(const Residual& residual, std::int32_t input) {
        CAMBRIAN_ASSERT(!residual.layers.empty());
        return add(input, chain(residual.layers, input));
    }

    std::int32_t chain(const std::vector<AnyLayer>& layers, std::int32_t input) {
        std::int32_t value = input;
        std::int32_t preceding = input;
        for (const AnyLayer& any : layers) {
            const std::int32_t output =
                adds_preceding_input(any) ? add(value, preceding) : layer(any, value);
            preceding = std::exchange(value, output);
        }
        return value;
    }

    std::int32_t norm(BytecodeOp op, std::int64_t features, float epsilon, std::int32_t input,
                      std::int64_t weights) {
        const auto inverse = static_cast<float>(1.0 / static_cast<double>(features));
        return weighted({.op = op,
                         .source = input,
                         .other = std::bit_cast<std::int32_t>(inverse),
                         .in = narrow(features),
                         .out = narrow(features),
                         .detail = std::bit_cast<std::int32_t>(epsilon)},
                        weights);
    }

    std::int32_t weighted(BytecodeInstruction instruction, std::int64_t weights, bool bias = true) {
        instruction.result = writer_.add_vector(instruction.out);
        writer_.add_weighted(instruction, from_, bias);
        from_ += weights;
        return instruction.result;
    }

    BytecodeWriter& writer_;
    std::int64_t from_ = 0;
};

std::int32_t BytecodeWriter::add_vector(std::int64_t width, std::int64_t more) {
    vectors_.push_back(
        {.width = narrow(width), .room = narrow(whole_blocks(width) + whole_blocks(more))});
    return narrow(static_cast<std::int64_t>(vectors_.size()) - 1);
}

void BytecodeWriter::add(BytecodeInstruction instruction) {
    const auto index = static_cast<std::int32_t>(instructions_.size());
    const BytecodeOpInfo& entry = op_info(instruction.op);
    const auto use = [&](std::int32_t vector) {
        vectors_[static_cast<std::size_t>(vector)].last_use = index;
    };
    if (entry.has_result) use(instruction.result);
    if (entry.reads_source) use(instruction.source);
    if (entry.reads_other) use(instruction.other);
    instructions_.push_back(instruction);
}

void BytecodeWriter::add_weighted(BytecodeInstruction instruction, std::int64_t from, bool bias) {
    instruction.weights = narrow(packed_);
    packed_ += op_info(instruction.op).weights(instruction.in, instruction.out);
    packings_->push_back({.op = instruction.op,
                          .bias = bias,
                          .in = instruction.in,
                          .out = instruction.out,
                          .from = from,
                          .to = instruction.weights});
    add(instruction);
}

bool BytecodeWriter::can_write(const Blueprint& blueprint) {
    // Weights in a format are rounded before they are packed; an interpreter rounds no rows.
    const auto takes = [](const AnyLayer& layer, const LayerFormats& formats) {
        return has_bytecode(layer) && formats.activations == Dtype::float32;
    };
    return blueprint.mode == NetworkMode::chain && blueprint.input_shape.rank() <= 1 &&
           takes(blueprint.head, blueprint.head_formats) &&
           std::ranges::all_of(blueprint.slots, [&](const std::optional<Slot>& slot) {
               return !slot || takes(slot->layer, slot->formats);
           });
}

BytecodeCapacity BytecodeWriter::write(const Blueprint& blueprint, std::vector<std::int32_t>& words,
                                       std::vector<BytecodePacking>& packings) {
    instructions_.clear();
    tables_.clear();
    vectors_.clear();
    packings_ = &packings;
    packed_ = state_ = memory_ = 0;
    neurons_ = NeuronSet::none;
    activation_set_ = ActivationSet::common;
    add_vector(blueprint.input_features);
    find_weights(blueprint);
    write_slots(blueprint);
    place_vectors();
    const std::size_t before = words.size();
    auto table = tables_.begin();
    for (const BytecodeInstruction& instruction : instructions_) {
        const auto& [op, result, source, other, in, out, weights, detail] = instruction;
        words.insert(words.end(), {static_cast<std::int32_t>(op), result, source, other, in, out,
                                   weights, detail});
        if (op != BytecodeOp::neurons) continue;
        NeuronTableWriter::place(instruction, std::span(table, table + detail));
        words.insert(words.end(), table, table + detail);
        table += detail;
    }
    return {.words = static_cast<std::int64_t>(words.size() - before),
            .weights = packed_,
            .state = state_,
            .memory = memory_,
            .neurons = neurons_,
            .activations = activation_set_};
}

/// Finds the first weight of every link and gives every source of backward links a state.
void BytecodeWriter::find_weights(const Blueprint& blueprint) {
    link_weights_.clear();
    backward_.clear();
    if (blueprint.links.empty()) return;
    const auto output_width = [&](int slot) {
        return slot == input_port
                   ? blueprint.input_features
                   : width_after(blueprint.slots[static_cast<std::size_t>(slot)]->layer);
    };
    const auto link_weights = [&](std::size_t index) {
        const Link& link = blueprint.links[index];
        int before = link.target - 1;
        while (before >= 0 && !blueprint.slots[static_cast<std::size_t>(before)]) --before;
        return link_weight_shape(output_width(link.source), output_width(before)).elements();
    };
    lay_out_weights(
        blueprint, [](const AnyLayer& layer) { return weight_count(layer); }, link_weights,
        [this](const WeightBlock& block) {
            if (block.link >= 0) link_weights_.push_back(block.offset);
        });
    for (const Link& link : blueprint.links) {
        if (link.kind != LinkKind::backward) continue;
        if (!backward_.empty() && backward_.back().first == link.source) continue;
        backward_.emplace_back(link.source, narrow(state_));
        state_ += output_width(link.source);
    }
}

void BytecodeWriter::write_slots(const Blueprint& blueprint) {
    const int head = blueprint.grid.slots();
    BytecodeLayers layers(*this);
    outputs_.assign(blueprint.slots.size(), -1);
    std::int32_t value = 0;
    std::int32_t preceding = 0;
    for (int slot = 0; slot < head; ++slot) {
        const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (!filled) continue;
        const std::int32_t input = with_links(blueprint, slot, value);
        if (!filled->enabled) {
            layers.skip(filled->layer);
            value = input;
        } else {
            value = adds_preceding_input(filled->layer) ? layers.add(input, preceding)
                                                        : layers.layer(filled->layer, input);
        }
        preceding = input;
        outputs_[static_cast<std::size_t>(slot)] = value;
        for (const auto& [source, place] : backward_) {
            if (source != slot) continue;
            const std::int32_t width = vectors_[static_cast<std::size_t>(value)].width;
            add({.op = BytecodeOp::store_state,
                 .source = value,
                 .other = place,
                 .in = width,
                 .out = width});
        }
    }
    const std::int32_t input = with_links(blueprint, head, value);
    value = adds_preceding_input(blueprint.head) ? layers.add(input, preceding)
                                                 : layers.layer(blueprint.head, input);
    const std::int32_t width = vectors_[static_cast<std::size_t>(value)].width;
    add({.op = BytecodeOp::end,
         .source = value,
         .in = width,
         .out = width,
         .detail = narrow(packed_)});
}

/// The input of a slot: what the chain brings, and what its links add, in their order.
std::int32_t BytecodeWriter::with_links(const Blueprint& blueprint, int slot, std::int32_t value) {
    for (std::size_t i = 0; i < blueprint.links.size(); ++i) {
        const Link& link = blueprint.links[i];
        if (link.target != slot) continue;
        std::int32_t source = 0;
        if (link.kind == LinkKind::backward) {
            const std::int64_t width =
                width_after(blueprint.slots[static_cast<std::size_t>(link.source)]->layer);
            source = add_vector(width);
            add({.op = BytecodeOp::load_state,
                 .result = source,
                 .other = state_of(link.source),
                 .in = narrow(width),
                 .out = narrow(width)});
        } else if (link.source != input_port) {
            source = outputs_[static_cast<std::size_t>(link.source)];
        }
        const std::int32_t in = vectors_[static_cast<std::size_t>(source)].width;
        const std::int32_t out = vectors_[static_cast<std::size_t>(value)].width;
        const std::int32_t result = add_vector(out);
        add_weighted({.op = in == out ? BytecodeOp::scale_add : BytecodeOp::project_add,
                      .result = result,
                      .source = source,
                      .other = value,
                      .in = in,
                      .out = out},
                     link_weights_[i], false);
        value = result;
    }
    return value;
}

std::int32_t BytecodeWriter::state_of(int source) const {
    const auto found = std::ranges::find(backward_, source, &std::pair<int, std::int32_t>::first);
    CAMBRIAN_ASSERT(found != backward_.end());
    return found->second;
}

/// Gives every vector a place, the first one that is free while it is needed.
void BytecodeWriter::place_vectors() {
    live_.assign(1, 0);
    memory_ = vectors_[0].room;
    for (std::size_t i = 0; i < instructions_.size(); ++i) {
        BytecodeInstruction& instruction = instructions_[i];
        const BytecodeOpInfo& entry = op_info(instruction.op);
        std::erase_if(live_, [&](std::int32_t vector) {
            return vectors_[static_cast<std::size_t>(vector)].last_use <
                   static_cast<std::int32_t>(i);
        });
        const auto place = [&](std::int32_t& vector) {
            vector = vectors_[static_cast<std::size_t>(vector)].place;
        };
        if (entry.has_result) {
            Vector& result = vectors_[static_cast<std::size_t>(instruction.result)];
            result.place = free_place(result.room);
            memory_ = std::max<std::int64_t>(memory_, result.place + result.room);
            live_.push_back(instruction.result);
            place(instruction.result);
        }
        if (entry.reads_source) place(instruction.source);
        if (entry.reads_other) place(instruction.other);
    }
}

std::int32_t BytecodeWriter::free_place(std::int32_t room) const {
    std::int64_t place = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (const std::int32_t vector : live_) {
            const Vector& other = vectors_[static_cast<std::size_t>(vector)];
            const std::int64_t end = other.place + other.room;
            if (place >= end || place + room <= other.place) continue;
            place = end;
            moved = true;
        }
    }
    return narrow(place);
}

void pack(std::span<const BytecodePacking> packings, std::span<const float> weights,
          std::span<float> packed) {
    for (const auto& [op, bias, in, out, from, to, gather] : packings) {
        const BytecodeOpInfo& entry = op_info(op);
        const std::int64_t count =
            entry.weights != nullptr ? entry.weights(in, out) : std::ssize(gather);
        CAMBRIAN_EXPECT(from <= static_cast<std::int64_t>(weights.size()));
        CAMBRIAN_ASSERT(to + count <= static_cast<std::int64_t>(packed.size()));
        entry.pack({.in = in,
                    .out = out,
                    .bias = bias,
                    .from = weights.data() + from,
                    .to = packed.data() + to,
                    .gather = gather});
    }
}

Bytecode make_bytecode(const Network& network) {
    Bytecode bytecode;
    BytecodeWriter writer;
    std::vector<BytecodePacking> packings;
    bytecode.capacity = writer.write(network.blueprint(), bytecode.words, packings);
    return bytecode;
}

void pack_weights(const Network& network, std::span<const float> weights, std::span<float> packed) {
    CAMBRIAN_ASSERT(static_cast<std::int64_t>(weights.size()) == network.weight_count());
    std::vector<std::int32_t> words;
    std::vector<BytecodePacking> packings;
    const BytecodeCapacity capacity = BytecodeWriter().write(network.blueprint(), words, packings);
    pack(packings, weights, packed);
    std::fill(packed.begin() + capacity.weights, packed.end(), 0.0F);
}

}  // namespace cambrian
