#include "cambrian/launch/convert/rounding_loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace cambrian::launch {
namespace {

constexpr double largest_share = 0.01;

double rounded(double value, const StoredTypeRow& type) {
    std::array<std::byte, sizeof(double)> bytes{};
    type.write(value, bytes.data(), 0);
    return type.read(bytes.data(), 0);
}

double share(std::int64_t part, const RoundingLoss& loss) {
    return static_cast<double>(part) / static_cast<double>(loss.weights);
}

}  // namespace

RoundingLoss rounding_loss(std::span<const float> weights, StoredType type) {
    const StoredTypeRow& stored = row(type);
    // Types with infinities may keep them for what is infinite, and limit all else.
    const double largest = rounded(double{std::numeric_limits<float>::max()}, stored);
    RoundingLoss loss;
    for (const float weight : weights) {
        if (weight == 0.0F) continue;
        const double value = rounded(double{weight}, stored);
        ++loss.weights;
        if (value == 0.0) ++loss.zeros;
        if (!std::isfinite(value) || std::abs(double{weight}) > largest) ++loss.limited;
    }
    return loss;
}

bool is_large(const RoundingLoss& loss) {
    return loss.weights > 0 &&
           (share(loss.zeros, loss) > largest_share || share(loss.limited, loss) > largest_share);
}

RoundingLoss largest_loss(const Network& network, std::span<const float> weights, StoredType type) {
    constexpr std::int64_t smallest = 16;
    RoundingLoss largest;
    for (const WeightRange& range : network.weights()) {
        const RoundingLoss loss =
            rounding_loss(weights.subspan(static_cast<std::size_t>(range.offset),
                                          static_cast<std::size_t>(range.count)),
                          type);
        if (loss.weights < smallest) continue;
        const auto worst = [](const RoundingLoss& of) {
            return of.weights == 0 ? 0.0 : share(std::max(of.zeros, of.limited), of);
        };
        if (worst(loss) > worst(largest)) largest = loss;
    }
    return largest;
}

std::string text(const RoundingLoss& loss) {
    std::string result;
    const auto add = [&](std::int64_t part, const char* what) {
        if (part > 0)
            result += fmt::format("{}{:.3g} % of the weights {}", result.empty() ? "" : ", ",
                                  100.0 * share(part, loss), what);
    };
    add(loss.zeros, "become zero");
    add(loss.limited, "are beyond the largest number");
    return result;
}

}  // namespace cambrian::launch
