#include "cambrian/engine/layers/embedding.hpp"

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

std::optional<Sequential> Embedding::fitted(const Shape& in, const Shape& out) {
    Softmax winner{.variant = "gumbel", .features = in[-1], .hard = true};
    const Embedding table{.vocabulary = 2, .features = 2};  // the largest element, and any other
    std::optional<Dense> last = Dense::fitted(table.output_shape(in), out);
    if (!last) return std::nullopt;
    Sequential result;
    result.layers.emplace_back(std::move(winner));
    result.layers.emplace_back(table);
    result.layers.emplace_back(*last);
    return result;
}

}  // namespace cambrian
