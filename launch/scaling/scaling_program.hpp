#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace cambrian::launch {

/// The program `cambrian_scaling` on streams: how well a run would use many ranks. `arguments`
/// without the name of the program. Returns the exit code.
[[nodiscard]] int run_scaling(const std::vector<std::string>& arguments, std::ostream& out,
                              std::ostream& err);

}  // namespace cambrian::launch
