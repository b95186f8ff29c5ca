#pragma once

#include <initializer_list>
#include <string>

namespace cambrian::launch {

/// Throws ConfigError when the output names one of the files that a command reads, by whatever
/// path or link.
void refuse_input_as_output(const std::string& output, std::initializer_list<std::string> inputs);

/// Throws ConfigError when the output of a command that tells of runs names a file that a run has
/// written, by whatever path or link: nothing brings that back.
void refuse_file_of_run(const std::string& output);

}  // namespace cambrian::launch
