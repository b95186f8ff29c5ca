#pragma once

#include <string_view>

namespace cambrian {

/// Version of the arithmetic of every backend (ArithmeticFingerprint::build): changes whenever the
/// bits of any op or random number change. One for all, since strict math promises equal bits on
/// all of them.
inline constexpr std::string_view arithmetic_version = "3";

}  // namespace cambrian
