#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cambrian/engine/core/json/field_json.hpp"
#include "cambrian/engine/layers/custom/custom_layer.hpp"

namespace cambrian {

/// A struct of the concept Layer as a custom layer: it is written as those in engine/layers are.
/// Its fields are numbers, truth values, texts, choices (activations among them), lists and structs
/// of these; it holds no layers.
template <Layer L>
class TypedLayer final : public CustomLayer {
  public:
    explicit TypedLayer(L layer) : layer_(std::move(layer)) {}

    [[nodiscard]] std::string_view type() const override { return L::name; }
    [[nodiscard]] const LayerText& about() const override {
        static constexpr LayerText text = L::about;
        return text;
    }
    [[nodiscard]] std::unique_ptr<CustomLayer> clone() const override { return made(layer_); }
    [[nodiscard]] std::unique_ptr<CustomLayer> initial() const override { return made(L{}); }
    [[nodiscard]] std::unique_ptr<CustomLayer> example() const override {
        return made(L::example());
    }
    [[nodiscard]] std::unique_ptr<CustomLayer> fitted(const Shape& in,
                                                      const Shape& out) const override {
        std::optional<L> layer = L::fitted(in, out);
        return layer ? made(*std::move(layer)) : nullptr;
    }

    void write_fields(nlohmann::ordered_json& target) const override {
        field_json::write(target, layer_);
    }
    void read_fields(const nlohmann::json& source, std::string_view path,
                     std::span<const std::string_view> others) override {
        field_json::read_fields(layer_, source, path, others);
    }
    void describe_fields(nlohmann::ordered_json& properties) const override {
        field_json::describe_fields(properties, L{});
    }
    [[nodiscard]] std::vector<Activation*> activations() override {
        std::vector<Activation*> found;
        field_json::for_each_field<L>([&](const auto& field) {
            auto& value = layer_.*field.member;
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Activation>)
                found.push_back(&value);
        });
        return found;
    }

    [[nodiscard]] bool equals(const CustomLayer& other) const override {
        return layer_ == static_cast<const TypedLayer&>(other).layer_;
    }
    [[nodiscard]] std::string_view fault() const override {
        if constexpr (requires { layer_.fault(); })
            return layer_.fault();
        else
            return {};
    }
    void infer_output(std::int64_t width) override {
        if constexpr (requires { layer_.infer_output(width); }) layer_.infer_output(width);
    }
    void resolve(const Shape& input) override { layer_.resolve(input); }
    [[nodiscard]] Shape output_shape(const Shape& input) const override {
        return layer_.output_shape(input);
    }
    [[nodiscard]] std::vector<ParameterSpec> parameters() const override {
        return layer_.parameters();
    }
    [[nodiscard]] std::vector<StateSpec> state() const override {
        if constexpr (StatefulLayer<L>)
            return layer_.state();
        else
            return {};
    }
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const override {
        if constexpr (StatefulLayer<L>)
            return layer_.step(x, state, operands);
        else
            return {.output = layer_.build(x, operands), .state = {}};
    }
    [[nodiscard]] std::optional<Var> sequence(Var x, const LayerOperands& operands) const override {
        if constexpr (requires { layer_.sequence(x, operands); })
            return layer_.sequence(x, operands);
        else
            return std::nullopt;
    }
    [[nodiscard]] bool prefers_sequence() const override {
        if constexpr (requires { layer_.prefers_sequence(); })
            return layer_.prefers_sequence();
        else
            return requires(Var x, const LayerOperands& operands) {
                layer_.sequence(x, operands);
            };
    }

  private:
    static std::unique_ptr<CustomLayer> made(L layer) {
        return std::make_unique<TypedLayer>(std::move(layer));
    }

    L layer_;
};

}  // namespace cambrian
