#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/bytecode/bytecode_layers.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"
#include "cambrian/engine/network/weight_layout.hpp"

namespace cambrian {

std::int32_t BytecodeWriter::add_vector(std::int64_t width, std::int64_t more) {
    vectors_.push_back({.width = bytecode_word(width),
                        .room = bytecode_word(whole_blocks(width) + whole_blocks(more))});
    return bytecode_word(static_cast<std::int64_t>(vectors_.size()) - 1);
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
    instruction.weights = bytecode_word(packed_);
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
                   : bytecode_width(blueprint.slots[static_cast<std::size_t>(slot)]->layer);
    };
    const auto link_weights = [&](std::size_t index) {
        const Link& link = blueprint.links[index];
        int before = link.target - 1;
        while (before >= 0 && !blueprint.slots[static_cast<std::size_t>(before)]) --before;
        return link_weight_shape(output_width(link.source), output_width(before)).elements();
    };
    lay_out_weights(
        blueprint, [](const AnyLayer& layer) { return bytecode_weights(layer); }, link_weights,
        [this](const WeightBlock& block) {
            if (block.link >= 0) link_weights_.push_back(block.offset);
        });
    for (const Link& link : blueprint.links) {
        if (link.kind != LinkKind::backward) continue;
        if (!backward_.empty() && backward_.back().first == link.source) continue;
        backward_.emplace_back(link.source, bytecode_word(state_));
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
         .detail = bytecode_word(packed_)});
}

/// The input of a slot: what the chain brings, and what its links add, in their order.
std::int32_t BytecodeWriter::with_links(const Blueprint& blueprint, int slot, std::int32_t value) {
    for (std::size_t i = 0; i < blueprint.links.size(); ++i) {
        const Link& link = blueprint.links[i];
        if (link.target != slot) continue;
        std::int32_t source = 0;
        if (link.kind == LinkKind::backward) {
            const std::int64_t width =
                bytecode_width(blueprint.slots[static_cast<std::size_t>(link.source)]->layer);
            source = add_vector(width);
            add({.op = BytecodeOp::load_state,
                 .result = source,
                 .other = state_of(link.source),
                 .in = bytecode_word(width),
                 .out = bytecode_word(width)});
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
    return bytecode_word(place);
}

}  // namespace cambrian
