// The neurons of a table, of any kind, in network.glsl: from `record` on, the values from `value` on.
    const bool continuous = table.w != 0;
    const int first = continuous ? 2 : 1;
    int own = packed;
    // Fours are asked for one ahead; after the last ones of the weights there may be no more.
    const int last_four = max(packed + (table.z >> 2) - 1, 0);
    ivec4 places = INTERPRET_CODE(record);
    vec4 factors = INTERPRET_PACKED(min(own, last_four));
    ivec4 four = INTERPRET_CODE(record + 1);
    vec4 by = INTERPRET_PACKED(min(own + 1, last_four));
    for (int n = 0; n < table.x;) {
        const int end = first + (places.x & 0xFFFF);
#if INTERPRET_NEURONS > 2
        const bool fixed_weights = places.x >= 0;
        const int rule = end + (fixed_weights ? 0 : end - first);
        const int quads = INTERPRET_FOURS(places.x, rule + (fixed_weights ? 0 : 5));
#else
        const bool fixed_weights = true;
        const int quads = INTERPRET_FOURS(places.x, end);
#endif
        const int how = (places.x >> 24) & 0xF;
        const bool simple = how == 0 && fixed_weights && !continuous;
        const bool both = simple && (places.x & neuron_joins) != 0;
        const bool uneven = (places.x & neuron_uneven) != 0;
        int after = quads;
        precise float total = uintBitsToFloat(sign_mask);
        // Of the next neuron, which goes side by side with this one: alone, each waits for itself.
        precise float second = uintBitsToFloat(sign_mask);
        if (simple) {
            INTERPRET_SUM_OF_RECORD(total, places, factors, quads, record, own);
            if (uneven) {
                // Five words and three: the first sum ends in the second four.
                total = total + op_mul(INTERPRET_AT(four.x, 0), by.x);
                second = second + op_mul(INTERPRET_AT(four.z, 0), by.z);
                second = second + op_mul(INTERPRET_AT(four.w, 0), by.w);
                second = second + by.y;
                four = INTERPRET_CODE(record + 2);
                by = INTERPRET_PACKED(min(own + 2, last_four));
                after = 2;
            } else if (both) {
                const ivec4 second_places = four;
                const vec4 second_factors = by;
                const int second_quads = INTERPRET_FOURS(second_places.x, 1 + (second_places.x & 0xFFFF));
                four = INTERPRET_CODE(record + quads + 1);
                by = INTERPRET_PACKED(min(own + quads + 1, last_four));
                INTERPRET_SUM_OF_RECORD(second, second_places, second_factors, second_quads,
                                        record + quads, own + quads);
                second = second + second_factors.x;
                after += second_quads;
            }
        } else {
            if (how == 0 || how == 4) {
                for (int i = first; i < end; ++i) total = total + INTERPRET_TERM(i);
                if (how == 4 && end > first)
                    total = CAMBRIAN_CALL(divide)(total, float(end - first));
            } else if (how == 5 && end > first) {
                INTERPRET_MEDIAN(total);
            } else if (end > first) {
                total = INTERPRET_TERM(first);
                for (int i = first + 1; i < end; ++i) {
                    const float term = INTERPRET_TERM(i);
                    if (how == 1) total = total * term;
                    if (how == 2) total = op_max(term, total);
                    if (how == 3) total = op_min(term, total);
                    if (how == 6)
                        total = real_less(op_abs(total), op_abs(term)) ? term : total;
                }
            }
            four = INTERPRET_CODE(record + quads);
            by = INTERPRET_PACKED(min(own + quads, last_four));
        }
        total = total + factors.x;
        const ivec4 next_places = four;
        const vec4 next_factors = by;
        four = INTERPRET_CODE(record + after + 1);
        by = INTERPRET_PACKED(min(own + after + 1, last_four));
        float activated[2] = float[2](total, second);
        activate_any_pair(activated, (places.x >> 16) & 0xFF, both);
        precise float y = activated[0];
        if (continuous) {
            const float last = INTERPRET_AT(places.y, 0);
            const float rate = CAMBRIAN_CALL(divide)(intBitsToFloat(table.w), factors.y);
            precise float away = y - last;
            precise float moved = rate * away;
            y = last + moved;
        }
        INTERPRET_AT(value, 0) = y;
        if (both) INTERPRET_AT(value, 1) = activated[1];
#if INTERPRET_NEURONS > 2
        // Weights change by the rule of their neuron, up to the largest one.
        for (int i = first; !fixed_weights && i < end; ++i) {
            const int change = INTERPRET_CHANGE(i);
            if (change == one) continue;
            const float x = INTERPRET_AT(INTERPRET_PLACE(i), 0);
            const float limit = intBitsToFloat(INTERPRET_PLACE(rule));
            float sum = op_add(op_mul(INTERPRET_OWN(rule + 1), op_mul(x, y)),
                               op_mul(INTERPRET_OWN(rule + 2), x));
            sum = op_add(op_add(sum, op_mul(INTERPRET_OWN(rule + 3), y)),
                         INTERPRET_OWN(rule + 4));
            const float moved =
                op_add(INTERPRET_WEIGHT(i), op_mul(INTERPRET_OWN(rule), sum));
            INTERPRET_AT(change, 0) =
                op_sub(op_min(op_max(moved, -limit), limit), INTERPRET_OWN(i));
        }
#endif
        n += both ? 2 : 1;
        value += both ? 2 : 1;
        record += after;
        own += after;
        places = next_places;
        factors = next_factors;
    }
