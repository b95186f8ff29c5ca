#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/train/optimizer.hpp"
#include "cambrian/engine/train/setting_fields.hpp"

namespace cambrian {
namespace {

std::vector<SettingField> fields(Sgd& sgd) {
    return {{"momentum", &sgd.momentum, below_one},
            {"nesterov", &sgd.nesterov},
            {"weight_decay", &sgd.weight_decay, not_negative}};
}
std::vector<SettingField> fields(Adam& adam) {
    return {{"beta1", &adam.beta1, below_one},
            {"beta2", &adam.beta2, below_one},
            {"epsilon", &adam.epsilon, positive},
            {"weight_decay", &adam.weight_decay, not_negative}};
}
std::vector<SettingField> fields(RmsProp& rms) {
    return {{"alpha", &rms.alpha, below_one},
            {"epsilon", &rms.epsilon, positive},
            {"weight_decay", &rms.weight_decay, not_negative}};
}

std::vector<SettingField> fields(Optimizer& optimizer) {
    return std::visit([](auto& kind) { return fields(kind); }, optimizer);
}

constexpr std::array<std::string_view, 4> names{"sgd", "adam", "adamw", "rmsprop"};
/// In the order of the names.
const std::array<Optimizer, names.size()>& defaults() {
    static const std::array<Optimizer, names.size()> table{
        Sgd{}, Adam{}, Adam{.weight_decay = 0.01, .decoupled = true}, RmsProp{}};
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
    return names;
}

std::string_view name(const Optimizer& optimizer) {
    const auto found = std::ranges::find_if(
        defaults(), [&](const Optimizer& other) { return same_type(optimizer, other); });
    CAMBRIAN_ASSERT(found != defaults().end());
    return names[static_cast<std::size_t>(found - defaults().begin())];
}

Optimizer optimizer_from_json(const nlohmann::json& json, std::string_view path) {
    Optimizer optimizer = defaults()[read_type(json, path, names)];
    read_fields(json, path, fields(optimizer), std::array<std::string_view, 1>{"type"});
    return optimizer;
}

nlohmann::ordered_json to_json(const Optimizer& optimizer) {
    Optimizer copy = optimizer;
    nlohmann::ordered_json json{{"type", name(optimizer)}};
    write_fields(json, fields(copy));
    return json;
}

}  // namespace cambrian
