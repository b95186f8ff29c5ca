#include "cambrian/launch/convert/tensor_conversion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/nearest.hpp"

namespace cambrian::launch {
namespace {

struct Rule {
    std::string from;
    std::string to;
};

Rule read_rule(const std::string& text) {
    const std::size_t middle = text.find('=');
    if (middle == std::string::npos || text.size() == 1)
        throw ConfigError(
            fmt::format("--rename is {} (it says FROM=TO) write it like fc1=slot.0", text));
    return {text.substr(0, middle), text.substr(middle + 1)};
}

/// The new name, or nothing where the rule does not fit.
std::optional<std::string> renamed(const std::string& name, const Rule& rule) {
    if (rule.from.empty()) return rule.to + "." + name;
    if (name == rule.from) return rule.to;
    if (!name.starts_with(rule.from + ".")) return std::nullopt;
    const std::size_t rest = rule.from.size() + (rule.to.empty() ? 1 : 0);
    return rule.to + name.substr(rest);
}

[[noreturn]] void fits_nothing(const Safetensors& content, const Rule& rule,
                               std::string_view source) {
    std::vector<std::string> names;
    std::string list;
    for (const auto& [name, tensor] : content.tensors) {
        names.push_back(name);
        list += (list.empty() ? "" : ", ") + name;
    }
    const auto near = nearest(rule.from, names);
    throw ConfigError(fmt::format("--rename {}={} fits no tensor ({} has: {}) {}", rule.from,
                                  rule.to, source, list.empty() ? "none" : list,
                                  near
                                      ? fmt::format("did you mean {}?", *near)
                                      : std::string("name one of these, or what is before a dot")));
}

}  // namespace

void rename(Safetensors& content, std::span<const std::string> rules, std::string_view source) {
    for (const std::string& text : rules) {
        const Rule rule = read_rule(text);
        bool fits = false;
        decltype(content.tensors) result;
        for (auto& [name, tensor] : content.tensors) {
            const auto other = renamed(name, rule);
            fits = fits || other;
            const std::string& now = other ? *other : name;
            if (result.contains(now))
                throw ConfigError(fmt::format(
                    "--rename {} gives two tensors of {} the name {} (names tell tensors apart) "
                    "rename the other one first",
                    text, source, now));
            result.emplace(now, tensor);
        }
        if (!fits) fits_nothing(content, rule, source);
        content.tensors = std::move(result);
    }
}

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
