#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/number_formats.glsl"
#define MATMUL_PACKED
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// matmul.comp with a right matrix in codes, which become numbers on their way into shared memory; also with
// CAMBRIAN_STRICT, without which long sums are added in the order of chains.glsl.

layout(constant_id = 9) const uint packed_kind = 0U;
layout(constant_id = 10) const uint packed_bits = 8U;
layout(constant_id = 11) const uint packed_group = 0U;
layout(constant_id = 12) const uint with_chains = 0U;
#include "cambrian/gpu/shaders/packed/packed.glsl"
#include "cambrian/gpu/shaders/packed/packed_product.glsl"
#include "cambrian/gpu/shaders/matmul/matmul_product.glsl"
