#pragma once

#include <cstdint>
#include <vector>

#include "cambrian/gpu/execution/compiled_graph.hpp"
#include "cambrian/gpu/execution/kernel.hpp"
#include "cambrian/gpu/vulkan/recorder.hpp"

namespace cambrian::gpu {

/// What the kernels of matmul, matmul_epilogue and packed_matmul read and write, and the push block
/// that says so to them (shaders/matmul/matmul.glsl).
class MatmulOperands {
  public:
    explicit MatmulOperands(const KernelContext& context);

    /// The rows and individuals of a run. Where all individuals share the right operand their rows
    /// are those of one matrix; rows do not see each other, so no result depends on their number.
    struct Size {
        std::int64_t m = 0;
        std::int64_t individuals = 1;
    };
    [[nodiscard]] Size size(const Frame& frame) const;
    /// All of the push block but what depends on the tile.
    [[nodiscard]] vulkan::Push push(const Frame& frame, const Size& size) const;
    /// Fills in the tiles of a result, and counts those of all results.
    [[nodiscard]] std::uint64_t tiles(const Size& size, std::uint32_t rows, std::uint32_t columns,
                                      vulkan::Push& push) const;
    [[nodiscard]] std::vector<vulkan::Range> reads(const Frame& frame) const;
    [[nodiscard]] vulkan::Range result(const Frame& frame) const;

    [[nodiscard]] const MatmulEpilogueAttribute& epilogue() const { return epilogue_; }
    [[nodiscard]] std::int64_t n() const { return n_; }
    [[nodiscard]] std::int64_t k() const { return k_; }
    [[nodiscard]] std::int64_t matrices() const { return matrices_; }
    /// Whether every row in memory of every matrix of an operand starts on 16 bytes, so that it is
    /// whole vectors.
    [[nodiscard]] bool left_aligned(const Frame& frame) const;
    [[nodiscard]] bool right_aligned(const Frame& frame) const;

  private:
    /// An operand or the result, with the words one individual has of it and those of a row.
    struct Matrices {
        BufferView buffer;
        std::int64_t words = 0;
        std::int64_t row = 0;

        [[nodiscard]] bool aligned(const Frame& frame) const;
        [[nodiscard]] vulkan::Range range(const Frame& frame) const {
            return frame.range(buffer, words);
        }
    };

    void add_batch(const KernelContext& context);
    void add_packed(const Frame& frame, vulkan::Push& push) const;
    [[nodiscard]] bool rows_continue() const;

    MatmulEpilogueAttribute epilogue_;
    Matrices left_, right_, result_, bias_, code_;
    Matrices scales_, zero_points_;  ///< Of a packed matrix.
    bool per_individual_;
    std::int64_t m_, n_, k_;
    std::int64_t matrices_ = 1;  ///< Of one individual.
    std::size_t batch_axes_ = 0;
    BufferView batch_;
};

/// As in the shaders: no activation, a common one or any.
[[nodiscard]] inline std::uint32_t activation_constant(const MatmulEpilogueAttribute& epilogue) {
    if (!epilogue.activation) return 0;
    return epilogue.set == ActivationSet::any ? 2 : 1;
}

}  // namespace cambrian::gpu
