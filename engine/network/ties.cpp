#include "cambrian/engine/network/ties.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace cambrian {
namespace {

constexpr std::string_view slot_prefix = "slot.";

/// What can be shared: a tensor of each layer of a type.
struct Lender {
    std::string_view type;
    std::string_view parameter;
};
constexpr std::array lenders{Lender{Embedding::name, "table"}, Lender{Dense::name, "weight"}};

const std::string* name_of_tie(const AnyLayer& layer) {
    const auto* dense = std::get_if<Dense>(&layer.variant());
    return dense == nullptr || dense->tied.empty() ? nullptr : &dense->tied;
}

std::string tie_name(int slot, std::string_view parameter) {
    return std::string(slot_prefix) + std::to_string(slot) + "." + std::string(parameter);
}

/// "slot.0.table" or the like of each lender.
std::string possible_names() {
    std::string text;
    for (const Lender& lender : lenders)
        text += (text.empty() ? "\"" : " or \"") + tie_name(0, lender.parameter) + "\"";
    return text;
}

/// The number of the head is that of slots.
template <typename Found>
void each_layer(const Blueprint& blueprint, Found found) {
    for (std::size_t slot = 0; slot < blueprint.slots.size(); ++slot)
        if (const auto& filled = blueprint.slots[slot])
            found(static_cast<int>(slot), filled->layer);
    found(static_cast<int>(blueprint.slots.size()), blueprint.head);
}

bool holds_tie(const AnyLayer& layer) {
    bool found = false;
    layer.each_inner([&](const AnyLayer& inner) {
        found = found || name_of_tie(inner) != nullptr || holds_tie(inner);
    });
    return found;
}

/// Why a dense layer cannot take a tensor of a layer, or an empty text.
std::string lending_fault(const Dense& dense, const Tie& tie, const AnyLayer* lender) {
    const auto* const row = std::ranges::find(lenders, tie.parameter, &Lender::parameter);
    if (lender == nullptr || lender->type() != row->type)
        return "there is no layer of type " + std::string(row->type) + " in that slot";
    const std::vector<ParameterSpec> own = lender->parameters();
    const auto lent = std::ranges::find(own, tie.parameter, &ParameterSpec::name);
    if (lent == own.end()) return "the layer in that slot is tied itself";
    const Shape weight{dense.out, dense.in};
    if (lent->shape == weight) return {};
    return "its " + lent->name + " is " + lent->shape.text() + ", the weight is " + weight.text();
}

std::string fault_of(const Blueprint& blueprint, int slot, const AnyLayer& layer) {
    if (holds_tie(layer))
        return "a dense layer in a container is tied (only one by itself, or the head, can be)";
    const std::string* name = name_of_tie(layer);
    if (name == nullptr) return {};
    const auto fault = [&](const std::string& why) {
        return "a dense layer is tied to \"" + *name + "\" (" + why + ")";
    };
    const std::optional<Tie> tie = tie_of(layer);
    if (!tie) return fault("a name is like " + possible_names());
    if (tie->slot == slot) return fault("that is the layer itself");
    const auto index = static_cast<std::size_t>(tie->slot);
    const bool inside = index < blueprint.slots.size() && blueprint.slots[index];
    const std::string why = lending_fault(std::get<Dense>(layer.variant()), *tie,
                                          inside ? &blueprint.slots[index]->layer : nullptr);
    return why.empty() ? std::string() : fault(why);
}

}  // namespace

std::optional<Tie> tie_of(const AnyLayer& layer) {
    const std::string* name = name_of_tie(layer);
    if (name == nullptr || !name->starts_with(slot_prefix)) return std::nullopt;
    const char* const begin = name->data() + slot_prefix.size();
    const char* const end = name->data() + name->size();
    Tie tie;
    const auto [rest, error] = std::from_chars(begin, end, tie.slot);
    if (error != std::errc() || rest == end || *rest != '.') return std::nullopt;
    tie.parameter = std::string_view(rest + 1, end);
    const bool known =
        std::ranges::find(lenders, tie.parameter, &Lender::parameter) != lenders.end();
    if (!known || tie.slot < 0 || tie.slot >= largest_grid) return std::nullopt;
    // One name for one tensor: no zeros in front.
    if (*name != tie_name(tie.slot, tie.parameter)) return std::nullopt;
    return tie;
}

bool lends(const Blueprint& blueprint, int slot) {
    bool found = false;
    each_layer(blueprint, [&](int, const AnyLayer& layer) {
        const std::optional<Tie> tie = tie_of(layer);
        found = found || (tie && tie->slot == slot);
    });
    return found;
}

std::vector<int> borrowers(const Blueprint& blueprint, int slot, std::string_view parameter) {
    std::vector<int> found;
    each_layer(blueprint, [&](int other, const AnyLayer& layer) {
        const std::optional<Tie> tie = tie_of(layer);
        if (tie && tie->slot == slot && tie->parameter == parameter) found.push_back(other);
    });
    return found;
}

bool lends_to_enabled(const Blueprint& blueprint, int slot, std::string_view parameter) {
    return std::ranges::any_of(borrowers(blueprint, slot, parameter), [&](int other) {
        const auto index = static_cast<std::size_t>(other);
        return index == blueprint.slots.size() || blueprint.slots[index]->enabled;
    });
}

void renumber_ties(Blueprint& blueprint, const std::function<int(int)>& number) {
    const auto renumber = [&](AnyLayer& layer) {
        if (const std::optional<Tie> tie = tie_of(layer))
            std::get<Dense>(layer.variant()).tied = tie_name(number(tie->slot), tie->parameter);
    };
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) renumber(slot->layer);
    renumber(blueprint.head);
}

std::string tie_fault(const Blueprint& blueprint) {
    std::string fault;
    each_layer(blueprint, [&](int slot, const AnyLayer& layer) {
        if (fault.empty()) fault = fault_of(blueprint, slot, layer);
    });
    return fault;
}

}  // namespace cambrian
