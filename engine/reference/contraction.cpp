#include <algorithm>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/reference/kernels.hpp"

// Reductions, contractions, indexing and random numbers.
namespace cambrian::reference {
namespace {

/// Position of the first maximum along an axis.
std::size_t first_maximum(const Call& call, const AxisView& view, std::size_t o, std::size_t i) {
    std::size_t best = 0;
    for (std::size_t k = 1; k < view.extent; ++k)
        if (call.operand()[view.position(o, k, i)] > call.operand()[view.position(o, best, i)])
            best = k;
    return best;
}

Shape batch_of(const Shape& shape) {
    return Shape(shape.extents().first(static_cast<std::size_t>(shape.rank() - 2)));
}

}  // namespace

void reduce_sum(const Call& call) {
    const AxisView view(call.operand_info(0).shape, call.attribute<AxisAttribute>().axis);
    for (std::size_t o = 0; o < view.outer; ++o)
        for (std::size_t i = 0; i < view.inner; ++i) {
            double total = view.extent == 0 ? 0.0 : call.operand()[view.position(o, 0, i)];
            for (std::size_t k = 1; k < view.extent; ++k)
                total = sum_of(call, total, call.operand()[view.position(o, k, i)]);
            call.result()[o * view.inner + i] = total;
        }
}

void reduce_max(const Call& call) {
    const AxisView view(call.operand_info(0).shape, call.attribute<AxisAttribute>().axis);
    for (std::size_t o = 0; o < view.outer; ++o)
        for (std::size_t i = 0; i < view.inner; ++i)
            call.result()[o * view.inner + i] =
                call.operand()[view.position(o, first_maximum(call, view, o, i), i)];
}

void argmax(const Call& call) {
    const AxisView view(call.operand_info(0).shape, call.attribute<AxisAttribute>().axis);
    for (std::size_t o = 0; o < view.outer; ++o)
        for (std::size_t i = 0; i < view.inner; ++i)
            call.result()[o * view.inner + i] =
                static_cast<double>(first_maximum(call, view, o, i));
}

void matmul(const Call& call) {
    const auto& [transpose_left, transpose_right] = call.attribute<MatmulAttribute>();
    const Shape& left = call.operand_info(0).shape;
    const Shape& right = call.operand_info(1).shape;
    const Shape& result = call.result_info().shape;
    const auto m = static_cast<std::size_t>(result[-2]);
    const auto n = static_cast<std::size_t>(result[-1]);
    const auto k = static_cast<std::size_t>(left[transpose_left ? -2 : -1]);
    const Shape batch = batch_of(result);
    const BroadcastIndex left_batch(batch_of(left), batch);
    const BroadcastIndex right_batch(batch_of(right), batch);
    for (std::size_t b = 0; b < static_cast<std::size_t>(batch.elements()); ++b) {
        const double* const x = call.operand(0).data() + left_batch(b) * m * k;
        const double* const y = call.operand(1).data() + right_batch(b) * k * n;
        for (std::size_t row = 0; row < m; ++row)
            for (std::size_t column = 0; column < n; ++column) {
                double total = 0.0;
                for (std::size_t i = 0; i < k; ++i) {
                    const double a = transpose_left ? x[i * m + row] : x[row * k + i];
                    const double c = transpose_right ? y[column * k + i] : y[i * n + column];
                    total = sum(total, product(a, c, call.precision), call.precision);
                }
                call.result()[(b * m + row) * n + column] = total;
            }
    }
}

std::size_t checked_index(const Call& call, double index, std::int64_t extent) {
    check_index(call.node.op, static_cast<std::int64_t>(index), extent);
    return static_cast<std::size_t>(index);
}

void gather(const Call& call) {
    const std::int64_t rows = call.operand_info(0).shape[0];
    const std::size_t width =
        rows == 0 ? 0 : call.operand(0).size() / static_cast<std::size_t>(rows);
    // Indices of rows without elements are not looked at, on any backend.
    if (width == 0) return;
    for (std::size_t i = 0; i < call.operand(1).size(); ++i) {
        const std::size_t from = checked_index(call, call.operand(1)[i], rows);
        for (std::size_t j = 0; j < width; ++j)
            call.result()[i * width + j] = call.operand(0)[from * width + j];
    }
}

void scatter_add(const Call& call) {
    const std::int64_t rows = call.attribute<LengthAttribute>().length;
    const std::size_t count = call.operand(1).size();
    const std::size_t width = count == 0 ? 0 : call.operand(0).size() / count;
    if (width == 0) return;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t to = checked_index(call, call.operand(1)[i], rows);
        for (std::size_t j = 0; j < width; ++j) {
            double& target = call.result()[to * width + j];
            target = sum_of(call, target, call.operand(0)[i * width + j]);
        }
    }
}

void random(const Call& call) {
    const auto word = [](double value) {
        return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
    };
    const std::uint64_t key = word(call.operand(0)[0]) | std::uint64_t{word(call.operand(0)[1])}
                                                             << 32U;
    const auto draws = static_cast<std::uint64_t>(call.attribute<LengthAttribute>().length);
    for (std::size_t i = 0; i < call.operand(1).size(); ++i)
        for (std::uint64_t draw = 0; draw < draws; ++draw) {
            const std::uint64_t block = draw / 4;
            const auto words =
                philox({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32U),
                        word(call.operand(1)[i]), 0U},
                       key);
            call.result()[i * draws + draw] =
                static_cast<double>(uniform_from_bits(words[draw % 4]));
        }
}

}  // namespace cambrian::reference
