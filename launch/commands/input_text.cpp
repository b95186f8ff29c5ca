#include "cambrian/launch/commands/input_text.hpp"

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <vector>

#include "cambrian/engine/io/container.hpp"

namespace cambrian::launch {

std::string read_text(const std::string& path) {
    constexpr std::uint64_t longest_text = std::uint64_t{2} << 30U;
    if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
    const std::vector<std::byte> bytes = read_file(path, longest_text);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace cambrian::launch
