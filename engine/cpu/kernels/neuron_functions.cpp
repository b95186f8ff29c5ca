#include <bit>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/layers/support/neuron_functions.hpp"

namespace cambrian::cpu {
namespace {

using elementary::exp;
using elementary::expm1;
using elementary::log1p;

// The first of them are the activations of layers, with the same codes.
constexpr std::size_t shared_codes = activation_names.size();
static_assert(neuron_activation_names[shared_codes] == "steep_sigmoid");

/// A sigmoid of 4.9 x is one: by the loop of the layers' sigmoid, which is the faster.
constexpr LoopSet steep_sigmoid = [] {
    LoopSet rows = lift<float(float)>([](float x) { return elementary::sigmoid(4.9F * x); });
    rows.contiguous[1] = [](const Pointers& pointers, std::int64_t length, const Nest::Strides&) {
        auto* const y = reinterpret_cast<float*>(pointers[0]);
        const auto* const x = reinterpret_cast<const float*>(pointers[1]);
        for (std::int64_t i = 0; i < length; ++i) y[i] = 4.9F * x[i];
        activate(static_cast<std::int32_t>(Activation::sigmoid), y, y, length);
    };
    return rows;
}();

/// The activations after those, in the order of their codes, to the bits of what
/// layers/support/neuron_functions.cpp writes as graphs.
constexpr std::array<LoopSet, neuron_activation_names.size() - shared_codes> rows{
    steep_sigmoid,
    lift<float(float)>([](float x) { return elementary::sin(x); }),
    lift<float(float)>([](float x) { return elementary::cos(x); }),
    lift<float(float)>([](float x) { return exp(-(x * x)); }),
    lift<float(float)>([](float x) {
        return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU);
    }),
    lift<float(float)>([](float x) { return x * x; }),
    lift<float(float)>([](float x) { return (x * x) * x; }),
    lift<float(float)>([](float x) {
        const float below = expm1(0.0F < x ? 0.0F : x);
        return 0.0F < x ? x : below;
    }),
    lift<float(float)>([](float x) { return 0.0F < x ? x : 0.01F * x; }),
    lift<float(float)>([](float x) {
        const float rest = log1p(exp(x < -x ? x : -x));
        return (0.0F > x ? 0.0F : x) + rest;
    }),
    lift<float(float)>([](float x) {
        const float above = x > -1.0F ? x : -1.0F;
        return above < 1.0F ? above : 1.0F;
    }),
    lift<float(float)>([](float x) {
        const float height = 1.0F - (x < 0.0F ? -x : x);
        return height > 0.0F ? height : 0.0F;
    }),
    lift<float(float)>([](float x) { return static_cast<float>((x > 0.0F) - (x < 0.0F)); }),
    lift<float(float)>([](float x) { return 0.0F < x ? 1.0F : 0.0F; }),
};

}  // namespace

void activate_neurons(std::int32_t code, const float* x, float* y, std::int64_t count) {
    const auto at = static_cast<std::size_t>(code);
    if (at < shared_codes) {
        activate(code, x, y, count);
        return;
    }
    auto* const operand = const_cast<float*>(x);  // A row only reads its operands.
    rows[at - shared_codes].contiguous[1](
        {reinterpret_cast<Word*>(y), reinterpret_cast<Word*>(operand)}, count, {1, 1});
}

}  // namespace cambrian::cpu
