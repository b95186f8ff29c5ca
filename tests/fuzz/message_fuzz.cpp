#include <algorithm>
#include <array>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/tests/fuzz/fuzz.hpp"

// The first byte says of which kind a message of another rank is. Any body, under a checksum that
// is right, is either an error or a message that is written as the same bytes from then on.
namespace cambrian {

namespace {

template <typename Message>
void read_message(std::span<const std::byte> body) {
    const auto decode = [](std::span<const std::byte> frame, std::string_view source) {
        return distributed::decode_message<Message>(frame, source);
    };
    const std::vector<std::byte> first = distributed::encode_message(
        decode(distributed::detail::seal(Message::kind, body), "input"));
    fuzz_expect(distributed::encode_message(decode(first, "copy")) == first);
}

constexpr std::array message_readers{
    read_message<distributed::Handshake>,      read_message<distributed::Request>,
    read_message<distributed::ShardOrder>,     read_message<distributed::RoundEnd>,
    read_message<distributed::RoundRequest>,   read_message<distributed::GenomeRequest>,
    read_message<distributed::GenomeReply>,    read_message<distributed::Heartbeat>,
    read_message<distributed::ShardFailure>,   read_message<distributed::Stop>,
    read_message<distributed::InitialRequest>, read_message<distributed::InitialReply>,
};

}  // namespace

void fuzz_message(std::span<const std::byte> bytes) {
    if (bytes.empty()) return;
    message_readers[std::to_integer<std::size_t>(bytes[0]) % message_readers.size()](
        bytes.subspan(1));
}

}  // namespace cambrian
