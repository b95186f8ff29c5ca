#include "cambrian/engine/cpu/gemm/gemm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/gemm/tile.hpp"

namespace cambrian::gemm_test {
namespace {

using cpu::Gemm;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

std::vector<float> normals(std::int64_t count, std::uint64_t id) {
    std::vector<float> values(static_cast<std::size_t>(count));
    RandomField{random_key(5, "gemm"), id}.fill_normal(0, values);
    return values;
}

/// Element (row, column) of op(stored), whose op is [rows, columns].
double element(const std::vector<float>& stored, bool transposed, std::int64_t rows,
               std::int64_t columns, std::int64_t row, std::int64_t column) {
    return double{stored[static_cast<std::size_t>(transposed ? column * rows + row
                                                             : row * columns + column)]};
}

/// Runs on `threads` threads, with scratch that holds NaN: no result may read what it has not
/// written.
std::vector<float> product(const Gemm& gemm, const std::vector<float>& a,
                           const std::vector<float>& b, std::vector<float> c, int threads) {
    const auto words = [](std::int64_t count) {
        return std::vector<float>(static_cast<std::size_t>(count), nan);
    };
    std::vector<float> scratch = words(gemm.scratch_words());
    std::vector<std::vector<float>> own(static_cast<std::size_t>(threads),
                                        words(gemm.part_words()));
    std::vector<std::byte*> parts;
    for (auto& part : own) parts.push_back(reinterpret_cast<std::byte*>(part.data()));
    ThreadPool pool(threads);
    gemm({&pool, parts}, scratch.data(), a.data(), b.data(), c.data());
    return c;
}

std::vector<float> product(const Gemm& gemm, const std::vector<float>& a,
                           const std::vector<float>& b, int threads = 1) {
    return product(gemm, a, b, std::vector<float>(static_cast<std::size_t>(gemm.m * gemm.n), nan),
                   threads);
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Every sum against f64: a chain of k roundings is off by at most k units of the sum of absolute
/// values (N. Higham, "Accuracy and Stability of Numerical Algorithms", §3.1).
void expect_close(const Gemm& gemm, const std::vector<float>& a, const std::vector<float>& b,
                  const std::vector<float>& before, const std::vector<float>& c) {
    for (std::int64_t i = 0; i < gemm.m; ++i) {
        for (std::int64_t j = 0; j < gemm.n; ++j) {
            double sum = 0.0;
            double size = 0.0;
            for (std::int64_t p = 0; p < gemm.k; ++p) {
                const double term = element(a, gemm.transpose_a, gemm.m, gemm.k, i, p) *
                                    element(b, gemm.transpose_b, gemm.k, gemm.n, p, j);
                sum += term;
                size += std::fabs(term);
            }
            const auto at = static_cast<std::size_t>(i * gemm.n + j);
            const double old = gemm.adds ? double{before[at]} : 0.0;
            const double expected = old + double{gemm.factor} * sum;
            const double bound = 0x1p-24 * (static_cast<double>(gemm.k) + 3.0) *
                                 (std::fabs(old) + std::fabs(double{gemm.factor}) * size);
            ASSERT_NEAR(double{c[at]}, expected, bound) << "element " << i << ", " << j;
        }
    }
}

struct Case {
    std::int64_t m, n, k;
};

void expect_product(const Case& size) {
    for (const bool left : {false, true}) {
        for (const bool right : {false, true}) {
            for (const bool adds : {false, true}) {
                const Gemm gemm{.m = size.m,
                                .n = size.n,
                                .k = size.k,
                                .transpose_a = left,
                                .transpose_b = right,
                                .factor = adds ? -0.75F : 1.0F,
                                .adds = adds};
                SCOPED_TRACE(testing::Message() << size.m << " x " << size.n << " x " << size.k
                                                << (left ? " T" : " N") << (right ? "T" : "N"));
                const auto a = normals(size.m * size.k, 1);
                const auto b = normals(size.k * size.n, 2);
                const auto before = normals(size.m * size.n, 3);
                const auto c = adds ? product(gemm, a, b, before, 1) : product(gemm, a, b);
                expect_close(gemm, a, b, before, c);
                if (testing::Test::HasFatalFailure()) return;
                for (const int threads : {2, 4}) {
                    const auto again =
                        adds ? product(gemm, a, b, before, threads) : product(gemm, a, b, threads);
                    EXPECT_TRUE(same_bits(c, again)) << threads << " threads";
                }
            }
        }
    }
}

TEST(Gemm, IsTheProductForEverySmallSizeAndTranspose) {
    const std::int64_t sizes[] = {0, 1, 3, 17, 65};
    for (const std::int64_t m : sizes) {
        for (const std::int64_t n : sizes) {
            for (const std::int64_t k : sizes) {
                expect_product({m, n, k});
                if (HasFatalFailure()) return;
            }
        }
    }
}

TEST(Gemm, IsTheProductForLargeAndNarrowSizes) {
    for (const Case& size : {Case{257, 17, 257}, Case{257, 257, 3}, Case{1000, 1, 257},
                             Case{1, 1000, 1000}, Case{3, 1000, 65}, Case{1000, 3, 300},
                             Case{65, 257, 1000}, Case{98, 1030, 17}, Case{100, 50, 513}}) {
        expect_product(size);
        if (HasFatalFailure()) return;
    }
}

TEST(Gemm, GivesARowTheSameBitsAloneAndAmongOthers) {
    constexpr std::int64_t rows = 257;
    for (const bool right : {false, true}) {
        for (const std::int64_t n : {1, 5, 33, 100}) {
            for (const std::int64_t k : {7, 256, 700}) {
                const auto a = normals(rows * k, 1);
                const auto b = normals(k * n, 2);
                const Gemm all{.m = rows, .n = n, .k = k, .transpose_b = right};
                const auto expected = product(all, a, b, 2);
                for (const std::int64_t m : {1, 2, 6, 7, 90, 100}) {
                    Gemm few = all;
                    few.m = m;
                    const std::int64_t first = rows - m;
                    const std::vector<float> own(a.begin() + first * k, a.end());
                    const auto c = product(few, own, b);
                    EXPECT_TRUE(same_bits(c, std::span(expected).last(c.size())))
                        << m << " rows, n = " << n << ", k = " << k;
                }
            }
        }
    }
}

TEST(Gemm, SumsOfManySmallProductsHaveTheBitsOfEach) {
    constexpr std::int64_t products = 13;
    for (const std::int64_t n : {1, 2, 3, 7, 8}) {
        for (const std::int64_t k : {1, 3, 4, 7, 16, 256}) {
            const auto a = normals(products * k, 1);
            const auto b = normals(products * k * n, 2);
            std::vector<float> c(static_cast<std::size_t>(products * n), nan);
            cpu::GemmRows{a.data(), k, b.data(), n * k, c.data(), n, k}.run(products);
            const Gemm one{.m = 1, .n = n, .k = k, .transpose_b = true};
            for (std::int64_t i = 0; i < products; ++i) {
                const std::vector<float> own_a(a.begin() + i * k, a.begin() + (i + 1) * k);
                const std::vector<float> own_b(b.begin() + i * n * k, b.begin() + (i + 1) * n * k);
                EXPECT_TRUE(same_bits(product(one, own_a, own_b),
                                      std::span(c).subspan(static_cast<std::size_t>(i * n),
                                                           static_cast<std::size_t>(n))))
                    << "product " << i << ", n = " << n << ", k = " << k;
            }
        }
    }
}

TEST(Gemm, ReadsAndWritesRowsThatLieApart) {
    constexpr std::int64_t m = 20;
    constexpr std::int64_t n = 19;
    constexpr std::int64_t k = 300;
    const auto a = normals(m * k, 1);
    const auto b = normals(k * n, 2);
    const auto spread = [](const std::vector<float>& rows, std::int64_t width, std::int64_t row) {
        std::vector<float> result(
            rows.size() / static_cast<std::size_t>(width) * static_cast<std::size_t>(row), nan);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto at = static_cast<std::int64_t>(i);
            result[static_cast<std::size_t>(at / width * row + at % width)] = rows[i];
        }
        return result;
    };
    for (const std::int64_t rows : {m, std::int64_t{4}}) {
        Gemm gemm{.m = rows, .n = n, .k = k};
        const auto expected = product(gemm, a, b);
        gemm.a_row = k + 5;
        gemm.b_row = n + 3;
        gemm.c_row = n + 2;
        const std::vector<float> before(static_cast<std::size_t>(rows * gemm.c_row), nan);
        const auto c = product(gemm, spread(a, k, gemm.a_row), spread(b, n, gemm.b_row), before, 1);
        EXPECT_TRUE(same_bits(c, spread(expected, n, gemm.c_row)));
    }
}

TEST(Gemm, HandsOnWhatIsNotFinite) {
    for (const std::int64_t m : {1, 8, 100}) {
        constexpr std::int64_t n = 40;
        constexpr std::int64_t k = 300;
        auto a = normals(m * k, 1);
        auto b = normals(k * n, 2);
        a[static_cast<std::size_t>((m - 1) * k + 299)] = infinity;
        b[static_cast<std::size_t>(299 * n + 7)] = 0.0F;
        b[11] = nan;
        const auto c = product({.m = m, .n = n, .k = k}, a, b);
        const std::span<const float> last = std::span(c).last(n);
        for (std::size_t j = 0; j < last.size(); ++j) {
            EXPECT_EQ(std::isnan(last[j]), j == 7 || j == 11) << j;
            EXPECT_FALSE(std::isfinite(last[j])) << j;
        }
        if (m > 1) {
            EXPECT_TRUE(std::isnan(c[11]));
            EXPECT_TRUE(std::isfinite(c[7]));
        }
    }
}

TEST(Gemm, KeepsSubnormalNumbers) {
    const std::vector<float> a(40, 0x1p-100F);
    const std::vector<float> b(40, 0x1p-45F);
    const auto c = product({.m = 1, .n = 1, .k = 40}, a, b);
    EXPECT_EQ(c[0], 40.0F * 0x1p-145F);
}

}  // namespace
}  // namespace cambrian::gemm_test
