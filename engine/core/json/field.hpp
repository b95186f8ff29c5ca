#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

namespace cambrian {

/// The numbers that a setting takes.
struct FieldRange {
    double min = 0.0;
    double max = 0.0;
    bool above = false;  ///< Not `min` itself.
    bool below = false;  ///< Not `max` itself.
};
/// A number that stands for "any": ranges up to it name no upper end.
inline constexpr double largest_setting = 1e30;
inline constexpr FieldRange positive{0.0, largest_setting, true, false};
inline constexpr FieldRange not_negative{0.0, largest_setting, false, false};
inline constexpr FieldRange from_zero_to_one{0.0, 1.0, false, false};
inline constexpr FieldRange below_one{0.0, 1.0, false, true};

/// Counts and widths reach so far unless a field says otherwise: large enough for any use, small
/// enough that no weight count overflows.
inline constexpr std::int64_t largest_count = std::int64_t{1} << 24U;

/// One row of the table `fields` of a struct of settings (or of a layer): the name of a member in
/// JSON, archives and documentation. Its default is what the member is initialised with, and
/// stands nowhere else.
template <class Settings, class Value>
struct Field {
    constexpr Field(std::string_view key, Value Settings::*place, std::string_view text = {})
        : name(key), member(place), meaning(text) {}
    constexpr Field(std::string_view key, Value Settings::*place, const FieldRange& numbers,
                    std::string_view text = {})
        : name(key), member(place), meaning(text), range(numbers) {}

    /// The same of a member that a struct got when files of it existed. JSON leaves it out where it
    /// is as initialised; archives and hashes of a layer leave out all such members unless one of
    /// the layer's own is not. So what does not use them keeps its bytes.
    [[nodiscard]] constexpr Field later() const {
        Field copy = *this;
        copy.is_later = true;
        return copy;
    }

    std::string_view name;
    Value Settings::*member;
    std::string_view meaning;  ///< What name, type and allowed values leave open.
    std::optional<FieldRange> range{};
    bool is_later = false;
};

/// Whether a struct has members that came later.
template <class Settings>
inline constexpr bool has_later =
    std::apply([](const auto&... field) { return (field.is_later || ...); }, Settings::fields);

/// Whether a member that came later is not as initialised.
template <class Settings>
[[nodiscard]] bool uses_later(const Settings& settings) {
    if constexpr (has_later<Settings>) {
        const Settings initial{};
        return std::apply(
            [&](const auto&... field) {
                return ((field.is_later && settings.*field.member != initial.*field.member) || ...);
            },
            Settings::fields);
    } else {
        return false;
    }
}

}  // namespace cambrian
