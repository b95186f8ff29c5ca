#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iostream>
#include <optional>
#include <vector>

#include "cambrian/distributed/communicator/mpi_session.hpp"

// Messages longer than a count of MPI's, which ends at 2^31 - 1, and here at 7: rank 1 sends back
// what rank 0 sends, in its order and with all its bytes.
namespace cambrian::distributed {
namespace {

constexpr int largest_count = 7;
constexpr std::array<std::size_t, 9> lengths{0, 1, 6, 7, 8, 14, 15, 1000, 1'000'000};

std::vector<std::byte> bytes_of(std::size_t length) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i) {
        bytes[i] = static_cast<std::byte>((i * 131 + length) >> 3U);
    }
    return bytes;
}

bool arrives(Communicator& communicator, std::size_t length) {
    const std::optional<Message> message = communicator.receive(std::chrono::seconds(20));
    const std::vector<std::byte> expected = bytes_of(length);
    if (message && message->payload.size() == length &&
        std::equal(expected.begin(), expected.end(), message->payload.data())) {
        return true;
    }
    std::cerr << "rank " << communicator.rank() << ": " << length << " bytes did not arrive\n";
    return false;
}

int exchange() {
    MpiSession session(60.0, "");
    Communicator communicator = make_mpi_communicator(largest_count);
    const bool first = communicator.rank() == 0;
    if (first) {
        for (const std::size_t length : lengths) {
            communicator.send(1, MessageKind::shard, bytes_of(length));
        }
    }
    for (const std::size_t length : lengths) {
        if (!arrives(communicator, length)) {
            session.set_exit_code(1);
            return 1;
        }
        if (!first) {
            communicator.send(0, MessageKind::genomes, bytes_of(length));
        }
    }
    return 0;
}

}  // namespace
}  // namespace cambrian::distributed

int main() {
    return cambrian::distributed::exchange();
}
