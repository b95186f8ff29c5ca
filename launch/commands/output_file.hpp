#pragma once

#include <initializer_list>
#include <string>

namespace cambrian::launch {

/// Throws ConfigError when the output names one of the files that a command reads, by whatever
/// path or link.
void refuse_input_as_output(const std::string& output, std::initializer_list<std::string> inputs);

}  // namespace cambrian::launch
