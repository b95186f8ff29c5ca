#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/evolve/plugins/guarded.hpp"
#include "cambrian/evolve/tasks/task_guard.hpp"

namespace cambrian::evolve {
namespace {

class GuardedTask final : public Task, public TaskGuard {
    template <class F>
    auto call(const F& f) const {
        return guarded_part(part_, f);
    }

  public:
    GuardedTask(std::unique_ptr<Task> task, std::string part)
        : task_(std::move(task)), part_(std::move(part)) {}

    [[nodiscard]] std::string_view type() const override {
        return call([&] { return task_->type(); });
    }
    [[nodiscard]] TaskSignature signature() const override {
        return call([&] { return task_->signature(); });
    }
    [[nodiscard]] std::vector<Tensor> data(Phase phase) const override {
        return call([&] { return task_->data(phase); });
    }
    [[nodiscard]] const Samples* held(Phase phase) const override {
        return call([&] { return task_->held(phase); });
    }
    [[nodiscard]] std::vector<Tensor> draws(Phase phase, std::uint64_t seed,
                                            std::uint64_t round) const override {
        return call([&] { return task_->draws(phase, seed, round); });
    }
    [[nodiscard]] Objective build(const ObjectiveContext& context, Phase phase) const override {
        return call([&] { return task_->build(context, phase); });
    }
    [[nodiscard]] std::vector<double> evaluate(Population& population, Phase phase,
                                               std::uint64_t seed,
                                               std::uint64_t round) const override {
        return call([&] { return task_->evaluate(population, phase, seed, round); });
    }
    [[nodiscard]] const Learning* learning() const override {
        return call([&] { return task_->learning(); });
    }
    [[nodiscard]] std::optional<SolvedTest> solved() const override {
        return call([&] { return task_->solved(); });
    }
    [[nodiscard]] std::unique_ptr<Task> with_episodes(std::int64_t episodes) const override {
        return other([&] { return task_->with_episodes(episodes); });
    }
    [[nodiscard]] std::unique_ptr<Task> whole() const override {
        return other([&] { return task_->whole(); });
    }
    [[nodiscard]] std::vector<Baseline> baselines(Phase phase) const override {
        return call([&] { return task_->baselines(phase); });
    }
    [[nodiscard]] std::optional<LossUnits> loss_units() const override {
        return call([&] { return task_->loss_units(); });
    }
    [[nodiscard]] std::optional<Preparation> preparation() const override {
        return call([&] { return task_->preparation(); });
    }
    [[nodiscard]] std::string try_out(const Blueprint& network) const override {
        return call([&] { return task_->try_out(network); });
    }
    [[nodiscard]] std::vector<std::string> notes() const override {
        return call([&] { return task_->notes(); });
    }
    [[nodiscard]] const Task& inner() const override { return *task_; }
    void call(const std::function<void()>& code) const override { guarded_part(part_, code); }

  private:
    /// A task that this one makes, or null.
    template <class Make>
    [[nodiscard]] std::unique_ptr<Task> other(const Make& make) const {
        std::unique_ptr<Task> task = call(make);
        if (task == nullptr) {
            return nullptr;
        }
        return std::make_unique<GuardedTask>(std::move(task), part_);
    }

    std::unique_ptr<Task> task_;
    std::string part_;
};

}  // namespace

TaskKind guarded_task(TaskKind kind, const std::string& plugin) {
    const std::string part = fmt::format("task \"{}\" of the plug-in \"{}\"", kind.name, plugin);
    if (!kind.make) {
        throw ConfigError(
            fmt::format("{} cannot be added (nothing makes it) mend the plug-in", part));
    }
    kind.make = [make = std::move(kind.make), part](
                    const nlohmann::json& settings,
                    const TaskContext& context) -> std::unique_ptr<Task> {
        std::unique_ptr<Task> task = guarded_part(part, [&] { return make(settings, context); });
        if (task == nullptr) {
            throw ConfigError(fmt::format("{} fails (no task was made) mend the plug-in", part));
        }
        return std::make_unique<GuardedTask>(std::move(task), part);
    };
    if (kind.describe) {
        kind.describe = [describe = std::move(kind.describe),
                         part](nlohmann::ordered_json& schema) {
            guarded_part(part, [&] { describe(schema); });
        };
    }
    return kind;
}

}  // namespace cambrian::evolve
