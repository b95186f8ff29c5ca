#include "cambrian/engine/tensor/tensor.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

std::string_view name(ValueType type) {
    constexpr std::array<std::string_view, 3> names{"real", "integer", "boolean"};
    return names[static_cast<std::size_t>(type)];
}

bool is_element(ValueType type, double element) {
    switch (type) {
        case ValueType::real:
            return true;
        case ValueType::integer:
            return std::trunc(element) == element &&
                   element >= std::numeric_limits<std::int32_t>::min() &&
                   element <= std::numeric_limits<std::int32_t>::max();
        case ValueType::boolean:
            return element == 0.0 || element == 1.0;
    }
    return false;
}

Tensor::Tensor(ValueType value_type, Shape value_shape)
    : type(value_type),
      shape(value_shape),
      elements(static_cast<std::size_t>(value_shape.elements()), 0.0) {}

Tensor::Tensor(ValueType value_type, Shape value_shape, std::vector<double> values)
    : type(value_type), shape(value_shape), elements(std::move(values)) {
    if (static_cast<std::int64_t>(elements.size()) != shape.elements())
        throw ShapeError("tensor of shape " + shape.text() + " got " +
                         std::to_string(elements.size()) + " values (it holds " +
                         std::to_string(shape.elements()) + ") pass one value for each element");
}

}  // namespace cambrian
