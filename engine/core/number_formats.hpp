#pragma once

#include "cambrian/engine/core/elementary.hpp"

#define CAMBRIAN_CODEC(type, name) [[gnu::always_inline]] inline type name
#define CAMBRIAN_PRECISE

/// Codes of the formats that numbers are stored in: encode_<format> and decode_<format>, the same
/// bits on every device.
namespace cambrian::number_formats {

using namespace elementary;

#include "cambrian/engine/core/number_formats.inl"

}  // namespace cambrian::number_formats

#undef CAMBRIAN_CODEC
#undef CAMBRIAN_PRECISE
