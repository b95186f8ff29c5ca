#include "cambrian/engine/train/inverses.hpp"

#include <fmt/format.h>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/layers/chain.hpp"
#include "cambrian/engine/layers/support/initial.hpp"
#include "cambrian/engine/layers/support/width.hpp"

namespace cambrian {
namespace {

constexpr std::int64_t max_inverse_weights = std::int64_t{1} << 30U;

ParameterSpec weight_spec(const Inverse& inverse, Activation activation) {
    return {.name = "weight",
            .shape = {inverse.read, inverse.given},
            .initial = Initial::weight,
            .fan_in = inverse.given,
            .activation = activation};
}

/// Elements that a filled slot reads of others, where `before` is the filled one before it.
std::int64_t elements_read(const Network& network, int slot, int before) {
    const Blueprint& blueprint = network.blueprint();
    std::int64_t count = before < 0 ? 0 : network.shape_before(slot).elements();
    for (const Link& link : blueprint.links)
        if (link.target == slot && link.source != input_port)
            count += network.shape_after(link.source).elements();
    const AnyLayer& layer = blueprint.slots[static_cast<std::size_t>(slot)]->layer;
    if (adds_preceding_input(layer)) count += network.shape_before(before).elements();
    return count;
}

}  // namespace

std::vector<Inverse> inverses_of(const Network& network) {
    const Blueprint& blueprint = network.blueprint();
    std::vector<Inverse> inverses;
    std::int64_t offset = 0;
    int before = -1;
    for (int slot = 0; slot < blueprint.grid.slots(); ++slot) {
        const auto& filled = blueprint.slots[static_cast<std::size_t>(slot)];
        if (!filled) continue;
        const std::int64_t read = elements_read(network, slot, before);
        before = slot;
        if (read == 0 || !filled->enabled || takes_ids(filled->layer)) continue;
        const Inverse inverse{.slot = slot,
                              .given = network.shape_after(slot).elements(),
                              .read = read,
                              .offset = offset};
        if (inverse.given > max_inverse_weights / inverse.read ||
            (offset += inverse.count()) > max_inverse_weights)
            throw ConfigError(fmt::format(
                "the inverse of slot {} would take {} x {} weights (all together may be 2^30) use "
                "the training.method \"target_propagation\" or smaller layers",
                slot, inverse.read, inverse.given));
        inverses.push_back(inverse);
    }
    return inverses;
}

std::int64_t weight_count(std::span<const Inverse> inverses) {
    return inverses.empty() ? 0 : inverses.back().offset + inverses.back().count();
}

std::vector<float> initial_weights(std::span<const Inverse> inverses, Activation activation,
                                   RandomStream& rng) {
    std::vector<float> values(static_cast<std::size_t>(weight_count(inverses)), 0.0F);
    for (const Inverse& inverse : inverses)
        fill_initial(
            weight_spec(inverse, activation), rng,
            std::span(values).subspan(static_cast<std::size_t>(inverse.offset),
                                      static_cast<std::size_t>(inverse.read * inverse.given)));
    return values;
}

std::vector<Var> inverse_parts(std::span<const Inverse> inverses, Var weights) {
    std::vector<Var> parts;
    for (const Inverse& inverse : inverses) {
        const std::int64_t matrix = inverse.read * inverse.given;
        parts.push_back(
            reshape(slice(weights, 0, inverse.offset, matrix), {inverse.read, inverse.given}));
        parts.push_back(slice(weights, 0, inverse.offset + matrix, inverse.read));
    }
    return parts;
}

Var invert(const Inverse& inverse, Var weight, Var bias, Activation activation, Var given) {
    CAMBRIAN_ASSERT(given.rank() == 2 && given.shape()[1] == inverse.given);
    return activate(project(given, weight) + bias, activation);
}

}  // namespace cambrian
