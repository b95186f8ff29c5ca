#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cambrian/engine/layers/convolution/average_pool2d.hpp"
#include "cambrian/engine/layers/convolution/conv.hpp"
#include "cambrian/engine/layers/convolution/conv_transpose.hpp"
#include "cambrian/engine/layers/convolution/max_pool2d.hpp"
#include "cambrian/engine/layers/custom/custom_layer.hpp"
#include "cambrian/engine/layers/dense.hpp"
#include "cambrian/engine/layers/dropout.hpp"
#include "cambrian/engine/layers/embedding.hpp"
#include "cambrian/engine/layers/kmeans.hpp"
#include "cambrian/engine/layers/multi_head_attention.hpp"
#include "cambrian/engine/layers/neurons.hpp"
#include "cambrian/engine/layers/normalisation/batch_norm.hpp"
#include "cambrian/engine/layers/normalisation/layer_norm.hpp"
#include "cambrian/engine/layers/normalisation/rms_norm.hpp"
#include "cambrian/engine/layers/normalisation/softmax.hpp"
#include "cambrian/engine/layers/parallel.hpp"
#include "cambrian/engine/layers/recurrent/delta.hpp"
#include "cambrian/engine/layers/recurrent/gru.hpp"
#include "cambrian/engine/layers/recurrent/lstm.hpp"
#include "cambrian/engine/layers/recurrent/mamba.hpp"
#include "cambrian/engine/layers/recurrent/mgu.hpp"
#include "cambrian/engine/layers/recurrent/rnn.hpp"
#include "cambrian/engine/layers/recurrent/ugrnn.hpp"
#include "cambrian/engine/layers/residual.hpp"
#include "cambrian/engine/layers/sequential.hpp"
#include "cambrian/engine/layers/support/layer.hpp"
#include "cambrian/engine/layers/swiglu.hpp"

namespace cambrian {

/// Any of the layers; the only list of layers, beside those that a plug-in brings (Custom). Files
/// store the name, never the position.
class AnyLayer {
  public:
    using Variant =
        std::variant<Dense, RmsNorm, LayerNorm, Softmax, Sequential, Residual, Rnn, Lstm, Gru,
                     MultiHeadAttention, Swiglu, Conv1d, Conv2d, Conv3d, ConvTranspose1d,
                     ConvTranspose2d, ConvTranspose3d, MaxPool2d, AveragePool2d, BatchNorm, Dropout,
                     Embedding, Kmeans, Parallel, Mamba, Neurons, Mgu, Ugrnn, Delta, Custom>;

    AnyLayer();
    template <class L>
    requires std::constructible_from<Variant, L> AnyLayer(L layer)
        : layer_(std::move(layer)) {}  // NOLINT: a layer is an AnyLayer
    // Compiled once, for all types of the list, not in every source that copies a network.
    AnyLayer(const AnyLayer&);
    AnyLayer(AnyLayer&&) noexcept;
    AnyLayer& operator=(const AnyLayer&);
    AnyLayer& operator=(AnyLayer&&) noexcept;
    ~AnyLayer();
    bool operator==(const AnyLayer&) const;

    /// What is said of its parameters beside its own fields.
    ParameterRules rules;

    [[nodiscard]] const Variant& variant() const { return layer_; }
    [[nodiscard]] Variant& variant() { return layer_; }

    [[nodiscard]] std::string_view type() const;
    /// Fills widths left at 0 for rows of that shape; throws ShapeError when they do not fit.
    void resolve(const Shape& input);
    /// Fills an output width left at 0 where the type has one; call before resolve.
    void infer_output(std::int64_t width);
    /// Of a row, after resolve.
    [[nodiscard]] Shape output_shape(const Shape& input) const;
    /// With the rules: of inner layers where these say nothing themselves.
    [[nodiscard]] std::vector<ParameterSpec> parameters() const;
    /// The smallest set that has all its activations.
    [[nodiscard]] ActivationSet activation_set() const;
    /// Every activation gene, depth first; empty for layers without one.
    [[nodiscard]] std::vector<Activation*> activations();
    [[nodiscard]] std::vector<Activation> activations() const;
    [[nodiscard]] bool stateful() const;
    /// Empty for stateless layers.
    [[nodiscard]] std::vector<StateSpec> state() const;
    /// Stateless layers; ContractViolation for a stateful one.
    [[nodiscard]] Var build(Var x, const LayerOperands& operands) const;
    /// What is wrong with the scalar fields, or an empty text.
    [[nodiscard]] std::string_view fault() const;
    /// Any layer; a stateless one passes no state on.
    [[nodiscard]] StepResult step(Var x, std::span<const Var> state,
                                  const LayerOperands& operands) const;

    /// x [batch, time, row..] from zero state: stateless layers apply at once, others by their own
    /// form or as scan(step).
    [[nodiscard]] Var sequence(Var x, const LayerOperands& operands) const;
    /// Whether it, or a layer in it, has a sequence form that is more than scan(step).
    [[nodiscard]] bool prefers_sequences() const;
    /// Makes causal attention, in containers, too, keep so many positions from the first one on
    /// (MultiHeadAttention::cache); 0: the last ones of its window, as ever.
    void set_cache(std::int64_t positions);
    /// Whether it, or a layer in it, has running statistics among its parameters.
    [[nodiscard]] bool has_buffers() const;
    /// Whether some parameters stay above 0, see ParameterSpec::positive.
    [[nodiscard]] bool has_positive() const;
    /// Calls f with every layer that is directly in this one.
    void each_inner(const std::function<void(const AnyLayer&)>& f) const;
    void each_inner(const std::function<void(AnyLayer&)>& f);

  private:
    Variant layer_;
};

/// Names of all layer types, in the order of the list.
[[nodiscard]] std::span<const std::string_view> layer_types();
/// The same, and those of plug-ins.
[[nodiscard]] std::vector<std::string_view> known_layer_types();
/// Adds a type of a plug-in to those that are looked up. Throws ConfigError where the name is
/// taken.
void add_layer_type(CustomLayerType type);
/// Whether layers of its type may have weights for which rules can say how they start.
[[nodiscard]] bool takes_init(const AnyLayer& layer);
/// Whether a key of ParameterRules means something for layers of its type: those that may have such
/// parameters, and containers.
[[nodiscard]] bool takes_rule(const AnyLayer& layer, std::string_view key);
/// A layer of a type with nothing set, or nothing for an unknown type.
[[nodiscard]] std::optional<AnyLayer> default_layer(std::string_view type);
/// Text of an error about an unknown type: the known ones and the nearest.
[[nodiscard]] std::string unknown_layer_type(std::string_view type);
/// The default layer of a type between rows of two shapes, or nothing when the type cannot join
/// them. Throws ConfigError for an unknown type.
[[nodiscard]] std::optional<AnyLayer> fitted_layer(std::string_view type, const Shape& input,
                                                   const Shape& output);

/// The sequence form of any stateful layer: its steps one after another from zero state.
/// x [batch, time, row..] → [batch, time, output row..].
[[nodiscard]] Var scan_layer(const AnyLayer& layer, Var x, const LayerOperands& operands);

}  // namespace cambrian
