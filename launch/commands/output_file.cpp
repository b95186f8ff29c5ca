#include "cambrian/launch/commands/output_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::launch {

void refuse_input_as_output(const std::string& output, std::initializer_list<std::string> inputs) {
    for (const std::string& input : inputs) {
        std::error_code none;
        // Of devices and pipes nothing is lost.
        const bool file = std::filesystem::is_regular_file(output, none);
        if (output == input || (file && std::filesystem::equivalent(input, output, none)))
            throw ConfigError(fmt::format(
                "{} would replace what it is made of ({} is the same file) name another", output,
                input));
    }
}

}  // namespace cambrian::launch
