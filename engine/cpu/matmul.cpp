#include <algorithm>
#include <vector>

#include "cambrian/engine/cpu/blas.hpp"
#include "cambrian/engine/cpu/compiled_graph.hpp"
#include "cambrian/engine/cpu/kernel_table.hpp"
#include "cambrian/engine/cpu/nest.hpp"
#include "cambrian/engine/cpu/product.hpp"

namespace cambrian::cpu {

namespace {

/// Multiplications from which a call of OpenBLAS is faster than the ordered product.
constexpr std::int64_t blas_multiplications = 131072;
/// Multiplications that are worth another thread.
constexpr std::int64_t part_multiplications = 262144;

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

class MatmulStep : public Step {
  public:
    explicit MatmulStep(const Site& site)
        : flags_(site.attribute<MatmulAttribute>()),
          left_(site.operands[0]),
          right_(site.operands[1]),
          result_(site.results[0]),
          m_(site.result().shape[-2]),
          n_(site.result().shape[-1]),
          k_(site.operand(0).shape[flags_.transpose_left ? -2 : -1]) {
        const Shape& left = site.operand(0).shape;
        const Shape& right = site.operand(1).shape;
        const Shape& shape = site.result().shape;
        if (shape.elements() == 0) {
            return;
        }
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
        uses_blas_ = site.math == Math::fast && k_ > 0 && m_ * n_ * k_ >= blas_multiplications;
        if (!uses_blas_ && flags_.transpose_right) {
            packed_ = site.owner.scratch(n_ * k_);
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        const float* left = frame.at<float>(left_);
        const float* right = frame.at<float>(right_);
        float* result = frame.at<float>(result_);
        if (!uses_blas_ && matrices_.size() == 1 && rows_continue()) {
            ordered(frame, left, right, result, m_ * count);
            return;
        }
        for (std::int64_t i = 0; i < count; ++i) {
            float* c = result + i * result_.stride;
            for (const Matrices& matrices : matrices_) {
                const float* a = left + i * left_.stride + matrices.left;
                const float* b = right + i * right_.stride + matrices.right;
                if (uses_blas_) {
                    blas(a, b, c);
                } else {
                    ordered(frame, a, b, c, m_);
                }
                c += m_ * n_;
            }
        }
    }

  private:
    struct Matrices {
        std::int64_t left;
        std::int64_t right;
    };

    /// Whether the rows of all individuals are those of one matrix times one shared matrix. Rows of
    /// an ordered product do not see each other, so no result depends on the number of individuals.
    [[nodiscard]] bool rows_continue() const {
        return right_.stride == 0 && !flags_.transpose_left && left_.stride == m_ * k_ &&
               result_.stride == m_ * n_;
    }

    void ordered(Frame& frame, const float* a, const float* b, float* c, std::int64_t rows) const {
        if (flags_.transpose_right) {
            float* packed = frame.at<float>(packed_);
            transpose(b, packed, n_, k_);
            b = packed;
        }
        const MatrixView left = flags_.transpose_left ? MatrixView{a, 1, m_} : MatrixView{a, k_, 1};
        const std::int64_t part_rows =
            std::max<std::int64_t>(part_multiplications / std::max<std::int64_t>(n_ * k_, 1), 16);
        for_each_part(frame.team, (rows + part_rows - 1) / part_rows, [&](std::int64_t part) {
            const std::int64_t first = part * part_rows;
            ordered_product({left.data + first * left.row, left.row, left.column}, {b, n_, 1},
                            c + first * n_, std::min(part_rows, rows - first), n_, k_);
        });
    }

    void blas(const float* a, const float* b, float* c) const {
        BlasProduct{.m = m_,
                    .n = n_,
                    .k = k_,
                    .transpose_a = flags_.transpose_left,
                    .transpose_b = flags_.transpose_right}(a, b, c);
    }

    MatmulAttribute flags_;
    Ref left_, right_, result_, packed_;
    std::int64_t m_, n_, k_;
    std::vector<Matrices> matrices_;
    bool uses_blas_ = false;
};

}  // namespace

std::unique_ptr<Step> make_matmul(const Site& site) {
    return std::make_unique<MatmulStep>(site);
}

}  // namespace cambrian::cpu
