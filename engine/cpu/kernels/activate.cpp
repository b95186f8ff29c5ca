#include "cambrian/engine/cpu/kernels/rows.hpp"

#include <bit>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/kernels/lift_vectors.hpp"

namespace cambrian::cpu {

namespace {

using elementary::exp;
using elementary::expm1;
using elementary::log1p;
using elementary::sigmoid;
using elementary::tanh;

float gelu(float x) {
    const float inner = x + 0.044715F * ((x * x) * x);
    const float bend = tanh(0.797884561F * inner);
    return (0.5F * x) * (1.0F + bend);
}

/// A sigmoid of 4.9 x is one: by the loop of the sigmoid, which is the faster.
constexpr LoopSet steep_sigmoid = [] {
    LoopSet rows = lift<float(float)>([](float x) { return sigmoid(4.9F * x); });
    rows.contiguous[1] = [](const Pointers& pointers, std::int64_t length, const Nest::Strides&) {
        auto* const y = reinterpret_cast<float*>(pointers[0]);
        const auto* const x = reinterpret_cast<const float*>(pointers[1]);
        for (std::int64_t i = 0; i < length; ++i) y[i] = 4.9F * x[i];
        activate(static_cast<std::int32_t>(Activation::sigmoid), y, y, length);
    };
    return rows;
}();

float softplus(float x) {
    const float rest = log1p(exp(x < -x ? x : -x));
    return (0.0F > x ? 0.0F : x) + rest;
}

float between(float x, float low, float high) {
    const float above = x > low ? x : low;
    return above < high ? above : high;
}

// In the order of the gene codes, to the bits of what graph/builders/activation.cpp writes as
// graphs.
constexpr std::array<LoopSet, activation_names.size()> activation_rows{
    lift<Word(Word)>([](Word x) { return x; }),
    lift<float(float)>([](float x) { return x > 0.0F ? x : 0.0F; }),
    vector_functions::lift_parts<vector_functions::Silu>([](float x) { return x * sigmoid(x); }),
    vector_functions::lift(
        [](float x) { return gelu(x); },
        [](auto x) __attribute__((always_inline)) { return vector_functions::gelu(x); }),
    vector_functions::lift(
        [](float x) { return tanh(x); },
        [](auto x) __attribute__((always_inline)) { return vector_functions::tanh(x); }),
    vector_functions::lift_parts<vector_functions::Sigmoid>([](float x) { return sigmoid(x); }),
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
    lift<float(float)>([](float x) { return softplus(x); }),
    lift<float(float)>([](float x) { return between(x, -1.0F, 1.0F); }),
    lift<float(float)>([](float x) {
        const float height = 1.0F - (x < 0.0F ? -x : x);
        return height > 0.0F ? height : 0.0F;
    }),
    lift<float(float)>([](float x) { return static_cast<float>((x > 0.0F) - (x < 0.0F)); }),
    lift<float(float)>([](float x) { return 0.0F < x ? 1.0F : 0.0F; }),
    lift<float(float)>([](float x) { return between(x, 0.0F, 6.0F); }),
    lift<float(float)>([](float x) { return 0.166666672F * (x * between(x + 3.0F, 0.0F, 6.0F)); }),
    lift<float(float)>([](float x) { return x * tanh(softplus(x)); }),
    lift<float(float)>(
        [](float x) { return (0.5F * x) * (1.0F + elementary::erf(0.707106769F * x)); }),
};

Loop row_of(std::int32_t code) {
    const std::int32_t known = known_code(code, ActivationSet::any);
    return activation_rows[static_cast<std::size_t>(known)].contiguous[1];
}

/// One look-up of the code for each run of individuals that have the same, whose elements are one
/// row: a row of few elements would wait for every function to end.
class ActivateKernel : public Kernel {
  public:
    explicit ActivateKernel(const KernelContext& context)
        : operand_(context.operands[0]),
          code_(context.operands[1]),
          result_(context.results[0]),
          set_(activation_set(context.node.op)),
          elements_(context.result().shape.elements()) {}

    void run(Frame& frame, std::int64_t count) const override {
        const std::int32_t* codes = frame.at<std::int32_t>(code_);
        Pointers pointers{frame.at<Word>(result_), frame.at<Word>(operand_)};
        const bool joins = operand_.stride == elements_ && result_.stride == elements_;
        for (std::int64_t i = 0, end = 0; i < count; i = end) {
            const std::int32_t code = codes[i * code_.stride];
            for (end = i + 1; joins && end < count && codes[end * code_.stride] == code;) ++end;
            row_of(known_code(code, set_))(pointers, (end - i) * elements_, {1, 1});
            pointers[0] += (end - i) * result_.stride;
            pointers[1] += (end - i) * operand_.stride;
        }
    }

  private:
    BufferView operand_, code_, result_;
    ActivationSet set_;
    std::int64_t elements_;
};

}  // namespace

void activate(std::int32_t code, const float* x, float* y, std::int64_t count) {
    // A row only reads its operands.
    auto* const operand = const_cast<float*>(x);
    row_of(code)({reinterpret_cast<Word*>(y), reinterpret_cast<Word*>(operand)}, count, {1, 1});
}

std::unique_ptr<Kernel> make_activate(const KernelContext& context) {
    return std::make_unique<ActivateKernel>(context);
}

}  // namespace cambrian::cpu
