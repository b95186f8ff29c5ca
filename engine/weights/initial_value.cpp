#include "cambrian/engine/weights/initial_value.hpp"

#include <array>
#include <cstddef>

#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

struct Element {
    const InitialRule& rule;
    std::int64_t index;
    float uniform;
};

float zero(const Element&) {
    return 0.0F;
}

float one(const Element&) {
    return 1.0F;
}

float weight(const Element& element) {
    return (2.0F * element.uniform - 1.0F) * element.rule.bound;
}

/// The second of four blocks is the forget gate, open at first.
float forget_gate(const Element& element) {
    return element.index / element.rule.period == 1 ? 1.0F : 0.0F;
}

/// Decay rates 1, 2, 3, .. along the last axis.
float log_index(const Element& element) {
    const std::int64_t last = element.index % element.rule.period;
    return elementary::log(static_cast<float>(last + 1));
}

/// softplus⁻¹ of a time step that is log-uniform in [0.001, 0.1].
float time_step(const Element& element) {
    constexpr float log_least = -6.9077554F;
    constexpr float log_range = 4.6051702F;
    const float step = elementary::exp(log_least + log_range * element.uniform);
    return elementary::log(elementary::expm1(step));
}

float normal(const Element& element) {
    return elementary::normal_quantile(element.uniform) * element.rule.bound;
}

float constant(const Element& element) {
    return element.rule.bound;
}

struct InitialRow {
    Initial initial{};
    bool random = false;
    float (*value)(const Element&) = nullptr;
    InitialPeriod period = InitialPeriod::none;
};

constexpr std::array rows{
    InitialRow{Initial::zeros, false, zero},
    InitialRow{Initial::ones, false, one},
    InitialRow{Initial::weight, true, weight},
    InitialRow{Initial::forget_gate, false, forget_gate, InitialPeriod::quarter},
    InitialRow{Initial::log_index, false, log_index, InitialPeriod::last_axis},
    InitialRow{Initial::time_step, true, time_step},
    InitialRow{Initial::normal, true, normal},
    InitialRow{Initial::constant, false, constant},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (rows[i].initial != static_cast<Initial>(i)) return false;
    return rows.size() == static_cast<std::size_t>(Initial::count_);
}
static_assert(in_order(), "an initial has no row or a row is out of order");

const InitialRow& row(Initial initial) {
    return rows[static_cast<std::size_t>(initial)];
}

}  // namespace

bool starts_random(Initial initial) {
    return row(initial).random;
}

InitialPeriod period_of(Initial initial) {
    return row(initial).period;
}

float initial_value(const InitialRule& rule, std::int64_t index, float uniform) {
    return row(rule.initial).value({rule, index, uniform});
}

}  // namespace cambrian
