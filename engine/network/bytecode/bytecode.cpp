#include "cambrian/engine/network/bytecode/bytecode.hpp"

#include <algorithm>
#include <bit>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"

namespace cambrian {

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
