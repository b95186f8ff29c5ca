#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/network/weight_formats.hpp"

namespace cambrian {

/// Numbers of a tensor from which it stays in its codes: decoding less costs more than it saves.
inline constexpr std::int64_t min_packed_numbers = 65536;

/// Where the weights of a network lie that is evaluated with large tensors in their codes
/// (NetworkOperands::packed). Floats: what is not packed, rounded to its format, and scales. Words:
/// codes and zero points, after the activation codes of the network.
class PackedWeights {
  public:
    /// @param min_numbers of a tensor that is packed.
    explicit PackedWeights(const Network& network, std::int64_t min_numbers = min_packed_numbers);

    /// One weight tensor.
    struct Place {
        std::int64_t floats = 0;                  ///< Offset of its numbers, or of its scales.
        std::int64_t words = 0;                   ///< Offset of its codes; of packed tensors.
        std::int64_t zero_points = 0;             ///< Likewise, among the words.
        std::optional<PackedAttribute> packed{};  ///< Nothing: numbers.
        MatrixExtents extents{};                  ///< Of packed tensors.
    };
    /// In the order of Network::weights().
    [[nodiscard]] std::span<const Place> places() const { return places_; }
    /// Whether any tensor is packed.
    [[nodiscard]] bool any() const { return words_ > 0; }
    [[nodiscard]] std::int64_t floats() const { return floats_; }
    [[nodiscard]] std::int64_t words() const { return words_; }
    /// Elements of the operand of activations, and where in it words begin.
    [[nodiscard]] std::int64_t integers() const { return first_word_ + words_; }
    [[nodiscard]] std::int64_t first_word() const { return first_word_; }

    /// Fills the operands of masters; `words` are those after the activation codes. Contract: room
    /// for as many as floats() and words() say.
    void pack(std::span<const float> masters, std::span<float> floats,
              std::span<std::int32_t> words) const;

  private:
    void add(const WeightRange& range, const std::optional<EncodedRange>& encoded,
             std::int64_t min_numbers);

    std::vector<Place> places_;
    std::vector<WeightRange> ranges_;
    std::vector<std::optional<EncodedRange>> encoded_;
    std::int64_t floats_ = 0;
    std::int64_t words_ = 0;
    std::int64_t first_word_ = 1;  ///< Without activations there is still one element.
};

/// What a network of masters is evaluated with, and what it reads beside.
struct EvaluatedOperands {
    std::vector<float> weights;
    std::vector<std::int32_t> activations;        ///< Never empty.
    std::shared_ptr<const PackedWeights> packed;  ///< As NetworkOperands::packed.
};
[[nodiscard]] EvaluatedOperands evaluated_operands(const Network& network,
                                                   std::span<const float> masters,
                                                   std::int64_t min_numbers = min_packed_numbers);

}  // namespace cambrian
