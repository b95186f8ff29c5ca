#include "cambrian/engine/cpu/kernels/rows.hpp"

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/lift.hpp"
#include "cambrian/engine/cpu/kernels/lift_vectors.hpp"

namespace cambrian::cpu {

namespace {

using elementary::sigmoid;
using elementary::tanh;

float gelu(float x) {
    const float inner = x + 0.044715F * ((x * x) * x);
    const float bend = tanh(0.797884561F * inner);
    return (0.5F * x) * (1.0F + bend);
}

// In the order of the gene codes; any other code is linear, the first.
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
};

Loop row_of(std::int32_t code) {
    const bool known = code >= 0 && static_cast<std::size_t>(code) < activation_rows.size();
    return activation_rows[known ? static_cast<std::size_t>(code) : 0].contiguous[1];
}

/// One look-up of the code for each run of individuals that have the same, whose elements are one
/// row: a row of few elements would wait for every function to end.
class ActivateKernel : public Kernel {
  public:
    explicit ActivateKernel(const KernelContext& context)
        : operand_(context.operands[0]),
          code_(context.operands[1]),
          result_(context.results[0]),
          elements_(context.result().shape.elements()) {}

    void run(Frame& frame, std::int64_t count) const override {
        const std::int32_t* codes = frame.at<std::int32_t>(code_);
        Pointers pointers{frame.at<Word>(result_), frame.at<Word>(operand_)};
        const bool joins = operand_.stride == elements_ && result_.stride == elements_;
        for (std::int64_t i = 0, end = 0; i < count; i = end) {
            const std::int32_t code = codes[i * code_.stride];
            for (end = i + 1; joins && end < count && codes[end * code_.stride] == code;) ++end;
            row_of(code)(pointers, (end - i) * elements_, {1, 1});
            pointers[0] += (end - i) * result_.stride;
            pointers[1] += (end - i) * operand_.stride;
        }
    }

  private:
    BufferView operand_, code_, result_;
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
