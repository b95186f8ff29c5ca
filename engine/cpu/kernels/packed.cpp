#include <algorithm>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/cpu/gemm/packed_operand.hpp"
#include "cambrian/engine/cpu/gemm/product.hpp"

// Matrices in codes: as numbers, and products that decode a strip of rows at a time.
namespace cambrian::cpu {

namespace {

class UnpackKernel : public Kernel {
  public:
    explicit UnpackKernel(const KernelContext& context)
        : operand_(context, context.attribute<PackedAttribute>(), 0),
          result_(context.results[0]),
          rows_(context.operand(0).shape.elements() /
                std::max<std::int64_t>(context.operand(0).shape[-1], 1)) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i)
            decode_rows(operand_.packed(), operand_.rows(frame, i), 0, rows_,
                        frame.at<float>(result_) + i * result_.stride);
    }

  private:
    PackedOperand operand_;
    BufferView result_;
    std::int64_t rows_;
};

/// Numbers of a strip: it stays in the second-level cache, or is large enough for many rows of x.
constexpr std::int64_t strip_of_few = 32768;
constexpr std::int64_t strip_of_many = 262144;
constexpr std::int64_t few_rows = 6;
/// Rows of x that a strip is multiplied with at once under strict math.
constexpr std::int64_t rows_at_once = 64;
/// Rows of a part: each decodes its strip anew, which is little beside so many products.
constexpr std::int64_t rows_of_a_part = 512;

class PackedMatmulKernel : public Kernel {
  public:
    explicit PackedMatmulKernel(const KernelContext& context)
        : operand_(context, context.attribute<PackedAttribute>(), 1),
          x_(context.operands[0]),
          result_(context.results[0]),
          n_(context.result().shape[-1]),
          k_(operand_.packed().length),
          m_(context.result().shape.elements() / n_),
          strict_(context.math == Math::strict) {
        continues_ = operand_.shared() && context.per_individual && x_.stride == m_ * k_ &&
                     result_.stride == m_ * n_;
        const std::int64_t numbers = m_ <= few_rows ? strip_of_few : strip_of_many;
        strip_ = std::clamp<std::int64_t>(numbers / std::max<std::int64_t>(k_, 1), 8, n_ + 8);
        strip_ = std::min(strip_, n_);
        Gemm largest = gemm(strip_);
        if (continues_) largest.m *= context.owner.block();
        const std::int64_t own =
            strict_ ? strip_ * k_ + rows_at_once * strip_ : largest.enough_words();
        context.owner.part_scratch(strip_ * k_ + own);
    }

    void run(Frame& frame, std::int64_t count) const override {
        const std::int64_t products = continues_ ? 1 : count;
        const std::int64_t rows = continues_ ? m_ * count : m_;
        const std::int64_t strips = (n_ + strip_ - 1) / strip_;
        const std::int64_t bands = (rows + rows_of_a_part - 1) / rows_of_a_part;
        for_each_part(frame.team, products * bands * strips,
                      [&](std::int64_t part, std::byte* own) {
                          const std::int64_t individual = part / (bands * strips);
                          const std::int64_t first_row = part / strips % bands * rows_of_a_part;
                          const std::int64_t first = part % strips * strip_;
                          const Strip strip{
                              .x = frame.at<float>(x_) + individual * x_.stride + first_row * k_,
                              .y = frame.at<float>(result_) + individual * result_.stride +
                                   first_row * n_ + first,
                              .rows = std::min(rows_of_a_part, rows - first_row),
                              .columns = std::min(strip_, n_ - first)};
                          auto* numbers = reinterpret_cast<float*>(own);
                          decode_rows(operand_.packed(), operand_.rows(frame, individual), first,
                                      strip.columns, numbers);
                          multiply(strip, numbers, numbers + strip_ * k_);
                      });
    }

  private:
    /// Columns of a product that are rows of the matrix.
    struct Strip {
        const float* x = nullptr;
        float* y = nullptr;
        std::int64_t rows = 0;
        std::int64_t columns = 0;
    };

    [[nodiscard]] Gemm gemm(std::int64_t columns) const {
        return {.m = m_, .n = columns, .k = k_, .transpose_b = true, .c_row = n_};
    }

    /// No bit depends on the strips: see Gemm and ordered_product.
    void multiply(const Strip& strip, const float* numbers, float* scratch) const {
        if (!strict_) {
            Gemm product = gemm(strip.columns);
            product.m = strip.rows;
            product(scratch, strip.x, numbers, strip.y);
            return;
        }
        float* const turned = scratch;
        float* const sums = scratch + strip_ * k_;
        transpose(numbers, turned, strip.columns, k_);
        for (std::int64_t first = 0; first < strip.rows; first += rows_at_once) {
            const std::int64_t some = std::min(rows_at_once, strip.rows - first);
            ordered_product({strip.x + first * k_, k_, 1}, {turned, strip.columns, 1}, sums, some,
                            strip.columns, k_);
            for (std::int64_t r = 0; r < some; ++r)
                std::copy_n(sums + r * strip.columns, strip.columns, strip.y + (first + r) * n_);
        }
    }

    PackedOperand operand_;
    BufferView x_, result_;
    std::int64_t n_, k_, m_;
    bool strict_;
    bool continues_ = false;  ///< The rows of all individuals are those of one product.
    std::int64_t strip_ = 1;
};

}  // namespace

std::unique_ptr<Kernel> make_unpack(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    return std::make_unique<UnpackKernel>(context);
}

std::unique_ptr<Kernel> make_packed_matmul(const KernelContext& context) {
    if (context.result().shape.elements() == 0) return nullptr;
    return std::make_unique<PackedMatmulKernel>(context);
}

}  // namespace cambrian::cpu
