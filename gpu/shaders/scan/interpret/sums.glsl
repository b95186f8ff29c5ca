// The neurons of a table where all are sums (NeuronSet::sums), in network.glsl: from `record` on, the values from
// `value` on. A turn takes an eight of words: two neurons of few inputs that go together, or one. Networks beside
// each other keep step, however many inputs their neurons have. What fills up eights is -0 times the 1, which changes
// no sum.
    const int records_end = record + (table.z >> 2);
    // Weights lie as records do.
    const int to_weights = packed - record;
    Bytecode places_at = INTERPRET_POINTER(Bytecode, bytecode, record);
    PackedWeights factors_at = INTERPRET_POINTER(PackedWeights, weights, packed);
    ivec4 places = places_at.at[0];
    ivec4 more_places = places_at.at[INTERPRET_SPREAD];
    vec4 factors = factors_at.at[0];
    vec4 more_factors = factors_at.at[INTERPRET_SPREAD];
    while (record < records_end) {
        const int neuron = places.x;
        const bool two = (neuron & neuron_half) != 0;
        const bool uneven = (neuron & neuron_uneven) != 0;
        const bool even = two && !uneven;
        precise float first = op_mul(INTERPRET_AT(places.y, 0), factors.y);
        first = first + op_mul(INTERPRET_AT(places.z, 0), factors.z);
        first = first + op_mul(INTERPRET_AT(places.w, 0), factors.w);
        // The head of a second record is no place: it is the fifth word of even ones, else the sixth.
        const float of_four = op_add(first, op_mul(INTERPRET_AT(even ? one : more_places.x, 0), more_factors.x));
        first = even ? first : of_four;
        const float fifth = op_mul(INTERPRET_AT(uneven ? one : more_places.y, 0), more_factors.y);
        const float both = op_add(first, fifth);
        precise float last = two ? fifth : both;
        last = uneven ? uintBitsToFloat(sign_mask) : last;
        last = last + op_mul(INTERPRET_AT(more_places.z, 0), more_factors.z);
        last = last + op_mul(INTERPRET_AT(more_places.w, 0), more_factors.w);
        const float second_bias = uneven ? more_factors.y : more_factors.x;
        const float last_bias = two ? second_bias : factors.x;
        float sums[2];
        sums[0] = op_add(first, factors.x);
        record += 2;
        for (int i = 8; i <= (neuron & 0xFFFF); i += 8) {
            for (const int end = record + 2; record < end; ++record) {
                const ivec4 here = INTERPRET_CODE(record);
                const vec4 by = INTERPRET_PACKED(record + to_weights);
                last = last + op_mul(INTERPRET_AT(here.x, 0), by.x);
                last = last + op_mul(INTERPRET_AT(here.y, 0), by.y);
                last = last + op_mul(INTERPRET_AT(here.z, 0), by.z);
                last = last + op_mul(INTERPRET_AT(here.w, 0), by.w);
            }
        }
        sums[1] = op_add(last, last_bias);
        // Asked for now, there in the next turn; after the last weights there may be no more.
        const int next_weights = min(record, records_end - 2) + to_weights;
        places_at = INTERPRET_POINTER(Bytecode, bytecode, record);
        factors_at = INTERPRET_POINTER(PackedWeights, weights, next_weights);
        places = places_at.at[0];
        more_places = places_at.at[INTERPRET_SPREAD];
        factors = factors_at.at[0];
        more_factors = factors_at.at[INTERPRET_SPREAD];
        activate_pair(sums, (neuron >> 16) & 0xFF);
        // Of one neuron the value takes the place of what the first half gave.
        INTERPRET_AT(value, 0) = sums[0];
        value += two ? 1 : 0;
        INTERPRET_AT(value, 0) = sums[1];
        ++value;
    }
