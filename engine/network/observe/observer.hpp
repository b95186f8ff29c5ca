#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "cambrian/engine/network/observe/observation.hpp"

namespace cambrian {

/// Is told what slots give.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual void observe(const Observation& observation) = 0;
    /// There are no more: what is held back is told now.
    virtual void finish() {}
};

/// Takes a line without its end.
using LineSink = std::function<void(const std::string& line)>;

/// A line to read for each observation.
class ConsoleObserver final : public Observer {
  public:
    explicit ConsoleObserver(LineSink sink) : sink_(std::move(sink)) {}
    void observe(const Observation& observation) override;

  private:
    LineSink sink_;
};

/// A JSON object for each observation: {"step": .., "individual": .., "place": .., "mean": .., ..}.
class JsonLinesObserver final : public Observer {
  public:
    explicit JsonLinesObserver(LineSink sink) : sink_(std::move(sink)) {}
    void observe(const Observation& observation) override;

  private:
    LineSink sink_;
};

/// Tells another observer of every `window` observations of a slot at once: the mean of their means
/// and of their active shares, the largest and the least element of all, sums of counts.
class WindowObserver final : public Observer {
  public:
    /// @param next must outlive it.
    WindowObserver(std::int64_t window, Observer& next);
    void observe(const Observation& observation) override;
    /// Tells what windows hold so far, too.
    void finish() override;

  private:
    using Subject = std::tuple<std::int64_t, int, Direction>;  ///< Individual, slot.
    std::int64_t window_;
    Observer& next_;
    std::map<Subject, Observation> held_;  ///< mean and active are sums over steps.
    void tell(Observation observation);
};

}  // namespace cambrian
