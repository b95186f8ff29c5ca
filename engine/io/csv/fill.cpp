#include "cambrian/engine/io/csv/fill.hpp"

#include <algorithm>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

std::optional<double> fill_value(std::vector<double> values, MissingValues missing) {
    CAMBRIAN_EXPECT(fills(missing));
    if (values.empty()) return std::nullopt;
    if (missing == MissingValues::mean) {
        double sum = 0.0;
        for (const double value : values) sum += value;
        return sum / static_cast<double>(values.size());
    }
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : 0.5 * values[half - 1] + 0.5 * values[half];
}

}  // namespace cambrian
