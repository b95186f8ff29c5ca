#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/matmul/matmul.glsl"

// Products of many matrices, a tile of one result in each workgroup. Tiles of both operands go
// through shared memory, one while the next is on its way in registers. Every element of the result
// is 0 plus its terms in ascending k whatever the tile, so a tile never changes a bit. With
// CAMBRIAN_STRICT every term is rounded before it is added.

#include "cambrian/gpu/shaders/matmul/matmul_product.glsl"
