#include "cambrian/engine/cpu/kernels/rows.hpp"

#include <array>

namespace cambrian::cpu {

namespace {

template <Op op>
float apply(float a, float b) {
    if constexpr (op == Op::add) return a + b;
    if constexpr (op == Op::sub) return a - b;
    return a * b;
}

template <Op outer, Op inner, bool second>
constexpr LoopSet rows = lift<float(float, float, float)>([](float a, float b, float c) {
    const float x = apply<inner>(a, b);
    return second ? apply<outer>(c, x) : apply<outer>(x, c);
});

struct Pair {
    Op outer;
    Op inner;
    bool second;
    const LoopSet* rows;
};

template <Op outer, Op inner>
constexpr Pair first_of = {outer, inner, false, &rows<outer, inner, false>};
template <Op outer, Op inner>
constexpr Pair second_of = {outer, inner, true, &rows<outer, inner, true>};

// A sum or product has the same bits with its operands exchanged.
constexpr std::array pairs{
    first_of<Op::add, Op::add>,  first_of<Op::add, Op::sub>,  first_of<Op::add, Op::mul>,
    first_of<Op::sub, Op::add>,  first_of<Op::sub, Op::sub>,  first_of<Op::sub, Op::mul>,
    second_of<Op::sub, Op::add>, second_of<Op::sub, Op::sub>, second_of<Op::sub, Op::mul>,
    first_of<Op::mul, Op::add>,  first_of<Op::mul, Op::sub>,  first_of<Op::mul, Op::mul>,
};

}  // namespace

const LoopSet* pair_rows(Op outer, Op inner, bool second) {
    for (const Pair& pair : pairs)
        if (pair.outer == outer && pair.inner == inner &&
            (pair.second == second || outer != Op::sub))
            return pair.rows;
    return nullptr;
}

}  // namespace cambrian::cpu
