#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/philox.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/weights/inherit.glsl"

// Weights of children from those of their parents: a task for each workgroup, a block of four
// random words for each invocation.
// Push: addresses {tasks, children, sums}.

const uint source_second = 1U;
const uint source_blend = 3U;
const uint source_choose = 4U;
const uint source_initial = 5U;
const float largest = 3.40282347e+38F;

// share * max(cosine, 0), see blend_share in engine/weights.
float blend_share(Task task, float share) {
    Reals all = Reals(push.address[2]);
    float product = 0.0F, first = 0.0F, second = 0.0F;
    for (uint chunk = 0U; chunk < task.chunks; ++chunk) {
        uint at = 3U * (task.sums + chunk);
        precise float more_product = product + all.at[at];
        precise float more_first = first + all.at[at + 1U];
        precise float more_second = second + all.at[at + 2U];
        product = more_product;
        first = more_first;
        second = more_second;
    }
    float similarity = 1.0F;
    if (first > 0.0F || second > 0.0F) {
        bool known = first > 0.0F && second > 0.0F && first <= largest && second <= largest;
        float cosine = own_divide(own_divide(product, own_sqrt(first)), own_sqrt(second));
        similarity = known ? min(max(cosine, -1.0F), 1.0F) : 0.0F;
    }
    precise float result = share * max(similarity, 0.0F);
    return result;
}

float blended(float share, float first, float second) {
    precise float rest = 1.0F - share;
    precise float ours = rest * first;
    precise float theirs = share * second;
    precise float mixed = ours + theirs;
    return first == second ? first : mixed;
}

void main() {
    Task task = Tasks(push.address[0]).at[group()];
    Child child = Children(push.address[1]).at[task.child];
    uint source = task.way & 15U;
    bool noise = (task.way & 16U) != 0U;
    bool replace = (task.way & 32U) != 0U;
    uint initial = task.way >> 8;
    Reals to = Reals(task.to);
    Reals first = Reals(task.first);
    Reals second = Reals(task.second);
    float share = source == source_blend ? blend_share(task, child.share) : 0.0F;

    uint skipped = task.number % 4U;  // words of the first block that belong to others
    uint blocks = (skipped + task.count + 3U) / 4U;
    for (uint b = gl_LocalInvocationID.x; b < blocks; b += gl_WorkGroupSize.x) {
        uint block = task.number / 4U + b;
        vec4 normals = noise ? field_normals(child.noise, block) : vec4(0.0F);
        vec4 choice = source == source_choose ? field_uniforms(child.choose, block) : vec4(0.0F);
        vec4 replaced = replace ? field_uniforms(child.replace, block) : vec4(1.0F);
        vec4 fresh = replace || source == source_initial ? field_uniforms(child.fresh, block)
                                                         : vec4(0.0F);
        for (uint word = 0U; word < 4U; ++word) {
            uint at = 4U * b + word - skipped;  // wraps below 0
            if (at >= task.count) continue;
            float start = initial_value(initial, task.bound, task.period, task.index + at,
                                        fresh[word]);
            float weight = start;
            if (source != source_initial) {
                weight = source == source_second ? second.at[at] : first.at[at];
                if (source == source_blend) weight = blended(share, weight, second.at[at]);
                if (source == source_choose && choice[word] < child.share) weight = second.at[at];
            }
            if (noise) {
                precise float step = child.noise_power * normals[word];
                precise float moved = weight + step;
                weight = min(max(moved, -largest), largest);
            }
            if (replace && replaced[word] < child.replace_rate) weight = start;
            to.at[at] = weight;
        }
    }
}
