#include <fmt/core.h>

#include <cstring>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/little_endian.hpp"

// The frame of a message.
namespace cambrian::distributed::detail {

namespace {

using little_endian::get;
using little_endian::put;

constexpr std::uint32_t frame_magic = 0x474D4243;  // "CBMG"
constexpr std::uint32_t frame_version = 19;
constexpr std::size_t header_bytes = 32;

[[noreturn]] void refuse(std::string_view source, std::string_view why) {
    throw InputError(fmt::format(
        "a message from {} cannot be read ({}) check that every rank runs the same program", source,
        why));
}

}  // namespace

std::vector<std::byte> seal(MessageKind kind, std::span<const std::byte> body) {
    std::vector<std::byte> frame(header_bytes + body.size());
    std::byte* at = frame.data();
    put(at, frame_magic);
    put(at, frame_version);
    put(at, static_cast<std::uint32_t>(kind));
    put(at, std::uint32_t{0});
    put(at, static_cast<std::uint64_t>(body.size()));
    put(at, hash64(body, static_cast<std::uint64_t>(kind)));
    if (!body.empty()) {
        std::memcpy(at, body.data(), body.size());
    }
    return frame;
}

std::span<const std::byte> unseal(MessageKind kind, std::span<const std::byte> payload,
                                  std::string_view source) {
    if (payload.size() < header_bytes) {
        refuse(source, "it is shorter than a frame");
    }
    const std::byte* at = payload.data();
    if (get<std::uint32_t>(at) != frame_magic) {
        refuse(source, "it is no frame");
    }
    if (get<std::uint32_t>(at) != frame_version) {
        refuse(source, "its frame has another version");
    }
    if (get<std::uint32_t>(at) != static_cast<std::uint32_t>(kind)) {
        refuse(source, "it is of another kind than announced");
    }
    if (get<std::uint32_t>(at) != 0) {
        refuse(source, "its frame has unknown flags");
    }
    const auto length = get<std::uint64_t>(at);
    const auto checksum = get<std::uint64_t>(at);
    const std::span<const std::byte> body = payload.subspan(header_bytes);
    if (length != body.size()) {
        refuse(source, fmt::format("it has {} bytes, its frame says {}", body.size(), length));
    }
    if (checksum != hash64(body, static_cast<std::uint64_t>(kind))) {
        refuse(source, "its checksum is wrong");
    }
    return body;
}

}  // namespace cambrian::distributed::detail
