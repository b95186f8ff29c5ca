#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/layers/support/layer.hpp"

// Layer types that a running program gets (from plug-ins), beside the closed list of AnyLayer.
namespace cambrian {

/// A layer of such a type: what a struct of the concept Layer says, in one interface.
/// TypedLayer makes it of a struct.
class CustomLayer {
  public:
    virtual ~CustomLayer() = default;

    [[nodiscard]] virtual std::string_view type() const = 0;
    [[nodiscard]] virtual const LayerText& about() const = 0;
    [[nodiscard]] virtual std::unique_ptr<CustomLayer> clone() const = 0;
    /// With nothing set; as documentation shows it; and one between two rows, or null.
    [[nodiscard]] virtual std::unique_ptr<CustomLayer> initial() const = 0;
    [[nodiscard]] virtual std::unique_ptr<CustomLayer> example() const = 0;
    [[nodiscard]] virtual std::unique_ptr<CustomLayer> fitted(const Shape& in,
                                                              const Shape& out) const = 0;

    /// Its fields as an object in their order, without the type: what JSON, archives and hashes
    /// see.
    virtual void write_fields(nlohmann::ordered_json& target) const = 0;
    /// Sets what an object holds. @param others keys that are allowed beside the fields.
    virtual void read_fields(const nlohmann::json& source, std::string_view path,
                             std::span<const std::string_view> others) = 0;
    /// What the schema of configs says of the fields, as an object.
    virtual void describe_fields(nlohmann::ordered_json& properties) const = 0;
    [[nodiscard]] virtual std::vector<Activation*> activations() = 0;

    /// Contract: a layer of the same type.
    [[nodiscard]] virtual bool equals(const CustomLayer& other) const = 0;
    [[nodiscard]] virtual std::string_view fault() const = 0;
    virtual void infer_output(std::int64_t width) = 0;
    virtual void resolve(const Shape& input) = 0;
    [[nodiscard]] virtual Shape output_shape(const Shape& input) const = 0;
    [[nodiscard]] virtual std::vector<ParameterSpec> parameters() const = 0;
    [[nodiscard]] virtual std::vector<StateSpec> state() const = 0;
    [[nodiscard]] virtual StepResult step(Var x, std::span<const Var> state,
                                          const LayerOperands& operands) const = 0;
    /// Nothing where it has no form of its own.
    [[nodiscard]] virtual std::optional<Var> sequence(Var x,
                                                      const LayerOperands& operands) const = 0;
    [[nodiscard]] virtual bool prefers_sequence() const = 0;
};

/// A type of custom layers, and the plug-in that brought it.
struct CustomLayerType {
    std::string plugin;
    Hash128 content;  ///< Of the plug-in's file.
    std::shared_ptr<const CustomLayer> initial;
};

/// The custom types of this process. They are part of its code, as the closed list is: a plug-in is
/// loaded once, before networks are read, and stays.
class CustomLayerTypes {
  public:
    /// The same type of the same file again does nothing. Throws ConfigError where the name is
    /// taken.
    /// @param built_in names that no type may have.
    void add(CustomLayerType type, std::span<const std::string_view> built_in);
    /// Null for an unknown one; until the next one is added.
    [[nodiscard]] const CustomLayerType* find(std::string_view type) const;
    [[nodiscard]] std::vector<std::string_view> names() const;

  private:
    std::vector<CustomLayerType> types_;
};
/// Those that layers are looked up in.
[[nodiscard]] CustomLayerTypes& custom_layer_types();
/// Makes this copy of the library look them up where another one does: a plug-in is linked with a
/// copy of its own.
void share_custom_layer_types(CustomLayerTypes& types);

/// The alternative of AnyLayer that holds a custom layer. What its code throws comes out as an
/// Error that names plug-in and layer.
struct Custom {
    static constexpr std::string_view name{"custom"};
    static constexpr LayerText about{.summary = "A layer of a plug-in",
                                     .formula = "what the plug-in says",
                                     .source = "the plug-in"};

    std::string plugin;
    std::shared_ptr<const CustomLayer> layer;  ///< Null: no layer, which nothing can be done with.

    static constexpr auto fields = FieldTable{};

    static Custom example() { return {}; }
    static std::optional<Custom> fitted(const Shape& /*in*/, const Shape& /*out*/) { return {}; }
    [[nodiscard]] std::optional<Custom> fitted_between(const Shape& in, const Shape& out) const;
    [[nodiscard]] Custom own_example() const;

    [[nodiscard]] std::string_view type() const;
    [[nodiscard]] std::string_view fault() const;
    void infer_output(std::int64_t width);
    void resolve(const Shape& input);
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    [[nodiscard]] bool stateful() const { return !state().empty(); }
    [[nodiscard]] std::vector<StateSpec> state() const;
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;
    /// Nothing where the layer has no sequence form of its own.
    [[nodiscard]] std::optional<Var> own_sequence(Var x, const LayerOperands& operands) const;
    [[nodiscard]] bool prefers_sequence() const;

    /// Genes, in a copy that nobody shares.
    [[nodiscard]] std::vector<Activation*> activations();
    [[nodiscard]] std::vector<Activation> activations() const;
    /// Fields as JSON in one form. @param genes whether activations are in it.
    [[nodiscard]] std::string text(bool genes = true) const;
    void write_fields(nlohmann::ordered_json& target) const;
    void describe_fields(nlohmann::ordered_json& properties) const;
    void read_fields(const nlohmann::json& source, std::string_view path,
                     std::span<const std::string_view> others);

    /// Takes the fields that another layer of its type has set to something else than the default.
    /// @param reopens whether the others that are whole numbers, 0 by default, become 0 again.
    void take_set(const Custom& given, bool reopens);

    bool operator==(const Custom& other) const;
};

/// The layer of a custom type with nothing set, or nothing for an unknown one.
[[nodiscard]] std::optional<Custom> default_custom(std::string_view type);

}  // namespace cambrian
