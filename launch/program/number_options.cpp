#include "cambrian/launch/program/number_options.hpp"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cambrian/engine/core/number_text.hpp"

namespace cambrian::launch {
namespace {

template <class Integer>
bool is_in_decimals(const std::string& text) {
    const bool negative = text.starts_with('-');
    const bool leading_zero = text.size() > (negative ? 2U : 1U) && text[negative ? 1 : 0] == '0';
    return number_in<Integer>(text).has_value() && !leading_zero;
}

std::string signed_fault(const std::string& text) {
    return is_in_decimals<std::int64_t>(text) ? "" : text + " is no whole number of 64 bits";
}
/// What is no number at all others refuse.
std::string real_fault(const std::string& text) {
    return std::isnan(std::strtod(text.c_str(), nullptr)) ? text + " is no number" : "";
}

CLI::Validator finite(const char* description, bool zero) {
    return CLI::Validator(
        [zero, description](std::string& text) {
            const double value = std::strtod(text.c_str(), nullptr);
            const bool good = std::isfinite(value) && (zero ? value >= 0.0 : value > 0.0);
            return good ? std::string() : text + " is not " + description;
        },
        zero ? "NONNEGATIVE" : "POSITIVE");
}

}  // namespace

std::string whole_number_fault(const std::string& text) {
    if (text.starts_with('-')) return text + " is negative";
    return is_in_decimals<std::uint64_t>(text) ? "" : text + " is no whole number below 2^64";
}

CLI::Validator positive_number() {
    return finite("a number above 0", false);
}

CLI::Validator nonnegative_number() {
    return finite("0 or a number above it", true);
}

CLI::Validator positive_share() {
    return CLI::Validator(
        [](std::string& text) {
            const double value = std::strtod(text.c_str(), nullptr);
            return value > 0.0 && value <= 1.0 ? std::string()
                                               : text + " is not above 0 and at most 1";
        },
        "FLOAT in (0 - 1]");
}

void check_numbers(CLI::App& command) {
    for (CLI::Option* option : command.get_options()) {
        const std::string type = option->get_type_name();
        if (type.starts_with("UINT")) {
            option->check(whole_number_fault);
        } else if (type.starts_with("INT")) {
            option->check(signed_fault);
        } else if (type.starts_with("FLOAT")) {
            option->check(real_fault);
        }
    }
}

}  // namespace cambrian::launch
