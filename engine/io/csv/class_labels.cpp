#include "cambrian/engine/io/csv/class_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <string_view>

#include "cambrian/engine/io/csv/csv.hpp"

namespace cambrian {
namespace {

template <class Value>
void keep_different(std::vector<Value>& values) {
    std::ranges::sort(values);
    const auto repeated = std::ranges::unique(values);
    values.erase(repeated.begin(), repeated.end());
}

/// Digits that a number does not keep: after zeros, or more of them than fit. Such a label is a
/// code: 007 is not 7.
bool is_code(std::string_view cell) {
    if (cell.starts_with('-')) cell.remove_prefix(1);
    const bool digits = std::ranges::all_of(cell, [](char c) { return c >= '0' && c <= '9'; });
    constexpr std::size_t kept = std::numeric_limits<double>::digits10;
    return digits && ((cell.size() > 1 && cell.front() == '0') || cell.size() > kept);
}

template <class Value>
std::optional<std::size_t> place_of(const std::vector<Value>& values, const Value& value) {
    const auto found = std::ranges::lower_bound(values, value);
    if (found == values.end() || *found != value) return std::nullopt;
    return static_cast<std::size_t>(found - values.begin());
}

}  // namespace

std::string ClassLabels::name(std::size_t index) const {
    return texts.empty() ? fmt::format("{}", numbers[index]) : texts[index];
}

std::optional<std::size_t> ClassLabels::find(const std::string& cell) const {
    if (!texts.empty()) return place_of(texts, cell);
    const auto number = csv_number(cell);
    return number ? place_of(numbers, *number) : std::nullopt;
}

ClassLabels class_labels(std::span<const std::string> cells, std::optional<double> ignored) {
    ClassLabels labels;
    bool numeric = true;
    for (const std::string& cell : cells) {
        const auto number = csv_number(cell);
        if (number && number == ignored) continue;
        numeric = numeric && number.has_value() && !is_code(cell);
        if (numeric) labels.numbers.push_back(*number);
        labels.texts.push_back(cell);
    }
    if (numeric) labels.texts.clear();
    keep_different(labels.texts);
    if (!numeric) {
        labels.numbers.resize(labels.texts.size());
        std::iota(labels.numbers.begin(), labels.numbers.end(), 0.0);
    }
    keep_different(labels.numbers);
    return labels;
}

}  // namespace cambrian
