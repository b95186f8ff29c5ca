#include "cambrian/engine/layers/training.hpp"

namespace cambrian {

Var TrainingPass::next_key() {
    // Uniforms are multiples of 2^-24: their words make a key of 48 bits.
    const std::int64_t first = 2 * keys_++;
    const Var uniforms = slice(random(key_, id_, first + 2), -1, first, 2);
    return cast(uniforms * 0x1p24, ValueType::integer);
}

}  // namespace cambrian
