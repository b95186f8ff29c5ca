#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace cambrian::distributed {

/// What a message is about; the payload is a checked frame (message.hpp).
enum class MessageKind : std::uint32_t {
    handshake,  ///< worker → coordinator: version, identity hash, arithmetic fingerprint, host,
                ///< threads.
    request,    ///< worker → coordinator: I have room for a shard (results ride along).
    shard,      ///< coordinator → worker: births to evaluate, and what led to them.
    genome_request,   ///< any rank → any rank: genomes that I lack, by birth.
    genomes,          ///< The answer.
    heartbeat,        ///< worker → coordinator: my lease lives.
    shard_failed,     ///< worker → coordinator: the shard threw; its text.
    stop,             ///< coordinator → worker: the run is over.
    initial_request,  ///< worker → coordinator: which network does the run start from?
    initial,          ///< coordinator → worker: that network.
    round_end,        ///< coordinator → worker → worker: what leads to the next round.
    round_request,    ///< worker → coordinator: I have not heard of the round of my shard.
};

/// The bytes of a message, which never change: what goes to many ranks lies in memory once.
class Payload {
  public:
    Payload() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): it is nothing but these bytes.
    Payload(std::vector<std::byte> bytes)
        : bytes_(std::make_shared<const std::vector<std::byte>>(std::move(bytes))) {}

    [[nodiscard]] std::size_t size() const { return bytes_ ? bytes_->size() : 0; }
    [[nodiscard]] const std::byte* data() const { return bytes_ ? bytes_->data() : nullptr; }
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator std::span<const std::byte>() const { return {data(), size()}; }

  private:
    std::shared_ptr<const std::vector<std::byte>> bytes_;
};

struct Message {
    int source = 0;
    MessageKind kind = MessageKind::handshake;
    Payload payload;
};

/// One rank's end of a network of ranks: a value over a local, recorded or MPI implementation.
/// Point-to-point only; used by one thread.
class Communicator {
  public:
    /// How a kind of network does it.
    class Implementation {
      public:
        virtual ~Implementation() = default;
        [[nodiscard]] virtual int rank() const = 0;
        [[nodiscard]] virtual int size() const = 0;
        virtual void send(int to, MessageKind kind, Payload payload) = 0;
        [[nodiscard]] virtual std::optional<Message> receive(
            std::chrono::microseconds patience) = 0;
        [[nodiscard]] virtual std::size_t unfinished(int /*to*/) { return 0; }
        virtual void push(MessageKind, std::chrono::microseconds /*patience*/) {}
    };

    explicit Communicator(std::unique_ptr<Implementation> implementation)
        : implementation_(std::move(implementation)) {}

    [[nodiscard]] int rank() const { return implementation_->rank(); }
    [[nodiscard]] int size() const { return implementation_->size(); }
    /// Returns at once; keeps the payload until it is delivered or the peer is given up.
    void send(int to, MessageKind kind, Payload payload) {
        implementation_->send(to, kind, std::move(payload));
    }
    /// Bytes of payloads to a rank that are still kept; 0 where a network does not say.
    [[nodiscard]] std::size_t unfinished(int to) { return implementation_->unfinished(to); }
    /// The next message from anyone, waiting up to `patience` without burning a core. Those of one
    /// rank come in the order in which it sent them.
    [[nodiscard]] std::optional<Message> receive(std::chrono::microseconds patience) {
        return implementation_->receive(patience);
    }
    /// Sees to it, for a short while at most, that messages of a kind that were just sent leave:
    /// MPI moves a long message while both ranks are in a call of it. For a rank that will not look
    /// for messages for some time.
    void push(MessageKind kind) {
        constexpr std::chrono::microseconds patience{2000};
        implementation_->push(kind, patience);
    }

  private:
    std::unique_ptr<Implementation> implementation_;
};

/// A network of one: nothing to send to.
[[nodiscard]] Communicator make_local_communicator();

/// In-process ranks connected by queues, for tests without mpirun: every message is recorded, and a
/// rank can be silenced (as if killed) at any moment.
class RecordedNetwork {
  public:
    explicit RecordedNetwork(int size);
    ~RecordedNetwork();
    [[nodiscard]] Communicator communicator(int rank);
    struct Record {
        int source = 0;
        int target = 0;
        MessageKind kind{};
        std::size_t bytes = 0;
    };
    [[nodiscard]] std::vector<Record> records() const;
    /// From now on messages of a kind do not arrive at this rank.
    void lose(int rank, MessageKind kind);
    /// From now on nothing sent by or to this rank arrives.
    void silence(int rank);

  private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace cambrian::distributed
