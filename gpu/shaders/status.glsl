// Reports a data error into a pair of status words {code, index}; the first one stays.
void report(Words status, uint code, uint index) {
    if (atomicCompSwap(status.at[0], 0U, code) == 0U) status.at[1] = index;
}
