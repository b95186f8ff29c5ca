#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "cambrian/tests/distributed/support/run_support.hpp"

namespace cambrian::distributed {
namespace {

constexpr std::chrono::milliseconds held_up{40};

/// The elite strategy, whose decision the system holds up, as on a machine with other programs.
class HeldUpStrategy final : public evolve::Strategy {
  public:
    explicit HeldUpStrategy(std::unique_ptr<Strategy> elite) : elite_(std::move(elite)) {}

    std::uint64_t generation() const override { return elite_->generation(); }
    std::uint64_t births() const override { return elite_->births(); }
    evolve::BirthId first_birth() const override { return elite_->first_birth(); }
    evolve::Birth birth(std::uint64_t position) const override { return elite_->birth(position); }
    std::span<const evolve::Member> parent_pool() const override { return elite_->parent_pool(); }
    evolve::Decision decide(const evolve::Scores& scores, ThreadPool& threads) const override {
        std::this_thread::sleep_for(held_up);
        return elite_->decide(scores, threads);
    }
    std::unique_ptr<Strategy> apply(std::span<const std::byte> decision) const override {
        return std::make_unique<HeldUpStrategy>(elite_->apply(decision));
    }
    std::vector<std::byte> save() const override { return elite_->save(); }
    std::unique_ptr<Strategy> load(std::span<const std::byte> bytes) const override {
        return std::make_unique<HeldUpStrategy>(elite_->load(bytes));
    }

  private:
    std::unique_ptr<Strategy> elite_;
};

TEST(DecideSeconds, AreWorkOfTheProcessor) {
    const TemporaryDirectory directory;
    Experiment experiment = xor_experiment(directory.path());
    experiment.stop.generations = 1;
    experiment.strategy = "held_up";
    experiment.strategies.add("held_up", [](const evolve::StrategyContext& context) {
        return std::make_unique<HeldUpStrategy>(evolve::make_elite_strategy(context));
    });
    const Launched launched = launch(experiment, {});
    const GenerationReport& report = launched.reporter.reports.at(0);
    EXPECT_GE(report.decide_seconds, 0.0);
    EXPECT_LT(report.decide_seconds, std::chrono::duration<double>(held_up).count() / 2.0);
}

}  // namespace
}  // namespace cambrian::distributed
