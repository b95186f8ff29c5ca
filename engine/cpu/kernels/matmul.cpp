#include <algorithm>
#include <vector>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/execution/nest.hpp"
#include "cambrian/engine/cpu/gemm/gemm.hpp"
#include "cambrian/engine/cpu/gemm/product.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

namespace cambrian::cpu {

namespace {

/// Multiplications that are worth another thread.
constexpr std::int64_t part_multiplications = 262144;
/// Multiplications from which a product has enough parts of its own.
constexpr std::int64_t large_multiplications = 4194304;
/// Columns that leave most of a vector empty.
constexpr std::int64_t narrow_columns = 8;
/// Products that are enough parts, however large each is.
constexpr std::int64_t enough_products = 16;

Shape batch_of(const Shape& shape) {
    return Shape(shape.extents().first(static_cast<std::size_t>(shape.rank() - 2)));
}

/// First word of an operand's matrix for every matrix of the result.
std::vector<std::int64_t> matrix_offsets(const Shape& operand, const Shape& result) {
    const Shape batch = batch_of(result);
    const auto strides = broadcast_strides(batch_of(operand), batch);
    const std::int64_t matrix = operand[-1] * operand[-2];
    std::vector<std::int64_t> offsets(static_cast<std::size_t>(batch.elements()));
    const auto own = row_major_strides(batch);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        std::int64_t rest = static_cast<std::int64_t>(i);
        for (std::size_t axis = 0; axis < batch.extents().size(); ++axis) {
            offsets[i] += rest / own[axis] * strides[axis] * matrix;
            rest %= own[axis];
        }
    }
    return offsets;
}

/// What both orders of summation share: which matrices are multiplied.
class MatmulKernel : public Kernel {
  public:
    explicit MatmulKernel(const KernelContext& context)
        : flags_(context.attribute<MatmulAttribute>()),
          left_(context.operands[0]),
          right_(context.operands[1]),
          result_(context.results[0]),
          m_(context.result().shape[-2]),
          n_(context.result().shape[-1]),
          k_(context.operand(0).shape[flags_.transpose_left ? -2 : -1]) {
        const Shape& left = context.operand(0).shape;
        const Shape& right = context.operand(1).shape;
        const Shape& shape = context.result().shape;
        // One right matrix for all left ones: their rows are the rows of one matrix.
        if (right.elements() == n_ * k_ && !flags_.transpose_left &&
            left.elements() == shape.elements() / n_ * k_) {
            m_ = shape.elements() / n_;
            matrices_.push_back({0, 0});
        } else {
            const auto left_offsets = matrix_offsets(left, shape);
            const auto right_offsets = matrix_offsets(right, shape);
            for (std::size_t i = 0; i < left_offsets.size(); ++i) {
                matrices_.push_back({left_offsets[i], right_offsets[i]});
            }
        }
    }

  protected:
    struct Matrices {
        std::int64_t left;
        std::int64_t right;
    };
    /// Of one product.
    struct Operands {
        const float* a;
        const float* b;
        float* c;
    };

    /// Whether the rows of all individuals are those of one matrix times one shared matrix. Rows do
    /// not see each other, so no result depends on the number of individuals.
    [[nodiscard]] bool rows_continue() const {
        return matrices_.size() == 1 && right_.stride == 0 && !flags_.transpose_left &&
               left_.stride == m_ * k_ && result_.stride == m_ * n_;
    }
    [[nodiscard]] Operands operands(const Frame& frame, std::int64_t product) const {
        const auto count = static_cast<std::int64_t>(matrices_.size());
        const std::int64_t individual = count == 1 ? product : product / count;
        const Matrices& matrices =
            matrices_[static_cast<std::size_t>(product - individual * count)];
        return {frame.at<float>(left_) + individual * left_.stride + matrices.left,
                frame.at<float>(right_) + individual * right_.stride + matrices.right,
                frame.at<float>(result_) + individual * result_.stride +
                    (product - individual * count) * m_ * n_};
    }

    MatmulAttribute flags_;
    BufferView left_, right_, result_;
    std::int64_t m_, n_, k_;
    std::vector<Matrices> matrices_;
};

class OrderedKernel : public MatmulKernel {
  public:
    explicit OrderedKernel(const KernelContext& context) : MatmulKernel(context) {
        if (flags_.transpose_right) {
            packed_ = context.owner.scratch(n_ * k_);
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        if (rows_continue()) {
            multiply(frame, operands(frame, 0), m_ * count);
            return;
        }
        const std::int64_t products = count * static_cast<std::int64_t>(matrices_.size());
        for (std::int64_t product = 0; product < products; ++product) {
            multiply(frame, operands(frame, product), m_);
        }
    }

  private:
    void multiply(Frame& frame, const Operands& operands, std::int64_t rows) const {
        auto [a, b, c] = operands;
        if (flags_.transpose_right) {
            float* packed = frame.at<float>(packed_);
            transpose(b, packed, n_, k_);
            b = packed;
        }
        const MatrixView left = flags_.transpose_left ? MatrixView{a, 1, m_} : MatrixView{a, k_, 1};
        const MatrixView right{b, n_, 1};
        float* const result = c;
        const std::int64_t part_rows =
            std::max<std::int64_t>(part_multiplications / std::max<std::int64_t>(n_ * k_, 1), 16);
        for_each_part(frame.team, (rows + part_rows - 1) / part_rows, [&](std::int64_t part) {
            const std::int64_t first = part * part_rows;
            ordered_product({left.data + first * left.row, left.row, left.column}, right,
                            result + first * n_, std::min(part_rows, rows - first), n_, k_);
        });
    }

    BufferView packed_;
};

class FastKernel : public MatmulKernel {
  public:
    explicit FastKernel(const KernelContext& context)
        : MatmulKernel(context),
          gemm_{.m = m_,
                .n = n_,
                .k = k_,
                .transpose_a = flags_.transpose_left,
                .transpose_b = flags_.transpose_right},
          multiplications_(std::max<std::int64_t>(m_ * n_ * k_, 1)) {
        Gemm largest = gemm_;
        if (rows_continue()) {
            largest.m *= context.owner.block();
        }
        const bool is_one = rows_continue() || (!context.per_individual && matrices_.size() == 1);
        scratch_ = context.owner.scratch(largest.scratch_words());
        context.owner.part_scratch(largest.part_words() + (is_one ? 0 : gemm_.scratch_words()));
        if (gemm_.is_one_tile()) {
            is_narrow_ = m_ == 1 && n_ < narrow_columns && flags_.transpose_right &&
                         matrices_.size() == 1 && result_.stride == n_;
            kernel_ = flags_.transpose_right ? transposed_kernel(m_) : plain_kernel(m_, n_);
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        float* scratch = frame.at<float>(scratch_);
        if (rows_continue()) {
            const auto [a, b, c] = operands(frame, 0);
            Gemm all = gemm_;
            all.m *= count;
            all(frame.team, scratch, a, b, c);
            return;
        }
        const std::int64_t products = count * static_cast<std::int64_t>(matrices_.size());
        if (cuts_products(products)) {
            for (std::int64_t product = 0; product < products; ++product) {
                const auto [a, b, c] = operands(frame, product);
                gemm_(frame.team, scratch, a, b, c);
            }
            return;
        }
        const std::int64_t group = (part_multiplications + multiplications_ - 1) / multiplications_;
        for_each_part(frame.team, (products + group - 1) / group,
                      [&](std::int64_t part, std::byte* own) {
                          const std::int64_t first = part * group;
                          run_products(frame, first, std::min(first + group, products),
                                       reinterpret_cast<float*>(own));
                      });
    }

  private:
    /// Whether threads share the inside of every product, instead of taking products each.
    [[nodiscard]] bool cuts_products(std::int64_t products) const {
        if (products == 1) {
            return kernel_ == nullptr || multiplications_ >= part_multiplications;
        }
        return products < enough_products && multiplications_ >= large_multiplications;
    }

    void run_products(const Frame& frame, std::int64_t first, std::int64_t end,
                      float* scratch) const {
        if (is_narrow_) {
            const auto [a, b, c] = operands(frame, first);
            GemmRows{a, left_.stride, b, right_.stride, c, n_, k_}.run(end - first);
            return;
        }
        if (kernel_ == nullptr) {
            for (std::int64_t product = first; product < end; ++product) {
                const auto [a, b, c] = operands(frame, product);
                gemm_(scratch, a, b, c);
            }
            return;
        }
        GemmTile tile{.a_row = flags_.transpose_left ? 1 : k_,
                      .a_step = flags_.transpose_left ? m_ : 1,
                      .b_step = flags_.transpose_right ? k_ : n_,
                      .depth = k_,
                      .c_row = n_,
                      .columns = n_};
        for (std::int64_t product = first; product < end; ++product) {
            const auto [a, b, c] = operands(frame, product);
            tile.a = a;
            tile.b = b;
            tile.c = c;
            kernel_(tile);
        }
    }

    Gemm gemm_;
    std::int64_t multiplications_;
    BufferView scratch_;
    GemmKernel kernel_ = nullptr;  ///< Of products that are one tile.
    bool is_narrow_ = false;       ///< Whether sums of several products fit a vector.
};

}  // namespace

std::unique_ptr<Kernel> make_matmul(const KernelContext& context) {
    if (context.result().shape.elements() == 0) {
        return nullptr;
    }
    if (context.math == Math::strict) {
        return std::make_unique<OrderedKernel>(context);
    }
    return std::make_unique<FastKernel>(context);
}

}  // namespace cambrian::cpu
