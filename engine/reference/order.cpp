#include <algorithm>
#include <numeric>

#include "cambrian/engine/reference/kernels.hpp"

// Running sums, orders and elements by index along an axis.
namespace cambrian::reference {
namespace {

/// Calls body(o, i) for every run of elements along the axis.
template <class Body>
void for_each_run(const AxisView& view, Body body) {
    for (std::size_t o = 0; o < view.outer; ++o)
        for (std::size_t i = 0; i < view.inner; ++i) body(o, i);
}

/// NaN is above every number and equal to itself.
bool before(double a, double b) {
    return a < b || (std::isnan(b) && !std::isnan(a));
}

}  // namespace

void cumsum(const Call& call) {
    const auto& [axis, exclusive, reverse] = call.attribute<CumsumAttribute>();
    const AxisView view(call.operand_info(0).shape, axis);
    for_each_run(view, [&](std::size_t o, std::size_t i) {
        double total = 0.0;
        for (std::size_t step = 0; step < view.extent; ++step) {
            // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a structured binding.
            const std::size_t k = reverse ? view.extent - 1 - step : step;
            const double x = call.operand()[view.position(o, k, i)];
            double& result = call.result()[view.position(o, k, i)];
            result = total;
            total = step == 0 ? x : sum_of(call, total, x);
            if (!exclusive) result = total;
        }
    });
}

void sort(const Call& call) {
    const auto& [axis, descending] = call.attribute<SortAttribute>();
    const AxisView view(call.operand_info(0).shape, axis);
    std::vector<std::size_t> order(view.extent);
    for_each_run(view, [&](std::size_t o, std::size_t i) {
        const auto element = [&](std::size_t k) { return call.operand()[view.position(o, k, i)]; };
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            return descending ? before(element(b), element(a)) : before(element(a), element(b));
        });
        for (std::size_t k = 0; k < view.extent; ++k) {
            call.results[0][view.position(o, k, i)] = element(order[k]);
            call.results[1][view.position(o, k, i)] = static_cast<double>(order[k]);
        }
    });
}

void flip(const Call& call) {
    const AxisView view(call.operand_info(0).shape, call.attribute<AxisAttribute>().axis);
    for_each_run(view, [&](std::size_t o, std::size_t i) {
        for (std::size_t k = 0; k < view.extent; ++k)
            call.result()[view.position(o, k, i)] =
                call.operand()[view.position(o, view.extent - 1 - k, i)];
    });
}

void take_along_axis(const Call& call) {
    const int axis = call.attribute<AxisAttribute>().axis;
    const AxisView from(call.operand_info(0).shape, axis);
    const AxisView to(call.result_info().shape, axis);
    for (std::size_t o = 0; o < to.outer; ++o)
        for (std::size_t k = 0; k < to.extent; ++k)
            for (std::size_t i = 0; i < to.inner; ++i) {
                const std::size_t at = to.position(o, k, i);
                const std::size_t index =
                    checked_index(call, call.operand(1)[at], call.operand_info(0).shape[axis]);
                call.result()[at] = call.operand()[from.position(o, index, i)];
            }
}

void scatter_add_along_axis(const Call& call) {
    const auto& [axis, extent] = call.attribute<ScatterAlongAttribute>();
    const AxisView from(call.operand_info(0).shape, axis);
    const AxisView to(call.result_info().shape, axis);
    for (std::size_t o = 0; o < from.outer; ++o)
        for (std::size_t k = 0; k < from.extent; ++k)
            for (std::size_t i = 0; i < from.inner; ++i) {
                const std::size_t at = from.position(o, k, i);
                const std::size_t index = checked_index(call, call.operand(1)[at], extent);
                double& target = call.result()[to.position(o, index, i)];
                target = sum_of(call, target, call.operand()[at]);
            }
}

}  // namespace cambrian::reference
