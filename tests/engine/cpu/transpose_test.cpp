#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cambrian/engine/cpu/gemm/product.hpp"

namespace cambrian::cpu {
namespace {

TEST(Transpose, MovesEveryElementOfAnyShape) {
    for (const std::int64_t n : {1, 2, 7, 8, 9, 16, 21, 32})
        for (const std::int64_t k : {1, 3, 8, 12, 17, 40}) {
            std::vector<float> matrix(static_cast<std::size_t>(n * k));
            std::iota(matrix.begin(), matrix.end(), 1.0F);
            // One more element, which must stay as it is.
            std::vector<float> transposed(matrix.size() + 1, -1.0F);
            transpose(matrix.data(), transposed.data(), n, k);
            for (std::int64_t i = 0; i < n; ++i)
                for (std::int64_t j = 0; j < k; ++j)
                    ASSERT_EQ(transposed[static_cast<std::size_t>(j * n + i)],
                              matrix[static_cast<std::size_t>(i * k + j)])
                        << n << " × " << k;
            ASSERT_EQ(transposed.back(), -1.0F);
        }
}

}  // namespace
}  // namespace cambrian::cpu
