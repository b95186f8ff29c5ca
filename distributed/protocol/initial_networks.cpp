#include "cambrian/distributed/protocol/initial_networks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

namespace cambrian::distributed {

namespace {

constexpr int coordinator_rank = 0;
constexpr const char* source = "the coordinator";
constexpr std::chrono::milliseconds patience{50};

std::vector<evolve::Genome> genomes_of(const InitialReply& reply) {
    if (reply.genomes.empty()) {
        throw ConfigError(
            "rank 0 starts from no network (the config of this rank names one in network.initial) "
            "give all ranks the same config");
    }
    std::vector<evolve::Genome> genomes;
    for (const std::vector<std::byte>& bytes : reply.genomes) {
        genomes.push_back(evolve::decode_genome(bytes, source));
    }
    return genomes;
}

}  // namespace

std::optional<std::vector<evolve::Genome>> receive_initial(Communicator& communicator,
                                                           const std::atomic<int>& interrupt,
                                                           double patience_seconds) {
    send(communicator, coordinator_rank, InitialRequest{});
    auto end = Clock::now() + std::chrono::duration<double>(patience_seconds);
    bool leaving = false;
    while (Clock::now() < end) {
        if (interrupt.load() != 0 && !std::exchange(leaving, true)) {
            end = std::min(end, Clock::now() + std::chrono::duration<double>(farewell_seconds));
        }
        const auto message = communicator.receive(patience);
        if (!message || message->source != coordinator_rank) {
            continue;
        }
        if (message->kind == MessageKind::stop) {
            return std::nullopt;
        }
        if (message->kind == MessageKind::initial) {
            return genomes_of(decode_message<InitialReply>(message->payload, source));
        }
    }
    if (leaving) {
        return std::nullopt;
    }
    throw Error(
        fmt::format("rank 0 has not sent network.initial within {:g} seconds (it died, or still "
                    "reads its data) start the run again",
                    patience_seconds));
}

}  // namespace cambrian::distributed
