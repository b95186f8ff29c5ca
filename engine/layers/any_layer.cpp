#include "cambrian/engine/layers/any_layer.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"

namespace cambrian {

namespace {

template <class... L>
constexpr bool all_are_layers(const std::variant<L...>*) {
    return (Layer<L> && ...);
}
static_assert(all_are_layers(static_cast<AnyLayer::Variant*>(nullptr)));

template <class... L>
constexpr std::array<std::string_view, sizeof...(L)> names_of(const std::variant<L...>*) {
    return {std::string_view(L::name)...};
}
constexpr auto type_names = names_of(static_cast<AnyLayer::Variant*>(nullptr));
/// Without that of Custom, which stands for types of other names.
constexpr std::span<const std::string_view> built_in(type_names.data(), type_names.size() - 1);
static_assert(type_names.back() == Custom::name);

/// Calls f with a null pointer to each layer type in turn until it returns true.
template <class F, class... L>
void find_type(F f, const std::variant<L...>*) {
    static_cast<void>((f(static_cast<L*>(nullptr)) || ...));
}

/// Types of fields that are ranges of layers.
template <class Value>
constexpr bool holds_layers =
    std::is_same_v<Value, std::vector<AnyLayer>> || std::is_same_v<Value, OptionalLayer>;

/// Layers that hold others have what those have.
template <class L>
constexpr bool holds_others =
    std::is_same_v<L, Sequential> || std::is_same_v<L, Residual> || std::is_same_v<L, Parallel>;

/// Calls f with every activation of a layer, depth first.
template <class Any, class F>
void each_activation(Any& layer, const F& f) {
    if (auto* custom = std::get_if<Custom>(&layer.variant())) {
        if constexpr (std::is_const_v<Any>) {
            for (const Activation activation : custom->activations()) f(activation);
        } else {
            for (Activation* activation : custom->activations()) f(*activation);
        }
        return;
    }
    std::visit(
        [&f](auto& concrete) {
            const auto field = [&f](auto& value) {
                using Value = std::remove_cvref_t<decltype(value)>;
                if constexpr (std::is_same_v<Value, Activation>) {
                    f(value);
                } else if constexpr (holds_layers<Value>) {
                    for (auto& inner : value) each_activation(inner, f);
                }
            };
            std::remove_cvref_t<decltype(concrete)>::fields(
                [&](const auto&... entry) { (field(concrete.*entry.member), ...); });
        },
        layer.variant());
}

/// Calls f with every layer of the fields of a variant, which is const or not.
template <class Variant, class F>
void each_layer_of(Variant& variant, const F& f) {
    std::visit(
        [&f](auto& layer) {
            const auto field = [&f](auto& value) {
                if constexpr (holds_layers<std::remove_cvref_t<decltype(value)>>)
                    for (auto& inner : value) f(inner);
            };
            std::remove_cvref_t<decltype(layer)>::fields(
                [&](const auto&... entry) { (field(layer.*entry.member), ...); });
        },
        variant);
}

AnyLayer example_of(const AnyLayer& layer) {
    if (const auto* custom = std::get_if<Custom>(&layer.variant())) return custom->own_example();
    return std::visit([]<class L>(const L&) { return AnyLayer(L::example()); }, layer.variant());
}

template <class L>
bool is_stateful(const L& layer) {
    if constexpr (requires { layer.stateful(); }) {
        return layer.stateful();
    } else {
        return StatefulLayer<L>;
    }
}

}  // namespace

AnyLayer::AnyLayer() = default;
AnyLayer::AnyLayer(const AnyLayer&) = default;
AnyLayer::AnyLayer(AnyLayer&&) noexcept = default;
AnyLayer& AnyLayer::operator=(const AnyLayer&) = default;
AnyLayer& AnyLayer::operator=(AnyLayer&&) noexcept = default;
AnyLayer::~AnyLayer() = default;
bool AnyLayer::operator==(const AnyLayer&) const = default;

std::string_view AnyLayer::type() const {
    if (const auto* custom = std::get_if<Custom>(&layer_)) return custom->type();
    return type_names[layer_.index()];
}

void AnyLayer::resolve(const Shape& input) {
    std::visit([&](auto& layer) { layer.resolve(input); }, layer_);
}

void AnyLayer::infer_output(std::int64_t width) {
    std::visit(
        [=](auto& layer) {
            if constexpr (requires { layer.infer_output(width); }) layer.infer_output(width);
        },
        layer_);
}

Shape AnyLayer::output_shape(const Shape& input) const {
    return std::visit([&](const auto& layer) { return layer.output_shape(input); }, layer_);
}

std::vector<ParameterSpec> AnyLayer::parameters() const {
    std::vector<ParameterSpec> all =
        std::visit([](const auto& layer) { return layer.parameters(); }, layer_);
    for (ParameterSpec& parameter : all) parameter.rules = parameter.rules.within(rules);
    return all;
}

ActivationSet AnyLayer::activation_set() const {
    bool common = true;
    each_activation(*this,
                    [&](Activation activation) { common = common && is_common(activation); });
    return common ? ActivationSet::common : ActivationSet::any;
}

std::vector<Activation*> AnyLayer::activations() {
    std::vector<Activation*> all;
    each_activation(*this, [&all](Activation& activation) { all.push_back(&activation); });
    return all;
}

std::vector<Activation> AnyLayer::activations() const {
    std::vector<Activation> all;
    each_activation(*this, [&all](const Activation& activation) { all.push_back(activation); });
    return all;
}

bool AnyLayer::stateful() const {
    return std::visit([](const auto& layer) { return is_stateful(layer); }, layer_);
}

std::vector<StateSpec> AnyLayer::state() const {
    return std::visit(
        [](const auto& layer) {
            if constexpr (requires { layer.state(); }) {
                return layer.state();
            } else {
                return std::vector<StateSpec>{};
            }
        },
        layer_);
}

std::string_view AnyLayer::fault() const {
    return std::visit(
        [](const auto& layer) -> std::string_view {
            if constexpr (requires { layer.fault(); }) {
                return layer.fault();
            } else {
                return {};
            }
        },
        layer_);
}

Var AnyLayer::build(Var x, const LayerOperands& operands) const {
    CAMBRIAN_ASSERT(!stateful());
    return step(x, {}, operands).output;
}

StepResult AnyLayer::step(Var x, std::span<const Var> state, const LayerOperands& operands) const {
    return std::visit(
        [&](const auto& layer) -> StepResult {
            if constexpr (requires { layer.step(x, state, operands); }) {
                return layer.step(x, state, operands);
            } else {
                return {.output = layer.build(x, operands), .state = {}};
            }
        },
        layer_);
}

Var AnyLayer::sequence(Var x, const LayerOperands& operands) const {
    if (!stateful()) return build(x, operands);
    return std::visit(
        [&]<class L>(const L& layer) -> Var {
            if constexpr (std::is_same_v<L, Custom>) {
                const std::optional<Var> own = layer.own_sequence(x, operands);
                return own ? *own : scan_layer(*this, x, operands);
            } else if constexpr (requires { layer.sequence(x, operands); }) {
                return layer.sequence(x, operands);
            } else {
                return scan_layer(*this, x, operands);
            }
        },
        layer_);
}

void AnyLayer::each_inner(const std::function<void(const AnyLayer&)>& f) const {
    each_layer_of(layer_, f);
}

void AnyLayer::each_inner(const std::function<void(AnyLayer&)>& f) {
    each_layer_of(layer_, f);
}

bool AnyLayer::prefers_sequences() const {
    bool result = std::visit(
        []<class L>(const L& layer) {
            if constexpr (requires { layer.prefers_sequence(); }) {
                return layer.prefers_sequence();
            } else {
                return !holds_others<L> && requires(Var x, const LayerOperands& operands) {
                    layer.sequence(x, operands);
                };
            }
        },
        layer_);
    each_inner([&](const AnyLayer& inner) { result = result || inner.prefers_sequences(); });
    return result;
}

void AnyLayer::set_cache(std::int64_t positions) {
    std::visit(
        [positions]<class L>(L& layer) {
            if constexpr (requires { layer.cache; })
                if (layer.causal) layer.cache = positions;
            const auto field = [&](auto& value) {
                if constexpr (holds_layers<std::remove_cvref_t<decltype(value)>>)
                    for (AnyLayer& inner : value) inner.set_cache(positions);
            };
            L::fields([&](const auto&... entry) { (field(layer.*entry.member), ...); });
        },
        layer_);
}

bool AnyLayer::has_buffers() const {
    bool result = std::holds_alternative<BatchNorm>(layer_);
    if (const auto* custom = std::get_if<Custom>(&layer_))
        result = std::ranges::any_of(custom->parameters(), &ParameterSpec::buffer);
    each_inner([&](const AnyLayer& inner) { result = result || inner.has_buffers(); });
    return result;
}

bool AnyLayer::has_positive() const {
    const auto* neurons = std::get_if<Neurons>(&layer_);
    bool result = neurons != nullptr && neurons->continuous;
    if (const auto* custom = std::get_if<Custom>(&layer_))
        result = std::ranges::any_of(custom->parameters(), &ParameterSpec::positive);
    each_inner([&](const AnyLayer& inner) { result = result || inner.has_positive(); });
    return result;
}

std::span<const std::string_view> layer_types() {
    return built_in;
}

std::vector<std::string_view> known_layer_types() {
    std::vector<std::string_view> all(built_in.begin(), built_in.end());
    const std::vector<std::string_view> others = custom_layer_types().names();
    all.insert(all.end(), others.begin(), others.end());
    return all;
}

void add_layer_type(CustomLayerType type) {
    custom_layer_types().add(std::move(type), type_names);
}

bool takes_init(const AnyLayer& layer) {
    const bool holds =
        std::visit([]<class L>(const L&) { return holds_others<L>; }, layer.variant());
    // A softmax has weights in some of its variants.
    if (holds || std::holds_alternative<Softmax>(layer.variant())) return true;
    const std::vector<ParameterSpec> all = example_of(layer).parameters();
    return std::ranges::any_of(
        all, [](const ParameterSpec& parameter) { return parameter.initial == Initial::weight; });
}

bool takes_rule(const AnyLayer& layer, std::string_view key) {
    return takes_init(layer) || (key == "decay" && !example_of(layer).parameters().empty());
}

std::optional<AnyLayer> default_layer(std::string_view type) {
    if (std::optional<Custom> custom = default_custom(type)) return AnyLayer(*std::move(custom));
    if (type == Custom::name) return std::nullopt;
    std::optional<AnyLayer> result;
    const auto matches = [&]<class L>(L*) {
        if (L::name != type) return false;
        result = AnyLayer(L{});
        return true;
    };
    find_type(matches, static_cast<AnyLayer::Variant*>(nullptr));
    return result;
}

std::string unknown_layer_type(std::string_view type) {
    std::string text = "\"" + shortened(type) + "\" is not a layer type (known: ";
    const std::vector<std::string_view> names = known_layer_types();
    text += joined(names);
    const auto nearest = nearest_name(type, names);
    return text + (nearest ? ") did you mean \"" + std::string(*nearest) + "\"?"
                           : ") use one of these, or load the plug-in that has it (--plugin FILE, "
                             "engine.plugins)");
}

std::optional<AnyLayer> fitted_layer(std::string_view type, const Shape& input,
                                     const Shape& output) {
    if (const std::optional<Custom> custom = default_custom(type)) {
        std::optional<Custom> fitted = custom->fitted_between(input, output);
        return fitted ? std::optional<AnyLayer>(*std::move(fitted)) : std::nullopt;
    }
    std::optional<AnyLayer> result;
    bool known = false;
    const auto matches = [&]<class L>(L*) {
        if (L::name != type) return false;
        known = true;
        if (auto layer = L::fitted(input, output)) result = AnyLayer(*std::move(layer));
        return true;
    };
    find_type(matches, static_cast<AnyLayer::Variant*>(nullptr));
    if (!known) throw ConfigError(unknown_layer_type(type));
    return result;
}

}  // namespace cambrian
