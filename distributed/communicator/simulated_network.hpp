#pragma once

#include <functional>
#include <memory>

#include "cambrian/distributed/communicator/communicator.hpp"

namespace cambrian::distributed {

/// What a simulated network takes, in seconds and bytes. Every rank has one link to all others.
struct NetworkCosts {
    double latency = 2e-6;       ///< Until a byte that left a link is at another one.
    double bandwidth = 1e10;     ///< Bytes in a second, in each direction.
    double per_message = 1e-6;   ///< Of a processor, at both ends.
    double late_wakeup = 50e-6;  ///< A rank that sleeps wakes so much later than it wanted to.
    /// Processors that the threads of all ranks share while they talk; 0: each has its own.
    int processors = 0;
};

/// Ranks in one process, in virtual time (engine/core/clock.hpp). One runs at a time, that with the
/// earliest clock; what it computes takes the processor time that it took here, what it sleeps
/// costs nothing. So what a run does is what its ranks would do on machines of their own.
class SimulatedNetwork {
  public:
    SimulatedNetwork(int size, const NetworkCosts& costs);
    ~SimulatedNetwork();
    SimulatedNetwork(const SimulatedNetwork&) = delete;
    SimulatedNetwork& operator=(const SimulatedNetwork&) = delete;

    /// Runs every rank to its end, all on this thread. Once. Rethrows what the lowest rank threw.
    /// Throws DeviceError before any begins: there is no memory for their stacks.
    void run(const std::function<void(Communicator& communicator)>& rank);

  private:
    class Rank;
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian::distributed
