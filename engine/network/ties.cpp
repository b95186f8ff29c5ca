#include "cambrian/engine/network/ties.hpp"

#include <charconv>

namespace cambrian {
namespace {

constexpr std::string_view slot_prefix = "slot.";
constexpr std::string_view table_suffix = ".table";

const std::string* tie_of(const AnyLayer& layer) {
    const auto* dense = std::get_if<Dense>(&layer.variant());
    return dense == nullptr || dense->tied.empty() ? nullptr : &dense->tied;
}

bool holds_tie(const AnyLayer& layer) {
    bool found = false;
    layer.each_inner([&](const AnyLayer& inner) {
        found = found || tie_of(inner) != nullptr || holds_tie(inner);
    });
    return found;
}

std::string fault_of(const Blueprint& blueprint, const AnyLayer& layer) {
    if (holds_tie(layer))
        return "a dense layer in a container is tied (only one by itself, or the head, can be)";
    const std::string* tie = tie_of(layer);
    if (tie == nullptr) return {};
    const auto fault = [&](const std::string& why) {
        return "a dense layer is tied to \"" + *tie + "\" (" + why + ")";
    };
    const std::optional<int> slot = tied_slot(layer);
    if (!slot) return fault("a name is like \"slot.0.table\"");
    const bool inside = *slot < static_cast<int>(blueprint.slots.size());
    const auto* filled = inside ? &blueprint.slots[static_cast<std::size_t>(*slot)] : nullptr;
    const auto* embedding = filled != nullptr && *filled
                                ? std::get_if<Embedding>(&(*filled)->layer.variant())
                                : nullptr;
    if (embedding == nullptr) return fault("there is no embedding in that slot");
    const auto& dense = std::get<Dense>(layer.variant());
    if (embedding->vocabulary != dense.out || embedding->features != dense.in)
        return fault("its table is " + Shape({embedding->vocabulary, embedding->features}).text() +
                     ", the weight is " + Shape({dense.out, dense.in}).text());
    return {};
}

}  // namespace

std::optional<int> tied_slot(const AnyLayer& layer) {
    const std::string* tie = tie_of(layer);
    if (tie == nullptr || !tie->starts_with(slot_prefix) || !tie->ends_with(table_suffix) ||
        tie->size() <= slot_prefix.size() + table_suffix.size())
        return std::nullopt;
    const char* const begin = tie->data() + slot_prefix.size();
    const char* const end = tie->data() + tie->size() - table_suffix.size();
    int slot = 0;
    const auto [rest, error] = std::from_chars(begin, end, slot);
    if (error != std::errc() || rest != end || slot < 0 || slot >= largest_grid)
        return std::nullopt;
    return slot;
}

std::string tie_fault(const Blueprint& blueprint) {
    for (const std::optional<Slot>& slot : blueprint.slots)
        if (slot)
            if (std::string fault = fault_of(blueprint, slot->layer); !fault.empty()) return fault;
    return fault_of(blueprint, blueprint.head);
}

}  // namespace cambrian
