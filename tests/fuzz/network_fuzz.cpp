#include <algorithm>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// A file whose sections are any bytes, under checksums that are right, is either an input error or
// a network that is written as the same bytes from then on.
namespace cambrian {

void fuzz_network(std::span<const std::byte> bytes) {
    // The first two bytes say how long the section about the run is; the rest is the genome.
    constexpr std::size_t prefix = 2;
    if (bytes.size() < prefix) return;
    const std::size_t wanted =
        std::to_integer<std::size_t>(bytes[0]) + 256 * std::to_integer<std::size_t>(bytes[1]);
    const std::size_t about = std::min(wanted, bytes.size() - prefix);
    const auto copy = [](std::span<const std::byte> part) {
        return std::vector<std::byte>(part.begin(), part.end());
    };
    Container container{"network", {}};
    container.add("about", copy(bytes.subspan(prefix, about)));
    container.add("genome", copy(bytes.subspan(prefix + about)));
    const std::vector<std::byte> file = encode(container);
    try {
        const std::vector<std::byte> first =
            distributed::encode(distributed::decode_network(file, "input"));
        fuzz_expect(distributed::encode(distributed::decode_network(first, "copy")) == first);
    } catch (const ShapeError&) {
        fuzz_expect(false);
    }
}

}  // namespace cambrian
