#include <algorithm>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"
#include "cambrian/engine/train/optimizer.hpp"

namespace cambrian {
namespace {

using field_json::Kind;

const std::vector<Kind<Optimizer>>& optimizer_kinds() {
    static const std::vector<Kind<Optimizer>> table{
        {"sgd", Sgd{}, "Gradient descent."},
        {"adam", Adam{}, "Adaptive moments (Kingma and Ba, 2015)."},
        {"adamw", Adam{.weight_decay = 0.01, .decoupled = true},
         "Adam with decoupled weight decay (Loshchilov and Hutter, 2019)."},
        {"rmsprop", RmsProp{}, "Scaled by a running root mean square."}};
    return table;
}

/// Whether two optimizers differ in what JSON can say of their type only.
bool same_type(const Optimizer& a, const Optimizer& b) {
    if (a.index() != b.index()) return false;
    const Adam* adam = std::get_if<Adam>(&a);
    return adam == nullptr || adam->decoupled == std::get<Adam>(b).decoupled;
}

}  // namespace

std::span<const std::string_view> optimizer_types() {
    static const std::vector<std::string_view> names = field_json::names(optimizer_kinds());
    return names;
}

std::string_view name(const Optimizer& optimizer) {
    const auto found = std::ranges::find_if(optimizer_kinds(), [&](const Kind<Optimizer>& kind) {
        return same_type(optimizer, kind.defaults);
    });
    CAMBRIAN_ASSERT(found != optimizer_kinds().end());
    return found->name;
}

Optimizer optimizer_from_json(const nlohmann::json& json, std::string_view path) {
    Optimizer optimizer = field_json::read_kind(json, path, optimizer_kinds());
    if (const Sgd* sgd = std::get_if<Sgd>(&optimizer); sgd && sgd->nesterov && sgd->momentum == 0.0)
        throw ConfigError(std::string(path) +
                          ".nesterov is true (it looks ahead along a momentum, which is 0) set "
                          "momentum, or leave it out");
    return optimizer;
}

nlohmann::ordered_json to_json(const Optimizer& optimizer) {
    nlohmann::ordered_json json;
    field_json::write_kind(json, name(optimizer), optimizer);
    return json;
}

nlohmann::ordered_json optimizer_schema() {
    nlohmann::ordered_json variants;
    field_json::describe_kinds(variants, optimizer_kinds());
    return variants;
}

}  // namespace cambrian
