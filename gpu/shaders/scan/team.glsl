// Lanes that share a row of a row kernel (gpu/codegen/rows): all of them compute what the row computes, but for the
// layers of its networks (interpret.glsl), whose blocks they share out and tell each other. The text has
//   row_lanes  lanes of a row: 1, or a power of two that a subgroup has
// and maps neighbours of a subgroup to a row, whatever numbers a workgroup gives them.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Of the invocation in its workgroup, neighbours of a subgroup side by side.
uint row_place() {
    return row_lanes == 1U ? gl_LocalInvocationIndex
                           : gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID;
}
uint team_lane() {
    return row_lanes == 1U ? 0U : gl_SubgroupInvocationID % row_lanes;
}
// A team takes one way through its program, so that all of its lanes are here.
float of_team_lane(float x, uint lane) {
    return subgroupShuffle(x, gl_SubgroupInvocationID - team_lane() + lane);
}
vec4 of_team_lane(vec4 x, uint lane) {
    return subgroupShuffle(x, gl_SubgroupInvocationID - team_lane() + lane);
}
