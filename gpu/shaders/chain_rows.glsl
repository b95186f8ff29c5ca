// What chains with reductions along rows share (gpu/kernels/row_chain.cpp). `row_threads` threads
// work on a row; thread `lane` of them has vectors lane, lane + row_threads, .. of `width` words. A
// reduction folds each thread's elements, then threads in blocks of 32, then blocks, always in the
// same order: the tree depends on the length of the row alone.
// Push: addresses {result, operands .., table at 7}; words {rows, words in a row, axes}. The table
// holds {extent, strides of the views} of the axes over rows, the innermost first.

layout(constant_id = 1) const uint row_threads = 32U;  // A power of two.
layout(constant_id = 2) const uint vectors = 1U;       // Of a thread, where rows stay in registers.
layout(constant_id = 3) const uint width = 1U;         // Words of a vector: 1 or 4.
layout(constant_id = 4) const uint aligned = 0U;       // Whether vectors lie at multiples of 16 bytes.
layout(constant_id = 5) const uint group_threads = 128U;

shared uint partials[group_threads];
shared uint partial_keys[group_threads];
shared uint blocks[(group_threads + 31U) / 32U];
shared uint block_keys[(group_threads + 31U) / 32U];

uint lane() { return gl_LocalInvocationID.x % row_threads; }

void find_offsets(uint row, out uint offsets[CAMBRIAN_VIEWS]) {
    uint rest = row;
    uint axes = push.word[2];
    Words table = Words(push.address[7]);
    [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view) offsets[view] = 0U;
    for (uint axis = 0U; axis < axes; ++axis) {
        uint at = axis * (CAMBRIAN_VIEWS + 1U);
        uint outer = axis + 1U < axes ? rest / table.at[at] : 0U;
        uint index = rest - outer * table.at[at];
        [[unroll]] for (uint view = 0U; view < CAMBRIAN_VIEWS; ++view)
            offsets[view] += index * table.at[at + 1U + view];
        rest = outer;
    }
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

// A NaN stays, whichever thread has it: only a row's first element brings one into a maximum.
float larger(float a, float b) {
    bool a_stays = (floatBitsToUint(a) & magnitude_mask) > exponent_mask;
    bool b_stays = (floatBitsToUint(b) & magnitude_mask) > exponent_mask;
    return a_stays || !(b_stays || b > a) ? a : b;
}

// Where the first zero of a row is and its sign: of maxima that are zero the first is taken.
const uint no_zero = 0xFFFFFFFFU;
uint zero_key(float x, uint column) {
    uint bits = floatBitsToUint(x);
    return (bits & exponent_mask) == 0U ? (column << 1) | (bits >> 31) : no_zero;
}
// The next element of a maximum that is being found: the first one whatever it is, then larger ones.
float next_maximum(float largest, float x, uint column) {
    return column == 0U || x > largest ? x : largest;
}
float with_sign_of_first_zero(float largest, uint key) {
    return largest == 0.0 ? uintBitsToFloat((key & 1U) << 31) : largest;
}

void share(uint word, uint key) {
    barrier();  // What stood here has been read.
    partials[gl_LocalInvocationID.x] = word;
    partial_keys[gl_LocalInvocationID.x] = key;
    barrier();
}

#define CAMBRIAN_ROW_SUM(TYPE, OF_WORD)                                            \
    TYPE row_sum(TYPE mine) {                                                      \
        if (row_threads == 1U) return mine;                                        \
        share(word_of(mine), 0U);                                                  \
        uint first = gl_LocalInvocationID.x - lane();                              \
        if (row_threads <= 32U) {                                                  \
            TYPE sum = OF_WORD(partials[first]);                                   \
            for (uint i = 1U; i < row_threads; ++i)                                \
                sum = add_words(sum, partials[first + i]);                         \
            return sum;                                                            \
        }                                                                          \
        if (lane() < row_threads / 32U) {                                          \
            /* Each thread starts elsewhere: all would meet in one bank. */        \
            uint block = first + lane() * 32U;                                     \
            TYPE sum = OF_WORD(partials[block + lane()]);                          \
            for (uint i = 1U; i < 32U; ++i)                                        \
                sum = add_words(sum, partials[block + (lane() + i) % 32U]);        \
            blocks[first / 32U + lane()] = word_of(sum);                           \
        }                                                                          \
        barrier();                                                                 \
        TYPE sum = OF_WORD(blocks[first / 32U]);                                   \
        for (uint i = 1U; i < row_threads / 32U; ++i)                              \
            sum = add_words(sum, blocks[first / 32U + i]);                         \
        return sum;                                                                \
    }
CAMBRIAN_ROW_SUM(float, uintBitsToFloat)
CAMBRIAN_ROW_SUM(int, int)

float row_maximum(float mine, uint key) {
    if (row_threads == 1U) return with_sign_of_first_zero(mine, key);
    share(floatBitsToUint(mine), key);
    uint first = gl_LocalInvocationID.x - lane();
    uint count = min(row_threads, 32U);
    uint start = row_threads <= 32U ? first : first + lane() * 32U;
    float largest = mine;
    if (row_threads <= 32U || lane() < row_threads / 32U) {
        largest = uintBitsToFloat(partials[start]);
        key = partial_keys[start];
        for (uint i = 1U; i < count; ++i) {
            largest = larger(largest, uintBitsToFloat(partials[start + i]));
            key = min(key, partial_keys[start + i]);
        }
    }
    if (row_threads > 32U) {
        if (lane() < row_threads / 32U) {
            blocks[first / 32U + lane()] = floatBitsToUint(largest);
            block_keys[first / 32U + lane()] = key;
        }
        barrier();
        largest = uintBitsToFloat(blocks[first / 32U]);
        key = block_keys[first / 32U];
        for (uint i = 1U; i < row_threads / 32U; ++i) {
            largest = larger(largest, uintBitsToFloat(blocks[first / 32U + i]));
            key = min(key, block_keys[first / 32U + i]);
        }
    }
    return with_sign_of_first_zero(largest, key);
}

int next_maximum(int largest, int x, uint column) { return max(largest, x); }
uint zero_key(int x, uint column) { return 0U; }
int row_maximum(int mine, uint key) {
    if (row_threads == 1U) return mine;
    share(uint(mine), 0U);
    uint first = gl_LocalInvocationID.x - lane();
    int largest = mine;
    for (uint i = 0U; i < row_threads; ++i) largest = max(largest, int(partials[first + i]));
    return largest;
}
