#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/engine/network/network.hpp"

// What a conversion does to tensors: their names, and what becomes of weights that a type rounds.
namespace cambrian::launch {

/// Applies rules "from=to" in order to the names of tensors. `from` is a whole name or the parts
/// before a dot ("fc1" fits "fc1.weight"); an empty one fits every name and puts `to` before it, an
/// empty `to` takes the parts away. Throws ConfigError for a rule that fits nothing or makes two
/// tensors share a name; `source` names the file.
void rename(Safetensors& content, std::span<const std::string> rules, std::string_view source);

/// What becomes of weights that are stored by a type without scales.
struct RoundingLoss {
    std::int64_t weights = 0;  ///< That are not zero.
    std::int64_t zeros = 0;    ///< Of these, those that become zero.
    std::int64_t limited = 0;  ///< Those beyond the largest number of the type.
};
[[nodiscard]] RoundingLoss rounding_loss(std::span<const float> weights, StoredType type);

/// Whether more than one weight in a hundred becomes zero, or is limited.
[[nodiscard]] bool is_large(const RoundingLoss& loss);
/// The loss of the parameter of a network that loses the largest share, of those with 16 weights or
/// more: a whole layer may vanish in a network that keeps nearly all of its weights.
[[nodiscard]] RoundingLoss largest_loss(const Network& network, std::span<const float> weights,
                                        StoredType type);

/// "82.1 % of the weights become zero, 0.5 % are beyond the largest number"; empty where none is
/// either.
[[nodiscard]] std::string text(const RoundingLoss& loss);

}  // namespace cambrian::launch
