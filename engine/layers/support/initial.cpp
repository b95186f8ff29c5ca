#include "cambrian/engine/layers/support/initial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

/// sqrt(a / b) of counts and small squares.
float root(float a, float b) {
    return elementary::sqrt(a / b);
}

/// Inputs of an output, and outputs of an input.
struct Fans {
    float in;
    float out;
    explicit Fans(const ParameterSpec& parameter) : in(static_cast<float>(parameter.fan_in)) {
        std::int64_t places = 1;
        for (int axis = 2; axis < parameter.shape.rank(); ++axis) places *= parameter.shape[axis];
        out = static_cast<float>(parameter.shape.elements() * places) / in;
    }
};

struct Matrix {
    std::int64_t rows;
    std::int64_t columns;
    explicit Matrix(const Shape& shape)
        : rows(shape[0]), columns(shape[0] == 0 ? 0 : shape.elements() / shape[0]) {}
    [[nodiscard]] std::int64_t longer() const { return std::max(rows, columns); }
};

bool has_rule(const ParameterSpec& parameter) {
    return parameter.initial == Initial::weight && parameter.rules.init != InitRule::standard;
}

InitialRule uniform(float bound) {
    return {.initial = Initial::weight, .bound = bound};
}
InitialRule normal(float deviation) {
    return {.initial = Initial::normal, .bound = deviation};
}

/// The rule of a weight: what elements start with one by one.
InitialRule rule_of_weight(const ParameterSpec& parameter) {
    const float gain = info_of(parameter.activation).rectifier ? 2.0F : 1.0F;
    const auto in = static_cast<float>(parameter.fan_in);
    const float scale = parameter.rules.init_scale;
    switch (parameter.rules.init) {
        case InitRule::standard:
        case InitRule::kaiming_uniform:
        case InitRule::scaled:
            return uniform(scale * root(3.0F * gain, in));
        case InitRule::kaiming_normal:
            return normal(scale * root(gain, in));
        case InitRule::xavier_uniform:
            return uniform(scale * root(6.0F, in + Fans(parameter).out));
        case InitRule::xavier_normal:
            return normal(scale * root(2.0F, in + Fans(parameter).out));
        case InitRule::orthogonal:
            return normal(scale * root(1.0F, static_cast<float>(Matrix(parameter.shape).longer())));
        case InitRule::normal:
            return normal(scale);
        case InitRule::zeros:
            return {};
        case InitRule::constant:
            return {.initial = Initial::constant, .bound = scale};
    }
    return {};
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

/// Vectors of equal length one after another.
class Vectors {
  public:
    Vectors(std::int64_t count, std::int64_t length)
        : length_(length), values_(static_cast<std::size_t>(count * length)) {}

    double& at(std::int64_t vector, std::int64_t i) {
        return values_[static_cast<std::size_t>(vector * length_ + i)];
    }

    /// Takes from each what it has of those before it, twice, for the first time leaves what was
    /// rounded away; then makes its length 1. One that has nothing of its own becomes an axis.
    void orthonormalise() {
        const std::int64_t count = static_cast<std::int64_t>(values_.size()) / length_;
        for (std::int64_t vector = 0; vector < count; ++vector)
            for (std::int64_t axis = 0; !has_length(vector, axis); ++axis)
                for (std::int64_t i = 0; i < length_; ++i) at(vector, i) = i == axis ? 1.0 : 0.0;
    }

  private:
    double product(std::int64_t a, std::int64_t b) {
        constexpr std::int64_t lanes = 8;  // Sums of their own, which need not wait for each other.
        std::array<double, lanes> sums{};
        for (std::int64_t i = 0; i < length_; ++i)
            sums[static_cast<std::size_t>(i % lanes)] += at(a, i) * at(b, i);
        double sum = 0.0;
        for (const double part : sums) sum += part;
        return sum;
    }
    bool has_length(std::int64_t vector, std::int64_t axis) {
        constexpr double least = 1e-6;
        CAMBRIAN_ASSERT(axis <= length_);
        const double before = std::sqrt(product(vector, vector));
        for (int pass = 0; pass < 2; ++pass)
            for (std::int64_t other = 0; other < vector; ++other) {
                const double share = product(vector, other);
                for (std::int64_t i = 0; i < length_; ++i) at(vector, i) -= share * at(other, i);
            }
        const double length = std::sqrt(product(vector, vector));
        if (!(length > least * before)) return false;
        for (std::int64_t i = 0; i < length_; ++i) at(vector, i) /= length;
        return true;
    }

    std::int64_t length_;
    std::vector<double> values_;
};

}  // namespace

bool starts_random(const ParameterSpec& parameter) {
    return starts_random(initial_rule(parameter).initial);
}

bool starts_whole(const ParameterSpec& parameter) {
    return has_rule(parameter) && parameter.rules.init == InitRule::orthogonal;
}

InitialRule initial_rule(const ParameterSpec& parameter) {
    if (parameter.initial == Initial::weight) return rule_of_weight(parameter);
    return {.initial = parameter.initial, .bound = 0.0F, .period = period(parameter)};
}

void initial_from_uniforms(const ParameterSpec& parameter, std::span<float> values) {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(values.size()) == parameter.shape.elements());
    const InitialRule rule = initial_rule(parameter);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = initial_value(rule, static_cast<std::int64_t>(i), values[i]);
    if (starts_whole(parameter) && !values.empty())
        make_orthogonal(parameter.shape, parameter.rules.init_scale, values);
}

void fill_initial(const ParameterSpec& parameter, RandomStream& rng, std::span<float> values) {
    if (starts_random(parameter)) rng.fill_uniform(values);
    initial_from_uniforms(parameter, values);
}

void make_orthogonal(const Shape& shape, float scale, std::span<float> values) {
    const Matrix matrix(shape);
    const bool by_rows = matrix.rows <= matrix.columns;
    Vectors vectors(std::min(matrix.rows, matrix.columns), matrix.longer());
    const auto each = [&](const auto& f) {
        for (std::int64_t row = 0; row < matrix.rows; ++row)
            for (std::int64_t column = 0; column < matrix.columns; ++column)
                f(values[static_cast<std::size_t>(row * matrix.columns + column)],
                  vectors.at(by_rows ? row : column, by_rows ? column : row));
    };
    each([](float value, double& element) { element = static_cast<double>(value); });
    vectors.orthonormalise();
    each([scale](float& value, double element) { value = scale * static_cast<float>(element); });
}

}  // namespace cambrian
