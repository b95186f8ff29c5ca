#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/philox.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/weights/inherit.glsl"

// Products and squares of two pieces, summed in 32 lanes that are added pairwise: a chunk for each
// workgroup of 32 invocations.
// Push: addresses {comparisons, sums}.

shared vec3 lanes[32];

void main() {
    Comparison pieces = Comparisons(push.address[0]).at[group()];
    Reals first = Reals(pieces.first);
    Reals second = Reals(pieces.second);
    uint lane = gl_LocalInvocationID.x;
    vec3 sums = vec3(0.0F);
    for (uint i = lane; i < pieces.count; i += 32U) {
        float a = first.at[i];
        float b = second.at[i];
        precise vec3 products = vec3(a * b, a * a, b * b);
        precise vec3 more = sums + products;
        sums = more;
    }
    lanes[lane] = sums;
    barrier();
    for (uint half_count = 16U; half_count > 0U; half_count /= 2U) {
        if (lane < half_count) {
            precise vec3 both = lanes[lane] + lanes[lane + half_count];
            lanes[lane] = both;
        }
        barrier();
    }
    if (lane == 0U) {
        Reals result = Reals(push.address[1]);
        result.at[3U * pieces.sums] = lanes[0].x;
        result.at[3U * pieces.sums + 1U] = lanes[0].y;
        result.at[3U * pieces.sums + 2U] = lanes[0].z;
    }
}
