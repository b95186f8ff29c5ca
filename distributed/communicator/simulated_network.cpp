#include "cambrian/distributed/communicator/simulated_network.hpp"

#include <time.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cambrian/distributed/communicator/fiber.hpp"
#include "cambrian/distributed/communicator/polling.hpp"
#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

namespace {

using Time = Clock::time_point;
using std::chrono::microseconds;

/// A rank that spins looks for messages this often.
constexpr microseconds look{1};

/// What this thread computes, in time: what passes, without what the system gives to others. The
/// system is asked where others can have been, which takes as long as to handle a small message.
class Stopwatch {
  public:
    void restart() {
        begun_ = std::chrono::steady_clock::now();
        if (begun_ - marked_ > longest_unmarked) {
            mark();
            begun_ = std::chrono::steady_clock::now();
        }
    }
    /// Too much where the system has others run in between.
    [[nodiscard]] Clock::duration estimate() const {
        return std::chrono::steady_clock::now() - begun_;
    }
    [[nodiscard]] Clock::duration exact() const {
        const Clock::duration passed = estimate();
        if (passed < shortest_turn) return passed;
        const Clock::duration computed = processor_time() - account_ - (begun_ - marked_);
        return std::clamp(computed, Clock::duration{0}, passed);
    }

  private:
    /// No system lets another program have a processor for less.
    static constexpr microseconds shortest_turn{20};
    static constexpr microseconds longest_unmarked{1000};

    static Clock::duration processor_time() {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    }
    void mark() {
        account_ = processor_time();
        marked_ = std::chrono::steady_clock::now();
    }

    Time begun_{};
    Time marked_{};              ///< When the system was asked last,
    Clock::duration account_{};  ///< and what it said.
};

}  // namespace

/// What all ranks share.
struct SimulatedNetwork::State {
    explicit State(const NetworkCosts& all_costs) : costs(all_costs) {}

    NetworkCosts costs;
    std::vector<std::unique_ptr<Rank>> ranks;
    std::set<std::pair<Time, int>> waiting;  ///< Who goes on when.
    std::vector<Time> processors;            ///< When each is free; none: they are not shared.
    Fiber* thread = nullptr;                 ///< Goes on when all have come to their ends.
    Stopwatch stopwatch;                     ///< Of the rank that runs.
};

/// One rank: its clock, its link and what has been sent to it.
class SimulatedNetwork::Rank final : public VirtualTime {
  public:
    Rank(State& state, int rank) : state_(state), rank_(rank), local_(std::chrono::hours(1)) {
        wait_until(local_);
    }

    [[nodiscard]] int rank() const { return rank_; }
    [[nodiscard]] int size() const { return static_cast<int>(state_.ranks.size()); }

    /// Says what it does when its first turn has come.
    void prepare(std::function<void(Rank& self)> body) {
        fiber_.emplace([this, body = std::move(body)]() -> Fiber& {
            go_on();
            body(*this);
            return state_.waiting.empty() ? *state_.thread : first(state_);
        });
    }
    /// Whoever has the next turn.
    static Fiber& first(const State& state) {
        return *state.ranks[static_cast<std::size_t>(state.waiting.begin()->second)]->fiber_;
    }

    // VirtualTime
    [[nodiscard]] Time now() const override { return local_ + state_.stopwatch.estimate(); }
    void sleep(Clock::duration time) override {
        settle();
        if (beside_) {
            local_ += time;
        } else {
            pause(local_ + time);
        }
    }
    [[nodiscard]] Clock::duration worked() override {
        settle();
        return worked_;
    }
    [[nodiscard]] Time beside(Time start, const std::function<void()>& task) override {
        CAMBRIAN_EXPECT(!beside_);
        settle();
        const Time here = local_;
        beside_ = true;
        local_ = std::max(start, here);
        task();
        settle();
        beside_ = false;
        return std::exchange(local_, here);
    }

    // Communicator
    void send(int to, MessageKind kind, Payload payload) {
        CAMBRIAN_EXPECT(!beside_ && to >= 0 && to < size());
        settle();
        pass(state_.costs.per_message);
        const Clock::duration transfer =
            duration_of(static_cast<double>(payload.size()) / state_.costs.bandwidth);
        link_out_ = std::max(link_out_, local_) + transfer;
        state_.ranks[static_cast<std::size_t>(to)]->arrive(
            link_out_ + duration_of(state_.costs.latency), transfer,
            {rank_, kind, std::move(payload)});
        state_.stopwatch.restart();  // What stands in for a network is no work of the rank.
    }

    std::optional<Message> receive(microseconds patience) {
        CAMBRIAN_EXPECT(!beside_);
        settle();
        const Time end = local_ + patience;
        if (!arrivals_.empty() && delivery() <= local_) {
            // What others say meanwhile is here later: between ranks no order is promised.
            return take_message();
        }
        pause(local_);  // Others may have something to say before now.
        for (;;) {
            const Time time = local_;
            if (!arrivals_.empty() && delivery() <= time) {
                return take_message();
            }
            if (time >= end) {
                return std::nullopt;
            }
            looking_since_ = time;
            looking_ = true;
            pause(arrivals_.empty() ? end : std::min(end, noticed(delivery())));
            looking_ = false;
        }
    }

  private:
    struct Arrival {
        Clock::duration transfer;
        Message message;
    };

    /// Its clock shows `local_` again.
    void settle() {
        const Clock::duration computed = state_.stopwatch.exact();
        local_ += computed;
        if (!beside_) {
            worked_ += computed;
        }
        state_.stopwatch.restart();
    }
    /// A cost that is not measured.
    void pass(double seconds) {
        local_ += duration_of(seconds);
        worked_ += duration_of(seconds);
    }

    void arrive(Time time, Clock::duration transfer, Message message) {
        arrivals_.emplace(time, Arrival{transfer, std::move(message)});
        if (looking_) {
            wait_until(std::min(wake_, noticed(delivery())));
        }
    }
    /// When the first message is here: one comes after the other.
    [[nodiscard]] Time delivery() const {
        const auto& [time, arrival] = *arrivals_.begin();
        return std::max(time, link_in_ + arrival.transfer);
    }
    Message take_message() {
        link_in_ = delivery();
        Message message = std::move(arrivals_.begin()->second.message);
        arrivals_.erase(arrivals_.begin());
        pass(state_.costs.per_message);
        last_activity_ = local_;
        state_.stopwatch.restart();
        return message;
    }
    /// When a rank that looks now and then sees what has come at a time.
    [[nodiscard]] Time noticed(Time time) const {
        Time seen = looking_since_;
        while (seen < time) {
            const auto idle = std::chrono::duration_cast<microseconds>(seen - last_activity_);
            const microseconds rest = pause_after(idle, 0);
            if (rest == pause_after(std::chrono::hours(1), 0)) {
                const Clock::duration step = rest + duration_of(state_.costs.late_wakeup);
                return seen + ((time - seen + step - Clock::duration(1)) / step) * step;
            }
            seen += rest == microseconds{0} ? look : rest + duration_of(state_.costs.late_wakeup);
        }
        return seen;
    }

    /// Has others run until it is its turn at a time, or earlier where a message came that it looks
    /// for. To be settled before.
    void pause(Time time) {
        if (processor_ != nullptr) {
            *processor_ = local_;
        }
        wait_until(time);
        if (state_.waiting.begin()->second != rank_) {
            VirtualTime* const own = VirtualTime::exchange(nullptr);
            fiber_->switch_to(first(state_));
            VirtualTime::exchange(own);
        }
        go_on();
    }
    void wait_until(Time time) {
        state_.waiting.erase({wake_, rank_});
        wake_ = time;
        state_.waiting.insert({wake_, rank_});
    }
    void go_on() {
        state_.waiting.erase({wake_, rank_});
        Time time = wake_;
        if (!state_.processors.empty()) {
            processor_ = &*std::ranges::min_element(state_.processors);
            time = std::max(time, *processor_);
        }
        local_ = time;
        state_.stopwatch.restart();
    }

    State& state_;
    int rank_;
    std::optional<Fiber> fiber_;
    Clock::duration worked_{};
    // Its clock shows `local_`, and what it has computed since then.
    Time local_;
    bool beside_ = false;
    Time* processor_ = nullptr;  ///< On which it runs, where they are shared.
    Time wake_{};
    // It looks for messages while it waits.
    bool looking_ = false;
    Time looking_since_{};
    Time last_activity_{};
    std::multimap<Time, Arrival> arrivals_;
    // When its link is free.
    Time link_in_{};
    Time link_out_{};
};

namespace {

template <class Rank>
class SimulatedCommunicator final : public Communicator::Implementation {
  public:
    explicit SimulatedCommunicator(Rank& rank) : rank_(rank) {}
    int rank() const override { return rank_.rank(); }
    int size() const override { return rank_.size(); }
    void send(int to, MessageKind kind, Payload payload) override {
        rank_.send(to, kind, std::move(payload));
    }
    std::optional<Message> receive(microseconds patience) override {
        return rank_.receive(patience);
    }

  private:
    Rank& rank_;
};

}  // namespace

SimulatedNetwork::SimulatedNetwork(int size, const NetworkCosts& costs)
    : state_(std::make_unique<State>(costs)) {
    CAMBRIAN_EXPECT(size >= 1);
    state_->processors.resize(static_cast<std::size_t>(std::max(costs.processors, 0)));
    for (int rank = 0; rank < size; ++rank) {
        state_->ranks.push_back(std::make_unique<Rank>(*state_, rank));
    }
}

SimulatedNetwork::~SimulatedNetwork() = default;

void SimulatedNetwork::run(const std::function<void(Communicator& communicator)>& rank) {
    std::vector<std::exception_ptr> failures(state_->ranks.size());
    for (const auto& own : state_->ranks) {
        own->prepare([&](Rank& self) {
            try {
                const VirtualTime::Scope scope(self);
                Communicator communicator(std::make_unique<SimulatedCommunicator<Rank>>(self));
                rank(communicator);
            } catch (...) {
                failures[static_cast<std::size_t>(self.rank())] = std::current_exception();
            }
        });
    }
    Fiber thread;
    state_->thread = &thread;
    VirtualTime* const own = VirtualTime::exchange(nullptr);
    thread.switch_to(Rank::first(*state_));
    VirtualTime::exchange(own);
    for (const std::exception_ptr& failure : failures) {
        if (failure) {
            std::rethrow_exception(failure);
        }
    }
}

}  // namespace cambrian::distributed
