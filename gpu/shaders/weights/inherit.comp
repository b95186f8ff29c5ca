#version 460
#extension GL_GOOGLE_include_directive : require
#include "cambrian/gpu/shaders/prelude.glsl"
#include "cambrian/gpu/shaders/philox.glsl"
#include "cambrian/gpu/shaders/elementary.glsl"
#include "cambrian/gpu/shaders/ops.glsl"
#include "cambrian/gpu/shaders/weights/inherit.glsl"

// Weights of children from those of their parents: a task for each workgroup, a block of four
// random words for each invocation.
// Push: addresses {tasks, children, sums}.

const uint source_second = 1U;
const uint source_blend = 3U;
const uint source_choose = 4U;
const uint source_initial = 5U;
const float largest = 3.40282347e+38F;

// share * max(cosine, 0), see blend_share in engine/weights: op_max(b, a) is std::max(a, b).
float blend_share(Task task, float share) {
    Reals all = Reals(push.address[2]);
    float product = 0.0F, first = 0.0F, second = 0.0F;
    for (uint chunk = 0U; chunk < task.chunks; ++chunk) {
        uint at = 3U * (task.sums + chunk);
        product = op_add(product, all.at[at]);
        first = op_add(first, all.at[at + 1U]);
        second = op_add(second, all.at[at + 2U]);
    }
    bool first_known = real_less(0.0F, first) && !real_less(largest, first);
    bool second_known = real_less(0.0F, second) && !real_less(largest, second);
    float similarity = 0.0F;
    if (first_known && second_known) {
        float cosine = own_divide(own_divide(product, own_sqrt(first)), own_sqrt(second));
        similarity = op_min(1.0F, op_max(-1.0F, cosine));
    } else if (!real_less(0.0F, first) && !real_less(0.0F, second)) {
        similarity = 1.0F;
    }
    return op_mul(share, op_max(0.0F, similarity));
}

float blended(float share, float first, float second) {
    float mixed = op_add(op_mul(op_sub(1.0F, share), first), op_mul(share, second));
    return real_equal(first, second) ? first : mixed;
}

// Four numbers from `at` on, of which those from `count` on, and before 0, belong to others: at once where all
// four are there and their address allows it, because single ones take four times the traffic.
bool at_once(uint64_t address, bool whole) {
    return whole && (address & 15UL) == 0UL;
}
vec4 read_four(uint64_t address, uint at, uint count, bool whole) {
    if (at_once(address, whole)) return Reals4(address).at[at / 4U];
    vec4 four = vec4(0.0F);
    for (uint word = 0U; word < 4U; ++word)
        if (at + word < count) four[word] = Reals(address).at[at + word];
    return four;
}
void write_four(uint64_t address, uint at, uint count, bool whole, vec4 four) {
    if (at_once(address, whole)) {
        Reals4(address).at[at / 4U] = four;
        return;
    }
    for (uint word = 0U; word < 4U; ++word)
        if (at + word < count) Reals(address).at[at + word] = four[word];
}

void main() {
    Task task = Tasks(push.address[0]).at[group()];
    Child child = Children(push.address[1]).at[task.child];
    uint source = task.way & 15U;
    bool noise = (task.way & 16U) != 0U;
    bool replace = (task.way & 32U) != 0U;
    uint initial = task.way >> 8;
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
        uint at = 4U * b - skipped;  // wraps below 0
        bool whole = skipped == 0U && at + 4U <= task.count;
        vec4 weights = vec4(0.0F);
        if (source != source_initial)
            weights = read_four(source == source_second ? task.second : task.first, at, task.count, whole);
        if (source == source_blend || source == source_choose) {
            vec4 others = read_four(task.second, at, task.count, whole);
            for (uint word = 0U; word < 4U; ++word) {
                if (source == source_blend)
                    weights[word] = blended(share, weights[word], others[word]);
                else if (real_less(choice[word], child.share))
                    weights[word] = others[word];
            }
        }
        for (uint word = 0U; word < 4U; ++word) {
            float start = 0.0F;
            if (source == source_initial || replace)
                start = initial_value(initial, task.bound, task.period, task.index + at + word, fresh[word]);
            if (source == source_initial) weights[word] = start;
            if (noise) {
                float moved = op_add(weights[word], op_mul(child.noise_power, normals[word]));
                weights[word] = op_min(largest, op_max(-largest, moved));
            }
            if (replace && real_less(replaced[word], child.replace_rate)) weights[word] = start;
        }
        write_four(task.to, at, task.count, whole, weights);
    }
}
