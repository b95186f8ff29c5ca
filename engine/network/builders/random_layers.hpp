#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/layers/any_layer.hpp"

// Layers drawn for rows. Internal to engine/network.
namespace cambrian {

/// What a drawn layer may be.
struct DrawLimits {
    std::int64_t elements = 64;             ///< Of what it gives, unless it takes more.
    std::int64_t weights = 16384;           ///< Of its parameters together.
    std::int64_t nesting = 3;               ///< Levels of layers in it.
    bool state = true;                      ///< Whether it may remember.
    bool buffers = true;                    ///< Whether it may hold running statistics.
    std::vector<std::string_view> types{};  ///< Those that are drawn from.
};

/// Draws layers that fit a row: a type from all that are allowed, then fields that suit the row.
/// What turns out not to fit is drawn again.
class LayerDraw {
  public:
    LayerDraw(RandomStream& rng, const DrawLimits& limits) : rng_(rng), limits_(limits) {}

    /// A resolved layer, or nothing when none of many draws fits.
    /// @param preceding what entered the layer before it in its chain, for an empty residual; null:
    /// there is none.
    [[nodiscard]] std::optional<AnyLayer> any(const Shape& row, const Shape* preceding, int depth);
    /// The same of one type, of any, whether it is allowed or not; one draw.
    [[nodiscard]] std::optional<AnyLayer> of_type(std::string_view type, const Shape& row,
                                                  const Shape* preceding, int depth);
    /// A layer that gives rows of so many elements: a dense one when no other draw does.
    [[nodiscard]] AnyLayer giving(std::int64_t elements, const Shape& row, int depth);
    /// A layer that gives rows of that shape, or nothing.
    [[nodiscard]] std::optional<AnyLayer> giving(const Shape& output, const Shape& row, int depth);

    // Draws for the rows of the table.
    [[nodiscard]] RandomStream& rng() { return rng_; }
    /// Uniform from least to most.
    [[nodiscard]] std::int64_t number(std::int64_t least, std::int64_t most);
    [[nodiscard]] bool chance(float probability) { return rng_.chance(probability); }
    template <class Value, std::size_t count>
    [[nodiscard]] const Value& pick(const std::array<Value, count>& values) {
        return values[rng_.index(static_cast<std::uint32_t>(count))];
    }
    [[nodiscard]] Activation activation();
    /// Elements of some last axes of a row: what a layer of vectors may take.
    [[nodiscard]] std::int64_t vector_width(const Shape& row);
    /// A width for an output.
    [[nodiscard]] std::int64_t width() { return number(1, limits_.elements); }
    [[nodiscard]] std::int64_t divisor(std::int64_t of);
    /// One number for all axes, or one for each.
    [[nodiscard]] AxisValues axis_values(int axes, std::int64_t least, std::int64_t most);
    /// Layers one after the other, at least one, or none when nothing fits.
    [[nodiscard]] std::vector<AnyLayer> chain(const Shape& row, std::int64_t most, int depth);
    /// Whether layers at that depth may hold others.
    [[nodiscard]] bool may_nest(int depth) const { return depth < limits_.nesting; }

  private:
    [[nodiscard]] bool is_allowed(const AnyLayer& layer, const Shape& row) const;

    RandomStream& rng_;
    const DrawLimits& limits_;
};

/// Types that have a row in the table of draws: all of them, which a test holds.
[[nodiscard]] std::vector<std::string_view> drawn_types();

// Softmax layers drawn for rows. Internal to engine/network.

/// A softmax of any variant whose fields suit the row.
[[nodiscard]] std::optional<AnyLayer> draw_softmax(LayerDraw& draw, const Shape& row, int depth);

}  // namespace cambrian
