#include "cambrian/engine/cpu/gemm/packed_product.hpp"

#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "cambrian/engine/core/random.hpp"

namespace cambrian::cpu {
namespace {

std::vector<float> normal_values(std::int64_t count, std::uint64_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomStream stream(random_key(seed, "values"), 0);
    for (float& value : values) value = stream.normal();
    return values;
}

/// The product of decoded numbers, as its definition says it.
std::vector<float> product_of(const std::vector<float>& w, MatrixExtents extents,
                              const std::vector<float>& x, std::int64_t batch) {
    std::vector<float> y;
    for (std::int64_t b = 0; b < batch; ++b)
        for (std::int64_t r = 0; r < extents.rows; ++r) {
            std::array<float, 32> sums{};
            for (std::int64_t c = 0; c < extents.columns; ++c)
                sums[static_cast<std::size_t>(c % 32)] +=
                    x[static_cast<std::size_t>(b * extents.columns + c)] *
                    w[static_cast<std::size_t>(r * extents.columns + c)];
            for (std::size_t width = 16; width > 0; width /= 2)
                for (std::size_t j = 0; j < width; ++j) sums[j] += sums[j + width];
            y.push_back(sums[0]);
        }
    return y;
}

TEST(PackedProduct, IsTheProductOfTheNumbersThatCodesStandFor) {
    ThreadPool one(1);
    ThreadPool two(2);
    for (const MatrixExtents extents :
         {MatrixExtents{1, 1}, MatrixExtents{3, 31}, MatrixExtents{17, 64}, MatrixExtents{33, 100},
          MatrixExtents{5, 1057}, MatrixExtents{2, 2080}})
        for (std::size_t i = 0; i < dtype_count; ++i) {
            const auto dtype = static_cast<Dtype>(i);
            const QuantisedMatrix packed =
                quantise(QuantisationScheme(dtype), extents, normal_values(extents.elements(), 3));
            std::vector<float> decoded(static_cast<std::size_t>(extents.elements()));
            dequantise(packed, decoded);
            for (const std::int64_t batch : {1, 3, 19}) {
                const std::vector<float> x = normal_values(batch * extents.columns, 4);
                std::vector<float> y(static_cast<std::size_t>(batch * extents.rows));
                packed_product(packed, x, batch, y, one);
                EXPECT_EQ(y, product_of(decoded, extents, x, batch)) << name(dtype);
                std::vector<float> again(y.size());
                packed_product(packed, x, batch, again, two);
                EXPECT_EQ(again, y) << name(dtype);
            }
        }
}

TEST(PackedProduct, TakesScalesOfEveryGroup) {
    ThreadPool threads(1);
    const MatrixExtents extents{6, 70};
    for (const ScaleGroup group : {ScaleGroup::tensor, ScaleGroup::row, ScaleGroup::block})
        for (const Dtype dtype : {Dtype::int8, Dtype::uint8, Dtype::int4, Dtype::float8_e4m3fn}) {
            const QuantisedMatrix packed =
                quantise({dtype, group}, extents, normal_values(extents.elements(), 5));
            std::vector<float> decoded(static_cast<std::size_t>(extents.elements()));
            dequantise(packed, decoded);
            const std::vector<float> x = normal_values(2 * extents.columns, 6);
            std::vector<float> y(static_cast<std::size_t>(2 * extents.rows));
            packed_product(packed, x, 2, y, threads);
            EXPECT_EQ(y, product_of(decoded, extents, x, 2)) << name(dtype);
        }
}

}  // namespace
}  // namespace cambrian::cpu
