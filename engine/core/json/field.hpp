#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace cambrian {

/// The numbers that a setting takes.
struct FieldRange {
    double min = 0.0;
    double max = 0.0;
    bool above = false;  ///< Not `min` itself.
    bool below = false;  ///< Not `max` itself.

    [[nodiscard]] constexpr bool contains(double number) const {
        const bool low = above ? number > min : number >= min;
        return low && (below ? number < max : number <= max);
    }
};
/// A number that stands for "any": ranges up to it name no upper end.
inline constexpr double largest_setting = 1e30;
inline constexpr FieldRange positive{0.0, largest_setting, true, false};
/// Positive in float32, too, where others would be 0, or be taken for 0 by a device.
inline constexpr FieldRange representable{1.2e-38, largest_setting, false, false};
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

    /// The same of a member that a struct got when files of it existed, with the n-th addition to
    /// that struct. JSON leaves it out where it is as initialised; archives and hashes of a layer
    /// have the members of all additions up to the last one of which it uses any (later_used). So
    /// what does not use an addition keeps its bytes.
    [[nodiscard]] constexpr Field later(int n = 1) const {
        Field copy = *this;
        copy.addition = n;
        return copy;
    }

    std::string_view name;
    Value Settings::*member;
    std::string_view meaning;  ///< What name, type and allowed values leave open.
    std::optional<FieldRange> range{};
    int addition = 0;  ///< Which one brought it; 0: it was there from the first.
};

namespace detail {

template <class... Rows>
[[nodiscard]] constexpr auto hold(Rows... rows) {
    return [rows...](auto&& f) { return f(rows...); };
}

}  // namespace detail

/// The table `fields` of a struct: fields(f) calls f with all rows, each of a type of its own. A
/// closure holds them, since compilers take far longer for a std::tuple of each struct.
template <class Held>
struct FieldTable : Held {
    template <class... Rows>
    constexpr explicit FieldTable(Rows... rows) : Held(detail::hold(rows...)) {}
};
template <class... Rows>
FieldTable(Rows...) -> FieldTable<decltype(detail::hold(std::declval<Rows>()...))>;

/// Whether a struct has members that came later.
template <class Settings>
inline constexpr bool has_later = Settings::fields([](const auto&... field) {
    return ((field.addition > 0) || ...);
});

/// The last addition of which a member is not as initialised; 0: none.
template <class Settings>
[[nodiscard]] int later_used(const Settings& settings) {
    int last = 0;
    if constexpr (has_later<Settings>) {
        const Settings initial{};
        const auto look = [&](const auto& field) {
            if (field.addition > last && settings.*field.member != initial.*field.member)
                last = field.addition;
        };
        Settings::fields([&](const auto&... field) { (look(field), ...); });
    }
    return last;
}

}  // namespace cambrian
