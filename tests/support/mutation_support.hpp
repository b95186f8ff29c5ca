#pragma once

#include "cambrian/evolve/variation/mutation.hpp"

namespace cambrian::test {

/// Mutation that changes weights alone: structures stay as their founder's.
inline evolve::MutationSettings mutation_of_weights(float rate) {
    evolve::MutationSettings settings;
    settings.weight_rate = rate;
    settings.weight_replace_rate = 0.0F;
    settings.activation_rate = 0.0F;
    settings.layer_type_rate = 0.0F;
    settings.layer_insert_rate = 0.0F;
    settings.layer_toggle_rate = 0.0F;
    settings.link_add_rate = 0.0F;
    settings.link_drop_rate = 0.0F;
    return settings;
}

}  // namespace cambrian::test
