// What a child's weights come from: the tables that gpu/inheritance.cpp writes, and the words
// of engine/weights.

// A piece of one child, cut to what one workgroup does.
struct Task {
    uint64_t to, first, second;  // addresses of the first elements
    uint count;
    uint way;  // source in bits 0 to 3, noise 4, replace 5, initial from 8 on
    uint number;  // of the first element in the child
    uint child;
    uint sums, chunks;  // of the gene
    uint index;  // of the first element in its parameter
    uint period;
    float bound;
    uint unused;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Tasks { Task at[]; };

struct Field {
    uvec2 key, id;
    uint lane;
};
struct Child {
    Field choose, noise, replace, fresh;
    float share, noise_power, replace_rate;
    uint unused;
};
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Children { Child at[]; };

// Two pieces that are compared, cut to a chunk, and where its sums go.
struct Comparison {
    uint64_t first, second;
    uint count;
    uint sums;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Comparisons {
    Comparison at[];
};

uvec4 field_words(Field field, uint block) {
    return philox(uvec4(block, field.lane, field.id), field.key);
}
vec4 field_uniforms(Field field, uint block) {
    uvec4 words = field_words(field, block);
    return vec4(uniform_from_bits(words.x), uniform_from_bits(words.y),
                uniform_from_bits(words.z), uniform_from_bits(words.w));
}

vec2 normal_pair(uint first, uint second) {
    precise float open = 1.0F - uniform_from_bits(first);
    precise float square = 0.0F - 2.0F * own_log_inside(open);
    float radius = own_sqrt(square);
    float turn = uniform_from_bits(second);
    precise float cosine = radius * own_sin_of_turn(turn, 1U);
    precise float sine = radius * own_sin_of_turn(turn, 0U);
    return vec2(cosine, sine);
}
vec4 field_normals(Field field, uint block) {
    uvec4 words = field_words(field, block);
    return vec4(normal_pair(words.x, words.y), normal_pair(words.z, words.w));
}

const uint initial_ones = 1U;
const uint initial_weight = 2U;
const uint initial_forget_gate = 3U;
const uint initial_log_index = 4U;
const uint initial_time_step = 5U;
const uint initial_normal = 6U;
const uint initial_constant = 7U;

float initial_value(uint initial, float bound, uint period, uint index, float uniform_value) {
    if (initial == initial_weight) {
        precise float twice = 2.0F * uniform_value;
        precise float centred = twice - 1.0F;
        precise float result = centred * bound;
        return result;
    }
    if (initial == initial_ones) return 1.0F;
    if (initial == initial_forget_gate) return index / period == 1U ? 1.0F : 0.0F;
    if (initial == initial_log_index) return own_log(float(index % period + 1U));
    if (initial == initial_time_step) {
        precise float spread = 4.6051702F * uniform_value;
        precise float exponent = -6.9077554F + spread;
        return own_log(own_expm1(own_exp(exponent)));
    }
    if (initial == initial_normal) {
        precise float result = own_normal_quantile(uniform_value) * bound;
        return result;
    }
    if (initial == initial_constant) return bound;
    return 0.0F;
}
