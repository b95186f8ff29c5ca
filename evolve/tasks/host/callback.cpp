#include <fmt/format.h>

#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/tasks/visible_task.hpp"

namespace cambrian::evolve {
namespace {

class CallbackTask : public Task {
  public:
    using Fitness = std::function<std::vector<double>(Population&, const HostRound&)>;

    CallbackTask(std::string type, TaskSignature signature, Fitness fitness)
        : type_(std::move(type)), signature_(signature), fitness_(std::move(fitness)) {
        CAMBRIAN_ASSERT(fitness_ != nullptr);
        if (signature.observations < 1 || signature.outputs < 1)
            throw ConfigError(fmt::format(
                "a {} task with {} observations and {} outputs (both must be at least 1) say how "
                "wide a row is that the networks read and write",
                type_, signature.observations, signature.outputs));
        signature_.host = true;
    }

    std::string_view type() const override { return type_; }
    TaskSignature signature() const override { return signature_; }

    std::vector<double> evaluate(Population& population, Phase phase, std::uint64_t seed,
                                 std::uint64_t round) const override {
        std::vector<double> fitness =
            fitness_(population, {.phase = phase, .seed = seed, .round = round});
        if (fitness.size() != population.size())
            throw ConfigError(fmt::format(
                "the fitness function returned {} values (the population has {} networks) return "
                "one fitness for each network, in their order",
                fitness.size(), population.size()));
        return fitness;
    }

  private:
    std::string type_;
    TaskSignature signature_;
    Fitness fitness_;
};

class VisibleCallbackTask final : public CallbackTask, public VisibleTask {
  public:
    using Play = std::function<DrawnEpisode(Population&, const HostRound&, std::int64_t)>;

    VisibleCallbackTask(CallbackTask task, Play play)
        : CallbackTask(std::move(task)), play_(std::move(play)) {
        CAMBRIAN_ASSERT(play_ != nullptr);
    }
    DrawnEpisode play(Population& network, const HostRound& round,
                      std::int64_t max_steps) const override {
        return play_(network, round, max_steps);
    }

  private:
    Play play_;
};

}  // namespace

std::unique_ptr<Task> make_visible_task(
    std::string type, TaskSignature signature,
    std::function<std::vector<double>(Population&, const HostRound&)> fitness,
    std::function<DrawnEpisode(Population&, const HostRound&, std::int64_t max_steps)> play) {
    return std::make_unique<VisibleCallbackTask>(
        CallbackTask(std::move(type), signature, std::move(fitness)), std::move(play));
}

std::unique_ptr<Task> make_simulator_task(
    std::string type, TaskSignature signature,
    std::function<std::vector<double>(Population&, const HostRound&)> fitness) {
    return std::make_unique<CallbackTask>(std::move(type), signature, std::move(fitness));
}

std::unique_ptr<Task> make_callback_task(std::int64_t observations, std::int64_t outputs,
                                         std::function<std::vector<double>(Population&)> fitness) {
    CAMBRIAN_ASSERT(fitness != nullptr);
    return make_simulator_task(
        "callback", {.observations = observations, .outputs = outputs},
        [fitness = std::move(fitness)](Population& population, const HostRound&) {
            return fitness(population);
        });
}

}  // namespace cambrian::evolve
