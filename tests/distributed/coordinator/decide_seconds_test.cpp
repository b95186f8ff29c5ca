#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

/// What a processor has worked for this thread.
double worked() {
    std::timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The elite strategy, whose decision takes longer.
class LongStrategy final : public evolve::Strategy {
  public:
    LongStrategy(std::unique_ptr<Strategy> elite, std::function<void()> pass_time)
        : elite_(std::move(elite)), pass_time_(std::move(pass_time)) {}

    std::uint64_t generation() const override { return elite_->generation(); }
    std::uint64_t births() const override { return elite_->births(); }
    evolve::BirthId first_birth() const override { return elite_->first_birth(); }
    evolve::Birth birth(std::uint64_t position) const override { return elite_->birth(position); }
    std::span<const evolve::Member> parent_pool() const override { return elite_->parent_pool(); }
    evolve::Decision decide(const evolve::Scores& scores, ThreadPool& threads) const override {
        pass_time_();
        return elite_->decide(scores, threads);
    }
    std::unique_ptr<Strategy> apply(std::span<const std::byte> decision) const override {
        return std::make_unique<LongStrategy>(elite_->apply(decision), pass_time_);
    }
    std::vector<std::byte> save() const override { return elite_->save(); }
    std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override {
        return std::make_unique<LongStrategy>(elite_->load(bytes), pass_time_);
    }

  private:
    std::unique_ptr<Strategy> elite_;
    std::function<void()> pass_time_;
};

double decide_seconds(const std::function<void()>& pass_time) {
    const TemporaryDirectory directory;
    Experiment experiment = xor_experiment(directory.path());
    experiment.stop.generations = 1;
    experiment.strategy = "long";
    experiment.strategies.add("long", [&](const evolve::StrategyContext& context) {
        return std::make_unique<LongStrategy>(evolve::make_elite_strategy(context), pass_time);
    });
    return launch(experiment, {}).reporter.reports.at(0).decide_seconds;
}

TEST(DecideSeconds, AreWorkOfTheProcessor) {
    EXPECT_GT(decide_seconds([] {
                  for (const double end = worked() + 0.02; worked() < end;) {
                  }
              }),
              0.01);
    // As where the system holds it up, on a machine with other programs.
    EXPECT_LT(decide_seconds([] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); }),
              0.02);
}

}  // namespace
}  // namespace cambrian::distributed
