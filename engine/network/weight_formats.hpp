#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/weights/quantised_matrix.hpp"

// Weights of a network in the formats of its layers.
namespace cambrian {

/// A weight tensor that a format holds.
struct EncodedRange {
    std::int64_t offset = 0;
    MatrixExtents extents;
    Dtype dtype = Dtype::float32;
    Scales scales = Scales::format;
    std::vector<std::int64_t> disabled{};  ///< Numbers in it of no effect, see uncounted().

    [[nodiscard]] QuantisationScheme scheme() const { return {dtype, scales}; }
    /// Of the numbers of the tensor: puts what counts for no scale where they have no effect.
    void leave_out_disabled(std::span<float> own) const;
    /// Likewise: they become what their codes stand for.
    void round(std::span<float> own) const;
    [[nodiscard]] QuantisedMatrix quantised(std::span<const float> own) const;
};

/// Of a slot, or of the head for slots().
[[nodiscard]] const LayerFormats& formats_of(const Blueprint& blueprint, int slot);

/// "int8", or "int8 (scales: block)" where they are not those of the format.
[[nodiscard]] std::string weights_text(const LayerFormats& formats);

/// Calls visit(formats) for those of every layer, the head last.
template <class Visit>
void for_each_formats(Blueprint& blueprint, const Visit& visit) {
    for (std::optional<Slot>& slot : blueprint.slots)
        if (slot) visit(slot->formats);
    visit(blueprint.head_formats);
}

/// The matrix that a format sees in a tensor: rows of the first extent, or one row of connections.
[[nodiscard]] MatrixExtents matrix_of(const ParameterSpec& parameter);
/// Bytes of a tensor of a layer in its formats: float32 for what no format holds.
[[nodiscard]] std::int64_t stored_bytes(const ParameterSpec& parameter,
                                        const LayerFormats& formats);

/// The slot whose formats a tensor has: a link has those of the layer that it enters.
[[nodiscard]] int slot_of_formats(const Blueprint& blueprint, const WeightRange& range);

/// Nothing for what stays float32: gains, biases, statistics, and layers without a format.
[[nodiscard]] std::optional<EncodedRange> encoded_range(const Blueprint& blueprint,
                                                        const WeightRange& range);

/// Whether weights of a layer, or rows that enter it, have a format other than float32.
[[nodiscard]] bool encodes_weights(const Blueprint& blueprint);
[[nodiscard]] bool encodes_activations(const Blueprint& blueprint);

/// How the weights of one network are stored.
class WeightFormats {
  public:
    explicit WeightFormats(const Network& network);

    [[nodiscard]] std::span<const EncodedRange> encoded() const { return encoded_; }
    /// As stored: codes, scales, zero points, and float32 for the rest.
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }
    /// Masters become the numbers that their codes stand for, in place.
    void round(std::span<float> weights) const;

  private:
    std::vector<EncodedRange> encoded_;
    std::int64_t bytes_ = 0;
};

/// The weights that a network of masters is evaluated with.
[[nodiscard]] std::vector<float> evaluated_weights(const Network& network,
                                                   std::span<const float> masters);

}  // namespace cambrian
