#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

// What a shell and `man` are told of the command line, made from the commands and options
// themselves.
namespace cambrian::launch {

/// A script that completes commands and options in bash, zsh or fish. Throws ConfigError for
/// another shell.
[[nodiscard]] std::string completion_script(const CLI::App& program, std::string_view shell);

/// The page cambrian(1), in the macros of man(7).
[[nodiscard]] std::string manual_page(const CLI::App& program);

}  // namespace cambrian::launch
