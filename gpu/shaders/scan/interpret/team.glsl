// Lanes that walk one row together: neighbours in a subgroup, which all do the same but where layers are divided among
// them. They share the working memory of their row.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require

#ifndef CAMBRIAN_TEAM
#define CAMBRIAN_TEAM
layout(constant_id = 1) const uint max_team = 1u;   // Lanes of a team: up to 1, or up to 4.
int team_size = 1;                                  // 1, 2 or 4: the same in a whole workgroup.
int team_member = 0;                                // Of this lane.
uint team_number = gl_LocalInvocationIndex;         // In the workgroup.
const uint no_lane = 0xFFFFFFFFu;

// The size of the teams of those networks, as many as a workgroup has lanes, of which `first` is the first. A lane
// takes about the price of its network times `weight` for a row, the device for all their `total` price. Lanes share
// only what is above `fixed_price`, and each does the rest: they pay where much is shared and one alone would take
// about as long as all together, or, where many networks are as dear, far longer. A weight of 0 asks for as many as
// can be. Neighbours cost about as much: four of them tell.
uint team_size_of(Words prices, uint total, uint population, uint first, uint weight, uint fixed_price) {
    if (weight == 0u) return max_team;
    uint dearest = 0u;
    const uint end = min(first + gl_WorkGroupSize.x, population);
    for (uint individual = first; individual < end; individual += gl_WorkGroupSize.x / 4u)
        dearest = max(dearest, prices.at[individual]);
    const bool rare = 2u * dearest * population > 3u * total;
    const uint enough = rare ? total : 4u * total;
    const uint alone = dearest * weight;
    if (dearest >= 4u * fixed_price && alone >= enough) return max_team;
    return dearest >= 2u * fixed_price && 2u * alone >= enough ? 2u : 1u;
}

// Sets the team of this lane. → which row of all it walks, or no_lane. Rows of as many networks as a workgroup has
// lanes are a workgroup each, times the size of their teams: which ones are this workgroup's follows from the sizes of
// those before, of which each lane of a subgroup finds one.
uint lane_of_team(Words prices, uint total, uint population, uint rows, uint weight, uint fixed_price) {
    uint part = group();
    for (uint base = 0u; base < population; base += gl_SubgroupSize * gl_WorkGroupSize.x) {
        const uint own = base + gl_SubgroupInvocationID * gl_WorkGroupSize.x;
        const uint size =
            own < population ? team_size_of(prices, total, population, own, weight, fixed_price) : 0u;
        const uint end = subgroupInclusiveAdd(rows * size);
        const uvec4 later = subgroupBallot(part < end);
        if (later != uvec4(0u)) {
            const uint found = subgroupBallotFindLSB(later);
            const uint found_size = subgroupShuffle(size, found);
            part -= subgroupShuffle(end, found) - rows * found_size;
            team_size = int(found_size);
            team_number = gl_LocalInvocationIndex / found_size;
            team_member = int(gl_LocalInvocationIndex - team_number * found_size);
            return (base + found * gl_WorkGroupSize.x) * rows + part * (gl_WorkGroupSize.x / found_size) +
                   team_number;
        }
        part -= subgroupShuffle(end, gl_SubgroupSize - 1u);
    }
    return no_lane;
}

// What the others wrote into the memory of the row is there after it. Teams of a subgroup take branches of their own:
// lanes of one are together again where a branch ends (DeviceLimits::known_driver).
void meet_team() {
    if (max_team > 1u && team_size > 1) subgroupBarrier();
}
#endif
