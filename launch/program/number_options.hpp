#pragma once

#include <CLI/CLI.hpp>
#include <string>

// What options take as numbers, besides what their own ranges say.
namespace cambrian::launch {

/// Above 0, and finite.
[[nodiscard]] CLI::Validator positive_number();
/// 0 or above, and finite.
[[nodiscard]] CLI::Validator nonnegative_number();
/// Above 0 and at most 1.
[[nodiscard]] CLI::Validator positive_share();

/// Why a text is no whole number in decimals, or an empty text: for options whose kind of value
/// has a name of its own.
[[nodiscard]] std::string whole_number_fault(const std::string& text);

/// Has all options of a command refuse what is read as another number than it says: whole ones
/// that are not written in decimals (010, 0x10), have a sign where there is none or are beyond
/// their type, and numbers that are none (nan).
void check_numbers(CLI::App& command);

}  // namespace cambrian::launch
