#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/tensor/tensor.hpp"

// Where the elements of a value are found in the text of a row kernel. Ops that only move elements
// change the view and write no text.
namespace cambrian::gpu {

/// A position that is known while the text is written, up to variables of the text.
class Index {
  public:
    Index(std::int64_t constant = 0) : constant_(constant) {}
    static Index variable(std::string name) {
        Index index;
        index.terms_.push_back({std::move(name), 1});
        return index;
    }
    /// Adds stride times the other position.
    Index& add(const Index& other, std::int64_t stride);

    [[nodiscard]] bool known() const { return terms_.empty(); }
    [[nodiscard]] std::int64_t constant() const { return constant_; }
    /// Whether `variable` is the only one in it, or there is none.
    [[nodiscard]] bool only(const std::string& variable) const;
    /// As a GLSL expression of type uint.
    [[nodiscard]] std::string text() const;

  private:
    struct Term {
        std::string variable;
        std::int64_t stride = 0;
    };
    std::int64_t constant_;
    std::vector<Term> terms_;
};

struct View {
    enum class Kind : std::uint8_t {
        literal,   ///< Every element is `name`.
        constant,  ///< Elements of a tensor of the graph.
        position,  ///< Element i is i.
        local,     ///< An array of the text.
        memory,    ///< Read through a pointer of the text.
    };
    Kind kind = Kind::literal;
    ValueType type = ValueType::real;
    std::string name;
    std::shared_ptr<const Tensor> tensor;
    bool invariant = false;  ///< Whether it is the same in every step.
    bool scalar = false;     ///< A local that is no array.
    Shape shape;             ///< Of one row, without the row axis.
    Index first;
    std::array<std::int64_t, Shape::max_rank> strides{};

    [[nodiscard]] Index position(std::span<const Index> indices) const;
    /// Whether elements follow each other like those of a tensor of its shape.
    [[nodiscard]] bool contiguous() const;
};

/// The name of the row's number in the text.
inline const std::string row_variable = "row";

[[nodiscard]] Shape without_first_axis(const Shape& shape);

[[nodiscard]] View sliced(View view, int axis, std::int64_t start, std::int64_t length);
/// Result axis i is axis order[i].
[[nodiscard]] View permuted(const View& view, std::span<const std::int8_t> order);
/// Right-aligned like NumPy.
[[nodiscard]] View broadcast_to(const View& view, const Shape& shape);
/// Nothing when the elements do not lie so.
[[nodiscard]] std::optional<View> reshaped(const View& view, const Shape& shape);
/// Element `index` of axis 0, without that axis.
[[nodiscard]] View at_first(View view, const Index& index);

}  // namespace cambrian::gpu
