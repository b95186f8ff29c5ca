#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/engine/layers/any_layer.hpp"
#include "cambrian/engine/network/bytecode/bytecode_writer.hpp"

namespace cambrian {

/// Whether a layer has a bytecode form. The rest of this header is for those that have.
[[nodiscard]] bool has_bytecode(const AnyLayer& layer);
/// The weights of a layer, without its parameter specs: building those costs more than a bytecode.
[[nodiscard]] std::int64_t bytecode_weights(const AnyLayer& layer);
/// Elements after a layer.
[[nodiscard]] std::int64_t bytecode_width(const AnyLayer& layer);
/// A number as a word of a bytecode. Contract: not negative, and it fits.
[[nodiscard]] std::int32_t bytecode_word(std::int64_t value);

/// Writes the instructions of layers.
class BytecodeLayers {
  public:
    explicit BytecodeLayers(BytecodeWriter& writer) : writer_(writer) {}

    /// → the vector of the output.
    std::int32_t layer(const AnyLayer& any, std::int32_t input);
    /// Leaves out a layer and its weights.
    void skip(const AnyLayer& any) { from_ += bytecode_weights(any); }
    /// → the vector of a + b.
    std::int32_t add(std::int32_t a, std::int32_t b);

  private:
    template <class L>
    std::int32_t write(const L&, std::int32_t);
    std::int32_t write(const Dense& dense, std::int32_t input);
    std::int32_t write(const Rnn& rnn, std::int32_t input);
    std::int32_t write(const RmsNorm& layer, std::int32_t input);
    std::int32_t write(const LayerNorm& layer, std::int32_t input);
    std::int32_t write(const Softmax& softmax, std::int32_t input);
    std::int32_t write(const Neurons& layer, std::int32_t input);
    std::int32_t write(const Sequential& sequential, std::int32_t input);
    std::int32_t write(const Residual& residual, std::int32_t input);
    std::int32_t chain(const std::vector<AnyLayer>& layers, std::int32_t input);
    std::int32_t norm(BytecodeOp op, std::int64_t features, float epsilon, std::int32_t input,
                      std::int64_t weights);
    std::int32_t weighted(BytecodeInstruction instruction, std::int64_t weights, bool bias = true);

    BytecodeWriter& writer_;
    std::int64_t from_ = 0;
};

}  // namespace cambrian
