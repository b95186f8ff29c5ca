// What every shader starts with, of the build (#include) and generated (put in front).
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;

layout(push_constant) uniform Push {
    uint64_t address[8];
    uint word[16];
} push;

// The workgroup's number in a dispatch that may have been split.
uint group() {
    return gl_WorkGroupID.x + push.word[15];
}

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Reals { float at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Reals4 { vec4 at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Integers { int at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Words4 { uvec4 at[]; };
