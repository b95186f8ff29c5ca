#pragma once

#include <memory>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

enum class Precision { f32, f64 };

/// The oracle: one plain loop per primitive, no planning, no threads. In f64 with the C++ standard
/// library's functions; in f32 with our own elementwise functions and ordered sums, which is what
/// every other backend must reproduce under strict math.
[[nodiscard]] std::unique_ptr<Backend> make_reference_backend(Precision precision);

}  // namespace cambrian
