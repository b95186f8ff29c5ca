#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cambrian/engine/tensor/shape.hpp"

namespace cambrian {

/// What the elements of a graph value mean. Backends choose the storage: the CPU and GPU backends
/// hold a 32-bit word each (real = float, integer = int32, boolean = 0 or 1), the reference a
/// double.
enum class ValueType : std::uint8_t { real, integer, boolean };
/// Bytes of an element of any type in a buffer of the CPU and GPU backends.
inline constexpr std::int64_t word_bytes = 4;
[[nodiscard]] std::string_view name(ValueType type);
/// Whether a value of the type can have the element: any number, a whole number in 32 bits, 0 or 1.
[[nodiscard]] bool is_element(ValueType type, double element);

/// A tensor on the host: shape, type and elements. Every element is held as a double, which holds
/// floats and int32 exactly; used for constants, tests and files, never in a hot path.
struct Tensor {
    ValueType type = ValueType::real;
    Shape shape;
    std::vector<double> elements;

    Tensor() = default;
    /// Zero-filled.
    Tensor(ValueType value_type, Shape value_shape);
    /// Throws ShapeError when the number of values is not shape.elements().
    Tensor(ValueType value_type, Shape value_shape, std::vector<double> values);
    /// A scalar (rank 0).
    static Tensor scalar(double value, ValueType type = ValueType::real) {
        return {type, Shape{}, {value}};
    }
    bool operator==(const Tensor&) const = default;
};

}  // namespace cambrian
