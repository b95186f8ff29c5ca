#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"

// Many small copies, a workgroup each. Address: a table of {source address, target address, words}
// in five words each, addresses with their low word first.
uint64_t address_at(Words table, uint position) {
    return uint64_t(table.at[position]) | uint64_t(table.at[position + 1]) << 32;
}

void main() {
    Words table = Words(push.address[0]);
    uint entry = 5 * group();
    Words source = Words(address_at(table, entry));
    Words target = Words(address_at(table, entry + 2));
    uint words = table.at[entry + 4];
    for (uint i = gl_LocalInvocationID.x; i < words; i += gl_WorkGroupSize.x)
        target.at[i] = source.at[i];
}
