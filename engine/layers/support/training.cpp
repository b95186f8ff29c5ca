#include "cambrian/engine/layers/support/training.hpp"

namespace cambrian {

Var TrainingPass::next_key() {
    return derived_key(key_, id_, 2 * keys_++);
}

Var TrainingPass::derived_key(Var key, Var id, std::int64_t first) {
    // Uniforms are multiples of 2^-24: their words make a key of 48 bits.
    const Var uniforms = slice(random(key, id, first + 2), -1, first, 2);
    return cast(uniforms * 0x1p24, ValueType::integer);
}

}  // namespace cambrian
