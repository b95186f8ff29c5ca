#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/tests/evolve/support/genome_support.hpp"
#include "cambrian/tests/evolve/support/rates_support.hpp"

namespace cambrian::evolve::mutation_rates_test {
namespace {

/// Two layers that can be widened and deepened, the second may be disabled; a link, and room.
Genome parent_of_all() {
    Blueprint description = testing::blueprint(
        4, {{"dense", 6, Activation::relu}, {}, {}, {"dense", 6, Activation::relu}, {}, {}}, 2);
    description.links.push_back({input_port, 0, LinkKind::forward});
    return testing::founder(description);
}

const Dense* dense_in(const Blueprint& blueprint, int slot) {
    const std::optional<Slot>& filled = blueprint.slots.at(static_cast<std::size_t>(slot));
    return filled ? std::get_if<Dense>(&filled->layer.variant()) : nullptr;
}

std::vector<Hash128> slot_ids(const Genome& genome) {
    std::vector<Hash128> ids;
    for (const Gene& gene : genome.slot_genes) {
        ids.push_back(gene.id);
    }
    return ids;
}

/// Whether a child is its parent but for what `restore` gives back to a slot.
template <class Restore>
bool differs_only_in(const Genome& parent, const Genome& child, const Restore& restore) {
    Blueprint restored = child.blueprint;
    if (child.slot_genes != parent.slot_genes ||
        filled_slots(restored) != filled_slots(parent.blueprint)) {
        return false;
    }
    for (const int slot : filled_slots(restored)) {
        const auto at = static_cast<std::size_t>(slot);
        restore(*restored.slots[at], *parent.blueprint.slots[at]);
    }
    return restored == parent.blueprint;
}

bool has_other_activations(const Genome& parent, const Genome& child) {
    return differs_only_in(parent, child, [](Slot& slot, const Slot& before) {
        const std::vector<Activation> codes = before.layer.activations();
        const std::vector<Activation*> own = slot.layer.activations();
        for (std::size_t i = 0; i < std::min(codes.size(), own.size()); ++i) {
            *own[i] = codes[i];
        }
    });
}

bool has_a_slot_toggled(const Genome& parent, const Genome& child) {
    return differs_only_in(parent, child,
                           [](Slot& slot, const Slot& before) { slot.enabled = before.enabled; });
}

bool has_other_formats(const Genome& parent, const Genome& child) {
    Genome own = child;
    own.blueprint.head_formats = parent.blueprint.head_formats;
    return differs_only_in(parent, own,
                           [](Slot& slot, const Slot& before) { slot.formats = before.formats; });
}

bool has_another_type(const Genome& parent, const Genome& child) {
    return filled_slots(child.blueprint) == filled_slots(parent.blueprint) &&
           slot_ids(child) != slot_ids(parent) && child.link_genes == parent.link_genes;
}

/// The one slot that is filled in `more` and empty in `fewer`, where nothing else differs; else -1.
int slot_beyond(const Blueprint& fewer, const Blueprint& more) {
    int found = -1;
    for (std::size_t slot = 0; slot < fewer.slots.size(); ++slot) {
        if (more.slots.at(slot) == fewer.slots[slot]) {
            continue;
        }
        if (fewer.slots[slot] || found >= 0) {
            return -1;
        }
        found = static_cast<int>(slot);
    }
    return more.links == fewer.links && more.head == fewer.head ? found : -1;
}

/// Whether a layer does to its input what the relu before it did.
bool repeats_relu(const Blueprint& blueprint, int slot) {
    const Dense* dense = dense_in(blueprint, slot);
    return dense != nullptr && dense->in == dense->out && dense->activation == Activation::relu;
}

bool has_a_layer_more(const Genome& parent, const Genome& child) {
    const int slot = slot_beyond(parent.blueprint, child.blueprint);
    return slot >= 0 && !repeats_relu(child.blueprint, slot);
}

bool has_a_layer_twice(const Genome& parent, const Genome& child) {
    const int slot = slot_beyond(parent.blueprint, child.blueprint);
    return slot > 0 && dense_in(parent.blueprint, slot - 1) != nullptr &&
           repeats_relu(child.blueprint, slot);
}

bool has_a_layer_less(const Genome& parent, const Genome& child) {
    return slot_beyond(child.blueprint, parent.blueprint) >= 0;
}

template <int more>
bool has_links_more(const Genome& parent, const Genome& child) {
    return std::ssize(child.blueprint.links) == std::ssize(parent.blueprint.links) + more &&
           child.blueprint.slots == parent.blueprint.slots && child.slot_genes == parent.slot_genes;
}

/// The slot of the layer that was changed, before those that follow it: the first that differs.
int changed_slot(const Genome& parent, const Genome& child) {
    const std::vector<int> filled = filled_slots(parent.blueprint);
    if (child.slot_genes != parent.slot_genes || filled_slots(child.blueprint) != filled) {
        return -1;
    }
    const auto found = std::ranges::find_if(filled, [&](int slot) {
        return layer_at(child.blueprint, slot) != layer_at(parent.blueprint, slot);
    });
    return found == filled.end() ? -1 : *found;
}

bool has_a_layer_wider(const Genome& parent, const Genome& child) {
    const int slot = changed_slot(parent, child);
    const Dense* before = slot < 0 ? nullptr : dense_in(parent.blueprint, slot);
    const Dense* after = slot < 0 ? nullptr : dense_in(child.blueprint, slot);
    if (before == nullptr || after == nullptr) {
        return false;
    }
    const std::int64_t units = after->out - before->out;
    Dense restored = *after;
    restored.out = before->out;
    return units >= 1 && units <= MutationSettings().layer_widen_units && restored == *before;
}

bool has_another_field(const Genome& parent, const Genome& child) {
    const int slot = changed_slot(parent, child);
    if (slot < 0) {
        return false;
    }
    const Shape row = chain_shapes(parent.blueprint).at(static_cast<std::size_t>(slot));
    const std::vector<AnyLayer> changes = field_changes(layer_at(parent.blueprint, slot), row);
    return std::ranges::find(changes, layer_at(child.blueprint, slot)) != changes.end();
}

/// A rate, how many draws it has in the parent, and what a child is like whom it hit.
struct OwnRate {
    const char* key;
    float MutationSettings::*rate;
    int draws;
    bool (*is_hit)(const Genome& parent, const Genome& child);
};

constexpr std::array own_rates{
    OwnRate{"activation_rate", &MutationSettings::activation_rate, 2, has_other_activations},
    OwnRate{"layer_type_rate", &MutationSettings::layer_type_rate, 2, has_another_type},
    OwnRate{"layer_insert_rate", &MutationSettings::layer_insert_rate, 1, has_a_layer_more},
    OwnRate{"layer_toggle_rate", &MutationSettings::layer_toggle_rate, 1, has_a_slot_toggled},
    OwnRate{"link_add_rate", &MutationSettings::link_add_rate, 1, has_links_more<1>},
    OwnRate{"link_drop_rate", &MutationSettings::link_drop_rate, 1, has_links_more<-1>},
    OwnRate{"layer_remove_rate", &MutationSettings::layer_remove_rate, 1, has_a_layer_less},
    OwnRate{"layer_widen_rate", &MutationSettings::layer_widen_rate, 1, has_a_layer_wider},
    OwnRate{"layer_deepen_rate", &MutationSettings::layer_deepen_rate, 1, has_a_layer_twice},
    OwnRate{"layer_field_rate", &MutationSettings::layer_field_rate, 1, has_another_field},
    OwnRate{"dtype_rate", &MutationSettings::dtype_rate, 3, has_other_formats},
};

/// How many of some births differ from their parent; each must be as `own` says.
int hits(const OwnRate& own, float rate, int births) {
    static const auto parent = std::make_shared<const Structure>(parent_of_all());
    MutationSettings settings;
    for (const OwnRate& each : own_rates) {
        settings.*each.rate = 0.0F;
    }
    settings.*own.rate = rate;
    const auto mutate = [&](RandomStream& rng, ChildPlan& child, std::uint64_t birth) {
        mutate_structure(rng, settings, {}, child, birth);
    };
    return testing::differing(parent, "test.mutation_rates", births, mutate, own.is_hit);
}

TEST(Mutate, EachRateIsThatOfItsOperatorAlone) {
    testing::expect_own_rates(own_rates, hits);
}

}  // namespace
}  // namespace cambrian::evolve::mutation_rates_test
