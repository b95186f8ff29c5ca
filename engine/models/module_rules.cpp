#include <functional>
#include <string>
#include <unordered_set>

#include "cambrian/engine/models/layer_names.hpp"

// A network as a chain of modules.
namespace cambrian::models {
namespace {

/// Calls f(layer, our prefix, their prefix) for a layer, or for those in it.
using EachLayer =
    std::function<void(const AnyLayer&, const std::string& ours, const std::string& theirs)>;

void visit_layer(const AnyLayer& layer, const std::string& ours, const std::string& theirs,
                 const EachLayer& f) {
    const std::vector<AnyLayer>* inner = nullptr;
    if (const auto* sequence = std::get_if<Sequential>(&layer.variant())) inner = &sequence->layers;
    if (const auto* residual = std::get_if<Residual>(&layer.variant())) inner = &residual->layers;
    if (inner == nullptr) return f(layer, ours, theirs);
    for (std::size_t i = 0; i < inner->size(); ++i) {
        const std::string name = "layers." + std::to_string(i) + ".";
        visit_layer((*inner)[i], ours + name, theirs + name, f);
    }
}

/// Modules that a layer is: one, and one for an activation that is not the identity.
std::size_t module_count(const AnyLayer& layer) {
    const bool names_activation = layer.type() == Dense::name || layer.type().starts_with("conv");
    const std::vector<Activation> activations = layer.activations();
    return names_activation && !activations.empty() && activations.front() != Activation::identity
               ? 2
               : 1;
}

void visit_chain(const Network& network, const EachLayer& f) {
    std::size_t module = 0;
    const Blueprint& blueprint = network.blueprint();
    for (std::size_t i = 0; i < blueprint.slots.size(); ++i) {
        if (!blueprint.slots[i]) continue;
        const AnyLayer& layer = blueprint.slots[i]->layer;
        visit_layer(layer, "slot." + std::to_string(i) + ".", std::to_string(module) + ".", f);
        module += module_count(layer);
    }
    visit_layer(blueprint.head, "head.", std::to_string(module) + ".", f);
}

}  // namespace

std::vector<TensorRule> module_rules(const Network& network) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        names.push_back(network.weight_name(i));
    const std::unordered_set<std::string> known(names.begin(), names.end());
    std::unordered_set<std::string> taken;
    std::vector<TensorRule> rules;
    const auto take = [&](const std::string& name) {
        if (!known.contains(name)) return false;
        taken.insert(name);
        return true;
    };
    visit_chain(
        network, [&](const AnyLayer& layer, const std::string& ours, const std::string& theirs) {
            const LayerNames* form = names_of(layer);
            if (form == nullptr) return;
            for (const TensorName& tensor : form->tensors) {
                TensorRule rule{theirs + std::string(tensor.theirs.front()), {}, tensor.form};
                for (const std::string_view name : tensor.ours)
                    rule.ours.push_back(ours + std::string(name));
                bool there = true;
                for (const std::string& name : rule.ours) there = take(name) && there;
                if (there) rules.push_back(std::move(rule));
            }
        });
    // Of links, and of layers that nobody else has.
    for (const std::string& name : names)
        if (!taken.contains(name)) rules.push_back({name, {name}});
    return rules;
}

std::vector<std::string> module_buffers(const Network& network) {
    std::vector<std::string> buffers;
    visit_chain(network, [&](const AnyLayer& layer, const std::string&, const std::string& theirs) {
        if (const LayerNames* form = names_of(layer))
            for (const std::string_view name : form->buffers)
                buffers.push_back(theirs + std::string(name));
    });
    return buffers;
}

}  // namespace cambrian::models
