#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

struct RecordedNetwork::State {
    struct Mailbox {
        std::deque<Message> messages;
        std::condition_variable arrived;
        bool silenced = false;
        std::optional<MessageKind> lost;
    };

    explicit State(int size) : mailboxes(static_cast<std::size_t>(size)) {}

    Mailbox& mailbox(int rank) {
        CAMBRIAN_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < mailboxes.size());
        return mailboxes[static_cast<std::size_t>(rank)];
    }

    std::mutex mutex;
    std::deque<Mailbox> mailboxes;
    std::vector<Record> records;
};

namespace {

/// One end; the state is shared with the network so that ends may outlive it.
template <typename State>
class RecordedCommunicator final : public Communicator::Implementation {
  public:
    RecordedCommunicator(std::shared_ptr<State> state, int rank)
        : state_(std::move(state)), rank_(rank) {}

    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(state_->mailboxes.size()); }

    void send(int to, MessageKind kind, Payload payload) override {
        const std::lock_guard lock(state_->mutex);
        auto& target = state_->mailbox(to);
        state_->records.push_back({rank_, to, kind, payload.size()});
        if (target.silenced || state_->mailbox(rank_).silenced || target.lost == kind) {
            return;
        }
        target.messages.push_back({rank_, kind, std::move(payload)});
        target.arrived.notify_one();
    }

    std::size_t unfinished(int to) override {
        const std::lock_guard lock(state_->mutex);
        std::size_t bytes = 0;
        for (const Message& message : state_->mailbox(to).messages) {
            bytes += message.source == rank_ ? message.payload.size() : 0;
        }
        return bytes;
    }

    std::optional<Message> receive(std::chrono::microseconds patience) override {
        std::unique_lock lock(state_->mutex);
        auto& own = state_->mailbox(rank_);
        own.arrived.wait_for(lock, patience, [&] { return !own.messages.empty(); });
        if (own.messages.empty()) {
            return std::nullopt;
        }
        Message message = std::move(own.messages.front());
        own.messages.pop_front();
        return message;
    }

  private:
    std::shared_ptr<State> state_;
    int rank_;
};

}  // namespace

RecordedNetwork::RecordedNetwork(int size) : state_(std::make_shared<State>(size)) {
    CAMBRIAN_ASSERT(size >= 1);
}

RecordedNetwork::~RecordedNetwork() = default;

Communicator RecordedNetwork::communicator(int rank) {
    CAMBRIAN_ASSERT(rank >= 0 && static_cast<std::size_t>(rank) < state_->mailboxes.size());
    return Communicator(std::make_unique<RecordedCommunicator<State>>(state_, rank));
}

std::vector<RecordedNetwork::Record> RecordedNetwork::records() const {
    const std::lock_guard lock(state_->mutex);
    return state_->records;
}

void RecordedNetwork::lose(int rank, MessageKind kind) {
    const std::lock_guard lock(state_->mutex);
    state_->mailbox(rank).lost = kind;
}

void RecordedNetwork::silence(int rank) {
    const std::lock_guard lock(state_->mutex);
    State::Mailbox& mailbox = state_->mailbox(rank);
    mailbox.silenced = true;
    mailbox.messages.clear();
}

}  // namespace cambrian::distributed
