// What fusion groups with reductions along rows share (gpu/kernels/fused/fused_rows.cpp), after fused_axes.glsl.
// `row_threads` threads work on a row; thread `lane` of them has vectors lane, lane + row_threads, ..
// of `width` words. A reduction folds each thread's elements, then pairs of threads, pairs of pairs
// up to 32 threads, then those blocks in order: the tree depends on the length of the row alone, not
// on how threads tell each other their words: in subgroups, too, with CAMBRIAN_SHUFFLES.
// Push: addresses {result, operands .., table at 7}; words {rows, words in a row, axes, numbers
// of the fusion group}.
#ifdef CAMBRIAN_SHUFFLES
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif

layout(constant_id = 1) const uint row_threads = 32U;  // A power of two.
layout(constant_id = 2) const uint vectors = 1U;       // Of a thread, where rows stay in registers.
layout(constant_id = 3) const uint width = 1U;         // Words of a vector: 1 or 4.
layout(constant_id = 4) const uint aligned = 0U;       // Whether vectors lie at multiples of 16 bytes.
layout(constant_id = 5) const uint group_threads = 128U;
layout(constant_id = 6) const uint shuffle_width = 1U;  // Neighbours in a subgroup for sure.
layout(constant_id = 7) const uint whole = 0U;  // Whether each thread has all of its vectors.

shared uint partials[group_threads];
shared uint blocks[(group_threads + 31U) / 32U];
shared uint block_keys[(group_threads + 31U) / 32U];

uint lane() { return gl_LocalInvocationID.x % row_threads; }

void find_offsets(uint row, out uint offsets[CAMBRIAN_VIEWS]) {
    [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view) offsets[view] = 0U;
    add_offsets(row, push.word[2], offsets);
}

uint load_word(uint view, uint offset) {
    return Words(push.address[view]).at[offset];
}
uvec4 load_vector(uint view, uint offset) {
    Words words = Words(push.address[view]);
    if (width == 1U) return uvec4(words.at[offset], 0U, 0U, 0U);
    if (aligned == 1U) return Words4(push.address[view]).at[offset / 4U];
    return uvec4(words.at[offset], words.at[offset + 1U], words.at[offset + 2U],
                 words.at[offset + 3U]);
}
void store_vector(uint offset, uvec4 value) {
    Words words = Words(push.address[0]);
    if (width == 4U && aligned == 1U) {
        Words4(push.address[0]).at[offset / 4U] = value;
        return;
    }
    [[unroll]] for (uint word = 0U; word < width; ++word) words.at[offset + word] = value[word];
}

float add_words(float a, uint b) { return a + uintBitsToFloat(b); }
int add_words(int a, uint b) { return int(uint(a) + b); }
uint word_of(float x) { return floatBitsToUint(x); }
uint word_of(int x) { return uint(x); }

// The word of the thread whose lane differs in one bit.
uint exchanged(uint word, uint bit) {
#ifdef CAMBRIAN_SHUFFLES
    if (bit < shuffle_width) return subgroupShuffleXor(word, bit);
#endif
    barrier();  // What stood here has been read.
    partials[gl_LocalInvocationID.x] = word;
    barrier();
    return partials[gl_LocalInvocationID.x ^ bit];
}

// The first of the row's blocks of 32 threads, whose words all threads may read now.
uint share_blocks(uint word, uint key) {
    barrier();
    if (gl_LocalInvocationID.x % 32U == 0U) {
        blocks[gl_LocalInvocationID.x / 32U] = word;
        block_keys[gl_LocalInvocationID.x / 32U] = key;
    }
    barrier();
    return (gl_LocalInvocationID.x - lane()) / 32U;
}

#define CAMBRIAN_ROW_SUM(TYPE, OF_WORD)                                   \
    TYPE row_sum(TYPE sum) {                                              \
        for (uint bit = 1U; bit < min(row_threads, 32U); bit *= 2U)       \
            sum = add_words(sum, exchanged(word_of(sum), bit));           \
        if (row_threads <= 32U) return sum;                               \
        uint first = share_blocks(word_of(sum), 0U);                      \
        sum = OF_WORD(blocks[first]);                                     \
        for (uint i = 1U; i < row_threads / 32U; ++i)                     \
            sum = add_words(sum, blocks[first + i]);                      \
        return sum;                                                       \
    }
CAMBRIAN_ROW_SUM(float, uintBitsToFloat)
CAMBRIAN_ROW_SUM(int, int)

// Whether a maximum that is being found moves to the next element: the row's first one is taken
// whatever it is and stays if it is a NaN, then larger ones.
bool moves(float largest, float x, bool first) {
    return real_less(largest, x) || (first && lane() == 0U);
}
bool moves(int largest, int x, bool first) {
    return x > largest;
}

// A NaN stays, whichever thread has it.
float larger(float a, float b) {
    bool a_stays = (floatBitsToUint(a) & magnitude_mask) > exponent_mask;
    bool b_stays = (floatBitsToUint(b) & magnitude_mask) > exponent_mask;
    return a_stays || !(b_stays || real_less(a, b)) ? a : b;
}

// Where a thread found a zero and the zero's sign: of maxima that are zero the first is taken.
uint zero_key(float x, uint column) {
    uint bits = floatBitsToUint(x);
    return (bits & magnitude_mask) == 0U ? (column << 1) | (bits >> 31) : 0xFFFFFFFFU;
}

float row_maximum(float largest, uint column) {
    uint key = zero_key(largest, column);
    for (uint bit = 1U; bit < min(row_threads, 32U); bit *= 2U) {
        largest = larger(largest, uintBitsToFloat(exchanged(floatBitsToUint(largest), bit)));
        key = min(key, exchanged(key, bit));
    }
    if (row_threads > 32U) {
        uint first = share_blocks(floatBitsToUint(largest), key);
        largest = uintBitsToFloat(blocks[first]);
        key = block_keys[first];
        for (uint i = 1U; i < row_threads / 32U; ++i) {
            largest = larger(largest, uintBitsToFloat(blocks[first + i]));
            key = min(key, block_keys[first + i]);
        }
    }
    bool zero = (floatBitsToUint(largest) & magnitude_mask) == 0U;
    return zero ? uintBitsToFloat((key & 1U) << 31) : largest;
}

int row_maximum(int largest, uint column) {
    for (uint bit = 1U; bit < min(row_threads, 32U); bit *= 2U)
        largest = max(largest, int(exchanged(uint(largest), bit)));
    if (row_threads <= 32U) return largest;
    uint first = share_blocks(uint(largest), 0U);
    for (uint i = 0U; i < row_threads / 32U; ++i) largest = max(largest, int(blocks[first + i]));
    return largest;
}
