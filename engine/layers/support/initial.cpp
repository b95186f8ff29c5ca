#include "cambrian/engine/layers/support/initial.hpp"

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

float bound(const ParameterSpec& parameter) {
    if (parameter.initial != Initial::weight) return 0.0F;
    const bool halved = parameter.activation == Activation::relu ||
                        parameter.activation == Activation::silu ||
                        parameter.activation == Activation::gelu;
    return elementary::sqrt((halved ? 6.0F : 3.0F) / static_cast<float>(parameter.fan_in));
}

std::int64_t period(const ParameterSpec& parameter) {
    switch (period_of(parameter.initial)) {
        case InitialPeriod::none:
            break;
        case InitialPeriod::quarter:
            return parameter.shape.elements() / 4;
        case InitialPeriod::last_axis:
            return parameter.shape[-1];
    }
    return 1;
}

}  // namespace

bool starts_random(const ParameterSpec& parameter) {
    return starts_random(parameter.initial);
}

InitialRule initial_rule(const ParameterSpec& parameter) {
    return {.initial = parameter.initial, .bound = bound(parameter), .period = period(parameter)};
}

void fill_initial(const ParameterSpec& parameter, RandomStream& rng, std::span<float> values) {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(values.size()) == parameter.shape.elements());
    if (starts_random(parameter)) rng.fill_uniform(values);
    const InitialRule rule = initial_rule(parameter);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = initial_value(rule, static_cast<std::int64_t>(i), values[i]);
}

}  // namespace cambrian
