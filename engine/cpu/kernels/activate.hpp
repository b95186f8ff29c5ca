#pragma once

#include <cstdint>

namespace cambrian::cpu {

/// y[i] = activation(x[i]) for i < count, by gene code; any unknown code is linear. y may be x.
void activate(std::int32_t code, const float* x, float* y, std::int64_t count);

}  // namespace cambrian::cpu
