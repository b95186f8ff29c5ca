#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/layers/support/parameter_rules.hpp"
#include "cambrian/engine/layers/support/training.hpp"
#include "cambrian/engine/weights/initial_value.hpp"

namespace cambrian {

/// Of parameters that stay above 0, such as time constants, as every step divides by them: the
/// smallest that mutation and gradients lead to, and the largest that mutation does. A change that
/// led through 0 would let a neuron run away from its value.
inline constexpr float smallest_positive = 0.1F;
inline constexpr float largest_positive = 100.0F;

/// One parameter tensor of a layer.
struct ParameterSpec {
    std::string name;  ///< "weight", or a path inside a container: "layers.1.weight".
    Shape shape;
    Initial initial = Initial::weight;
    std::int64_t fan_in = 0;  ///< For Initial::weight.
    Activation activation =
        Activation::identity;  ///< Of the layer that owns it, for Initial::weight.
    bool buffer = false;       ///< A running statistic: spliced, but neither trained nor mutated.
    /// Something is divided by it: mutation and gradients keep it above 0, see smallest_positive.
    bool positive = false;
    bool undecayed = false;    ///< Its size means something: neither decay nor formats touch it.
    bool connections = false;  ///< One weight each, in a list that counts as a row of a matrix.
    /// Numbers of the connections that compute nothing: no scale of a format comes from their
    /// weights.
    std::vector<std::int64_t> disabled{};
    ParameterRules rules{};  ///< What is said of it; the start only counts for Initial::weight.

    /// Matrices and kernels, but no gains, biases and what only has the shape of one.
    [[nodiscard]] bool is_matrix() const { return shape.rank() >= 2 && !buffer && !undecayed; }
    /// Whether weight decay pulls it toward zero.
    [[nodiscard]] bool decays() const { return is_matrix() && rules.decay; }
    /// Whether a storage format holds it (Slot::formats). The rest stays float32.
    [[nodiscard]] bool encoded() const { return is_matrix() || connections; }
};

/// How a state goes on from step to step.
enum class StateKind : std::uint8_t {
    whole,     ///< A step gives the next one.
    rows,      ///< A cache [groups, positions, width]: a step gives [groups, 1, width], what is to
               ///< be put at its position.
    position,  ///< How many steps were before, one number.
};

/// One state tensor of a stateful layer, for one row of the batch (a rollout holds [batch,
/// shape...]).
struct StateSpec {
    std::string name;
    Shape shape;
    StateKind kind = StateKind::whole;
};

/// What a layer computes with: its parameters in the order of parameters(), and the gene codes of
/// its activations (integer scalars) in the order of activations().
struct LayerOperands {
    std::span<const Var> parameters;
    std::span<const Var> activations;
    Shape row{};                       ///< Of the input: the last axes of x.
    TrainingPass* training = nullptr;  ///< None: inference.
    /// Where a sequence form adds what its steps would leave in states of StateKind::rows, in the
    /// order of these, [batch, groups, time, width] each. Null: nobody asks.
    std::vector<Var>* cache_rows = nullptr;
    /// Of the codes: all layers of a network have one set.
    ActivationSet activation_set = ActivationSet::any;

    /// An activation of the layer applied.
    [[nodiscard]] Var activated(Var x, std::size_t activation = 0) const {
        return activate(x, activations[activation], activation_set);
    }
};

/// Result of one step of a stateful layer.
struct StepResult {
    Var output;
    std::vector<Var> state;
};

/// The names of activations in JSON.
[[nodiscard]] constexpr std::span<const std::string_view> choice_names(Activation) {
    return activation_names;
}

/// What a reader wants to know of a layer type beside its fields and shapes.
struct LayerText {
    std::string_view summary;  ///< One line.
    std::string_view formula;  ///< y of x, in one line or more.
    std::string_view source;   ///< Where the definition comes from.

    [[nodiscard]] constexpr bool complete() const {
        return !summary.empty() && !formula.empty() && !source.empty();
    }
};

/// A layer type. Described for one individual and for the shape of a row (width.hpp); all axes
/// before the row are batch. A stateful layer also has `state()` and `step()`; its sequence form is
/// scan(step) or one of its own, which gives the same.
///
///     static constexpr std::string_view name;
///     static constexpr LayerText about;  // complete
///     static constexpr auto fields;      // a FieldTable
///     static L example();                // for tests and documentation
///     // default-configured layer between rows of two shapes, if there is one; where L is of no
///     // use alone, the layer that holds it
///     static std::optional<L> fitted(const Shape& in, const Shape& out);
///     void resolve(const Shape& input);  // fills widths left at 0; throws ShapeError if unfit
///     Shape output_shape(const Shape& input) const;  // of a row, after resolve
///     std::vector<ParameterSpec> parameters() const;
///     Var build(Var x, const LayerOperands&) const;  // stateless layers
///     std::vector<StateSpec> state() const;          // stateful layers
///     StepResult step(Var x, std::span<const Var> state, const LayerOperands&) const;
///     Var sequence(Var x, const LayerOperands&) const;  // x [batch, time, row..], if there is one
///     bool prefers_sequence() const;  // where that depends on the fields
template <class L>
concept Layer = std::equality_comparable<L> && std::default_initializable<L> &&
    requires(L layer, const L constant, const Shape& row) {
    { L::name } -> std::convertible_to<std::string_view>;
    requires L::about.complete();
    L::fields;
    { L::example() } -> std::same_as<L>;
    typename decltype(L::fitted(row, row))::value_type;
    { layer.resolve(row) } -> std::same_as<void>;
    { constant.output_shape(row) } -> std::same_as<Shape>;
    { constant.parameters() } -> std::same_as<std::vector<ParameterSpec>>;
};

template <class L>
concept StatefulLayer = Layer<L> &&
    requires(const L constant, Var x, std::span<const Var> state, const LayerOperands& operands) {
    { constant.state() } -> std::same_as<std::vector<StateSpec>>;
    { constant.step(x, state, operands) } -> std::same_as<StepResult>;
};

}  // namespace cambrian
