#include <array>
#include <type_traits>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"

namespace cambrian::cpu {

namespace {

constexpr std::int64_t max_depth = TransposedProduct::max_depth;

/// Rows for one line of the result: of the left operand by k, of the right one by column and k.
struct Operands {
    const float* const* a;
    const float* const* b;
};

struct Fused {
    static FloatVector add(FloatVector a, FloatVector b, FloatVector sum) {
        return multiply_add(a, b, sum);
    }
};
struct Rounded {
    static FloatVector add(FloatVector a, FloatVector b, FloatVector sum) { return sum + a * b; }
};

/// The sums of `columns` elements of one line, for `vectors` vectors of individuals from `first`
/// on. Rows are whole vectors.
template <class Sum, bool shared, std::size_t columns, std::size_t vectors>
[[gnu::always_inline]] inline void tile(const Operands& rows, std::int64_t k, float* result,
                                        std::int64_t count, std::int64_t first) {
    FloatVector sums[columns][vectors];
    unrolled<columns>([&](auto c) __attribute__((always_inline)) {
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { sums[c][v] = FloatVector{}; });
    });
    for (std::int64_t step = 0; step < k; ++step) {
        FloatVector left[vectors];
        unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
            left[v] = load(rows.a[step] + first + lane(v));
        });
        unrolled<columns>([&](auto c) __attribute__((always_inline)) {
            const float* const b = rows.b[static_cast<std::int64_t>(c.value) * k + step];
            unrolled<vectors>([&](auto v) __attribute__((always_inline)) {
                const FloatVector right = shared ? repeated(*b) : load(b + first + lane(v));
                sums[c][v] = Sum::add(left[v], right, sums[c][v]);
            });
        });
    }
    unrolled<columns>([&](auto c) __attribute__((always_inline)) {
        float* const to = result + static_cast<std::int64_t>(c.value) * count + first;
        unrolled<vectors>([&](auto v)
                              __attribute__((always_inline)) { store(to + lane(v), sums[c][v]); });
    });
}

template <class Sum, bool shared, std::size_t columns>
void line(const Operands& rows, std::int64_t k, float* result, std::int64_t count) {
    // Eight sums at once hide each other's latency; two vectors are one line of the cache.
    constexpr std::size_t vectors = 8 / columns;
    std::int64_t first = 0;
    for (; first + lane(vectors) <= count; first += lane(vectors))
        tile<Sum, shared, columns, vectors>(rows, k, result, count, first);
    for (; first + lane(2) <= count; first += lane(2))
        tile<Sum, shared, columns, 2>(rows, k, result, count, first);
    if (first < count) tile<Sum, shared, columns, 1>(rows, k, result, count, first);
}

template <class Sum, bool shared>
class ProductKernel : public Kernel {
  public:
    explicit ProductKernel(TransposedProduct product) : product_(std::move(product)) {}

    void run(Frame& frame, std::int64_t count) const override {
        // Rows are looked up once for all individuals.
        std::array<const float*, max_depth> a;
        for (std::int64_t i = 0; i < product_.m; ++i) {
            look_up(frame, count, product_.left, i * product_.k, product_.k, a.data());
            const auto first = static_cast<std::size_t>(i * product_.n);
            run_line(frame, count, a.data(),
                     reinterpret_cast<float*>(row_of(frame, product_.result[first], count)));
        }
    }

  private:
    void run_line(const Frame& frame, std::int64_t count, const float* const* a,
                  float* result) const {
        constexpr std::int64_t group = 4;
        std::array<const float*, group * max_depth> b;
        const auto columns = [&]<std::size_t width>(std::int64_t j,
                                                    std::integral_constant<std::size_t, width>) {
            look_up(frame, count, product_.right, j * product_.k,
                    static_cast<std::int64_t>(width) * product_.k, b.data());
            line<Sum, shared, width>({a, b.data()}, product_.k, result + j * count, count);
        };
        std::int64_t j = 0;
        for (; j + group <= product_.n; j += group)
            columns(j, std::integral_constant<std::size_t, group>{});
        for (; j + 2 <= product_.n; j += 2) columns(j, std::integral_constant<std::size_t, 2>{});
        if (j < product_.n) columns(j, std::integral_constant<std::size_t, 1>{});
    }

    static void look_up(const Frame& frame, std::int64_t count, const ElementRows& rows,
                        std::int64_t first, std::int64_t amount, const float** pointers) {
        for (std::int64_t i = 0; i < amount; ++i)
            pointers[i] = reinterpret_cast<const float*>(
                row_of(frame, rows[static_cast<std::size_t>(first + i)], count));
    }

  private:
    TransposedProduct product_;
};

template <class Sum>
std::unique_ptr<Kernel> make(TransposedProduct product) {
    if (product.right[0].shared)
        return std::make_unique<ProductKernel<Sum, true>>(std::move(product));
    return std::make_unique<ProductKernel<Sum, false>>(std::move(product));
}

}  // namespace

std::unique_ptr<Kernel> make_transposed_product(TransposedProduct product) {
    CAMBRIAN_ASSERT(product.k >= 1 && product.k <= TransposedProduct::max_depth);
    return product.math == Math::fast ? make<Fused>(std::move(product))
                                      : make<Rounded>(std::move(product));
}

}  // namespace cambrian::cpu
