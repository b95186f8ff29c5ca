#include "cambrian/engine/network/bytecode/bytecode_layers.hpp"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"

namespace cambrian {
namespace {

template <class L>
bool has_bytecode(const L& layer) {
    constexpr bool plain =
        std::is_same_v<L, Rnn> || std::is_same_v<L, RmsNorm> || std::is_same_v<L, LayerNorm>;
    if constexpr (std::is_same_v<L, Softmax>) {
        return layer.variant == "standard" && layer.temperature == 1.0F;
    } else if constexpr (std::is_same_v<L, Dense>) {
        return layer.tied.empty();
    } else if constexpr (std::is_same_v<L, Sequential> || std::is_same_v<L, Residual>) {
        return std::ranges::all_of(
            layer.layers, [](const AnyLayer& inner) { return cambrian::has_bytecode(inner); });
    } else if constexpr (std::is_same_v<L, Neurons>) {
        return std::ssize(layer.connections) <= NeuronTable::input_limit;
    } else {
        return plain;
    }
}
template <class L>
std::int64_t weight_count(const L&) {
    CAMBRIAN_ASSERT(false && "a layer with a form in bytecode");
    return 0;
}
std::int64_t weight_count(const std::vector<AnyLayer>& layers) {
    std::int64_t count = 0;
    for (const AnyLayer& layer : layers) count += bytecode_weights(layer);
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

template <class L>
std::int64_t width_after(const L& layer) {
    if constexpr (std::is_same_v<L, Dense>) {
        return layer.out;
    } else if constexpr (std::is_same_v<L, Neurons>) {
        return layer.out;
    } else if constexpr (std::is_same_v<L, Rnn>) {
        return layer.hidden;
    } else if constexpr (std::is_same_v<L, Sequential>) {
        return bytecode_width(layer.layers.back());
    } else if constexpr (requires { layer.features; }) {
        return layer.features;
    } else {
        return weight_count(layer);
    }
}

}  // namespace

bool has_bytecode(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return has_bytecode(concrete); }, layer.variant());
}

std::int64_t bytecode_weights(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return weight_count(concrete); }, layer.variant());
}

std::int64_t bytecode_width(const AnyLayer& layer) {
    return std::visit([](const auto& concrete) { return width_after(concrete); }, layer.variant());
}

std::int32_t bytecode_word(std::int64_t value) {
    CAMBRIAN_ASSERT(value >= 0 && value <= INT32_MAX);
    return static_cast<std::int32_t>(value);
}

std::int32_t BytecodeLayers::layer(const AnyLayer& any, std::int32_t input) {
    return std::visit([&](const auto& concrete) { return write(concrete, input); }, any.variant());
}

std::int32_t BytecodeLayers::add(std::int32_t a, std::int32_t b) {
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

template <class L>
std::int32_t BytecodeLayers::write(const L&, std::int32_t) {
    CAMBRIAN_ASSERT(false && "a layer with a form in bytecode");
    return 0;
}

std::int32_t BytecodeLayers::write(const Dense& dense, std::int32_t input) {
    if (!is_common(dense.activation)) writer_.activation_set_ = ActivationSet::any;
    return weighted({.op = BytecodeOp::dense,
                     .source = input,
                     .in = bytecode_word(dense.in),
                     .out = bytecode_word(dense.out),
                     .detail = static_cast<std::int32_t>(dense.activation)},
                    weight_count(dense), dense.bias);
}

std::int32_t BytecodeLayers::write(const Rnn& rnn, std::int32_t input) {
    const std::int32_t place = bytecode_word(writer_.state_);
    writer_.state_ += rnn.hidden;
    return weighted({.op = BytecodeOp::rnn,
                     .source = input,
                     .other = place,
                     .in = bytecode_word(rnn.in),
                     .out = bytecode_word(rnn.hidden)},
                    weight_count(rnn));
}

std::int32_t BytecodeLayers::write(const RmsNorm& layer, std::int32_t input) {
    return norm(BytecodeOp::rms_norm, layer.features, layer.epsilon, input, weight_count(layer));
}

std::int32_t BytecodeLayers::write(const LayerNorm& layer, std::int32_t input) {
    return norm(BytecodeOp::layer_norm, layer.features, layer.epsilon, input, weight_count(layer));
}

std::int32_t BytecodeLayers::write(const Softmax& softmax, std::int32_t input) {
    const std::int32_t width = bytecode_word(softmax.features);
    const std::int32_t result = writer_.add_vector(width);
    writer_.add(
        {.op = BytecodeOp::softmax, .result = result, .source = input, .in = width, .out = width});
    return result;
}

std::int32_t BytecodeLayers::write(const Neurons& layer, std::int32_t input) {
    BytecodePacking packing{
        .op = BytecodeOp::neurons, .from = from_, .to = writer_.packed_, .gather = {}};
    const std::size_t begin = writer_.tables_.size();
    const auto [more, neurons] = NeuronTableWriter::write(layer, writer_.tables_, packing.gather);
    const std::int32_t result = writer_.add_vector(layer.out, more);
    writer_.add(
        {.op = BytecodeOp::neurons,
         .result = result,
         .source = input,
         .other = bytecode_word(writer_.state_),
         .in = bytecode_word(layer.in),
         .out = bytecode_word(layer.out),
         .weights = bytecode_word(writer_.packed_),
         .detail = bytecode_word(std::ssize(writer_.tables_) - static_cast<std::int64_t>(begin))});
    writer_.state_ += writer_.tables_[begin + 1];
    writer_.neurons_ = std::max(writer_.neurons_, neurons);
    writer_.packed_ += std::ssize(packing.gather);
    writer_.packings_->push_back(std::move(packing));
    from_ += weight_count(layer);
    return result;
}

std::int32_t BytecodeLayers::write(const Sequential& sequential, std::int32_t input) {
    return chain(sequential.layers, input);
}

std::int32_t BytecodeLayers::write(const Residual& residual, std::int32_t input) {
    CAMBRIAN_ASSERT(!residual.layers.empty());
    return add(input, chain(residual.layers, input));
}

std::int32_t BytecodeLayers::chain(const std::vector<AnyLayer>& layers, std::int32_t input) {
    std::int32_t value = input;
    std::int32_t preceding = input;
    for (const AnyLayer& any : layers) {
        const std::int32_t output =
            adds_preceding_input(any) ? add(value, preceding) : layer(any, value);
        preceding = std::exchange(value, output);
    }
    return value;
}

std::int32_t BytecodeLayers::norm(BytecodeOp op, std::int64_t features, float epsilon,
                                  std::int32_t input, std::int64_t weights) {
    const auto inverse = static_cast<float>(1.0 / static_cast<double>(features));
    return weighted({.op = op,
                     .source = input,
                     .other = std::bit_cast<std::int32_t>(inverse),
                     .in = bytecode_word(features),
                     .out = bytecode_word(features),
                     .detail = std::bit_cast<std::int32_t>(epsilon)},
                    weights);
}

std::int32_t BytecodeLayers::weighted(BytecodeInstruction instruction, std::int64_t weights,
                                      bool bias) {
    instruction.result = writer_.add_vector(instruction.out);
    writer_.add_weighted(instruction, from_, bias);
    from_ += weights;
    return instruction.result;
}

}  // namespace cambrian
