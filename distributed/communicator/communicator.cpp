#include "cambrian/distributed/communicator/communicator.hpp"

#include <thread>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

namespace {

class LocalCommunicator final : public Communicator::Implementation {
  public:
    int rank() const override { return 0; }
    int size() const override { return 1; }
    void send(int, MessageKind, Payload) override {
        CAMBRIAN_ASSERT(false && "a network of one has nobody to send to");
    }
    std::optional<Message> receive(std::chrono::microseconds patience) override {
        std::this_thread::sleep_for(patience);
        return std::nullopt;
    }
};

}  // namespace

Communicator make_local_communicator() {
    return Communicator(std::make_unique<LocalCommunicator>());
}

}  // namespace cambrian::distributed
