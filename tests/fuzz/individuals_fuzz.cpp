#include <algorithm>

#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// A block whose sections are any bytes, under checksums that are right, is either an input error or
// individuals that are written as the same bytes from then on.
namespace cambrian {

void fuzz_individuals(std::span<const std::byte> bytes) {
    // The first byte says how long the section about the block is; the rest is the columns.
    if (bytes.empty()) return;
    const std::size_t about = std::min(std::to_integer<std::size_t>(bytes[0]), bytes.size() - 1);
    const auto copy = [](std::span<const std::byte> part) {
        return std::vector<std::byte>(part.begin(), part.end());
    };
    Container container{"individuals", {}};
    container.add("about", copy(bytes.subspan(1, about)));
    container.add("columns", copy(bytes.subspan(1 + about)));
    const std::vector<std::byte> first =
        distributed::encode(distributed::decode_individuals(encode(container), "input"));
    fuzz_expect(distributed::encode(distributed::decode_individuals(first, "copy")) == first);
}

}  // namespace cambrian
