// Philox4x32-10 and the uniforms made from it: the words of engine/core/random.hpp.

// The four words of a counter under a key (low word first).
uvec4 philox(uvec4 counter, uvec2 key) {
    uvec4 c = counter;
    for (int round_number = 0; round_number < 10; ++round_number) {
        uint high_0, low_0, high_1, low_1;
        umulExtended(0xD2511F53U, c.x, high_0, low_0);
        umulExtended(0xCD9E8D57U, c.z, high_1, low_1);
        c = uvec4(high_1 ^ c.y ^ key.x, low_1, high_0 ^ c.w ^ key.y, low_0);
        key += uvec2(0x9E3779B9U, 0xBB67AE85U);
    }
    return c;
}

// A uniform in [0, 1) from the upper 24 bits of a random word; both steps are exact.
float uniform_from_bits(uint bits) {
    precise float result = float(bits >> 8) * 5.9604644775390625e-8F;
    return result;
}

// Draws 4 * block to 4 * block + 3 of the stream of an id, as op random makes them.
vec4 random_uniforms(uvec2 key, uint id, uint block) {
    uvec4 words = philox(uvec4(block, 0U, id, 0U), key);
    return vec4(uniform_from_bits(words.x), uniform_from_bits(words.y),
                uniform_from_bits(words.z), uniform_from_bits(words.w));
}
float random_uniform(uvec2 key, uint id, uint draw) {
    return random_uniforms(key, id, draw / 4U)[draw % 4U];
}
