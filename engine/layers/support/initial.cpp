#include "cambrian/engine/layers/support/initial.hpp"

#include <array>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

struct Element {
    const ParameterSpec& parameter;
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
    return (2.0F * element.uniform - 1.0F) * initial_bound(element.parameter);
}

/// The second of four blocks is the forget gate, open at first.
float forget_gate(const Element& element) {
    const std::int64_t block = element.parameter.shape.elements() / 4;
    return element.index / block == 1 ? 1.0F : 0.0F;
}

/// Decay rates 1, 2, 3, .. along the last axis.
float log_index(const Element& element) {
    const std::int64_t last = element.index % element.parameter.shape[-1];
    return elementary::log(static_cast<float>(last + 1));
}

/// softplus⁻¹ of a time step that is log-uniform in [0.001, 0.1].
float time_step(const Element& element) {
    constexpr float log_least = -6.9077554F;
    constexpr float log_range = 4.6051702F;
    const float step = elementary::exp(log_least + log_range * element.uniform);
    return elementary::log(elementary::expm1(step));
}

struct InitialRow {
    Initial initial{};
    bool random = false;
    float (*value)(const Element&) = nullptr;
};

constexpr std::array rows{
    InitialRow{Initial::zeros, false, zero},
    InitialRow{Initial::ones, false, one},
    InitialRow{Initial::weight, true, weight},
    InitialRow{Initial::forget_gate, false, forget_gate},
    InitialRow{Initial::log_index, false, log_index},
    InitialRow{Initial::time_step, true, time_step},
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

bool starts_random(const ParameterSpec& parameter) {
    return row(parameter.initial).random;
}

float initial_bound(const ParameterSpec& parameter) {
    if (parameter.initial != Initial::weight) return 0.0F;
    const bool halved = parameter.activation == Activation::relu ||
                        parameter.activation == Activation::silu ||
                        parameter.activation == Activation::gelu;
    return elementary::sqrt((halved ? 6.0F : 3.0F) / static_cast<float>(parameter.fan_in));
}

float initial_value(const ParameterSpec& parameter, std::int64_t index, float uniform) {
    return row(parameter.initial).value({parameter, index, uniform});
}

void fill_initial(const ParameterSpec& parameter, RandomStream& rng, std::span<float> values) {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(values.size()) == parameter.shape.elements());
    if (starts_random(parameter)) rng.fill_uniform(values);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = initial_value(parameter, static_cast<std::int64_t>(i), values[i]);
}

}  // namespace cambrian
