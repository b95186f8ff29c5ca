#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/field.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/train/loss.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/genome/preparation.hpp"
#include "cambrian/evolve/variation/birth.hpp"

namespace cambrian::evolve {

/// What a network is evaluated on; champion: the test of a task that asks more of the network that
/// solves it than of the others, see SolvedTest.
enum class Phase : std::uint8_t { train, validation, test, champion };
inline constexpr std::size_t phase_count = 4;
[[nodiscard]] std::string_view name(Phase phase);

/// What a task asks of its networks.
struct TaskSignature {
    std::int64_t observations = 0;
    std::int64_t outputs = 0;
    bool time = false;  ///< Networks see steps in order, so state makes sense.
    /// Of the longest sequence, where these are data; 0: of episodes, or not known.
    std::int64_t steps = 0;
    bool stochastic =
        false;  ///< Train fitness depends on the generation's draws: elites are evaluated again.
    bool validates = false;  ///< Has a validation phase.
    bool tests = false;      ///< Has a test phase.
    bool host = false;       ///< Evaluated by HostTask::evaluate instead of a graph.
    bool loss = false;       ///< Fitness is minus a loss.
    /// Gradients learn from whole windows alone, fitness has the rows that they leave over, too.
    bool windows = false;
};

/// What a graph task builds with: one individual's network and the task's own inputs.
struct ObjectiveContext {
    Graph& graph;
    const ForwardModel& network;
    const NetworkOperands& operands;
    std::span<const Var> data;   ///< Inputs that hold Task::data, in order.
    std::span<const Var> draws;  ///< Inputs that hold Task::draws, in order.
};

/// Results of an objective graph, for one individual.
struct Objective {
    Var fitness;                    ///< real, rank 0, maximised (a loss task gives −loss).
    std::optional<Var> env_steps;   ///< integer, rank 0.
    std::optional<Var> per_sample;  ///< real, rank 1.
    std::optional<Var> accuracy{};  ///< real, rank 0: share of right answers, for reports only.
};

/// What the losses of a task are, in words, where gradients minimise a scaled one.
struct LossUnits {
    std::string name;  ///< "mse in the units of the file"
    /// The loss in these units = factor · the scaled one; nothing where it is not one for all
    /// targets.
    std::optional<double> factor;
};

/// What tells that a network solves a task (`run.stop.solved`). The best of a generation is tested
/// where its train fitness reaches `candidate`: its fitness in `phase` must reach `passes`. In
/// Phase::train its train fitness is the test, and nothing is evaluated again.
struct SolvedTest {
    double candidate = 0.0;
    Phase phase = Phase::train;
    double passes = 0.0;
    /// Why no network can reach it as the task is set, as an error says it; empty: one may.
    std::string unreachable{};
};

/// What gradients learn from.
struct Learning {
    DataSet data;
    Loss loss;
};

/// Thrown by a task whose fitness of before may be wrong, too: a rank leaves its run with it.
class UntrustedTask : public ConfigError {
  public:
    using ConfigError::ConfigError;
};

class Population;

/// A problem. Const: one object serves every rank's evaluator.
class Task {
  public:
    virtual ~Task() = default;
    [[nodiscard]] virtual std::string_view type() const = 0;
    [[nodiscard]] virtual TaskSignature signature() const = 0;

    // Graph tasks.
    /// Tensors that never change in a phase (data sets); uploaded once. Unless a task says
    /// otherwise the inputs and targets that it holds.
    [[nodiscard]] virtual std::vector<Tensor> data(Phase phase) const;
    /// Samples that the task holds, whose inputs and targets are all of its data in a phase; null
    /// where it makes them.
    [[nodiscard]] virtual const Samples* held(Phase) const { return nullptr; }
    /// Tensors that change with the generation (episode keys, rows of a mini-batch), common to all
    /// individuals. Shapes are the same for every round. `round` is the generation, or the running
    /// number of a validation.
    [[nodiscard]] virtual std::vector<Tensor> draws(Phase phase, std::uint64_t seed,
                                                    std::uint64_t round) const;
    /// Appends the objective for one individual.
    [[nodiscard]] virtual Objective build(const ObjectiveContext& context, Phase phase) const;

    // Host tasks.
    /// Fitness of every individual, by calling the networks; may throw to report a failed shard.
    [[nodiscard]] virtual std::vector<double> evaluate(Population& population, Phase phase,
                                                       std::uint64_t seed,
                                                       std::uint64_t round) const;

    /// The samples and the loss of a task that can be trained by gradient; null for others.
    [[nodiscard]] virtual const Learning* learning() const { return nullptr; }

    /// What tells that a network solves the task; nothing where it has no such mark. Its phase is
    /// one that data, draws, build and evaluate know, whatever the signature says of it.
    [[nodiscard]] virtual std::optional<SolvedTest> solved() const { return std::nullopt; }

    /// The same task with another number of episodes in every phase, or null when it has none
    /// (`cambrian evaluate --episodes`).
    [[nodiscard]] virtual std::unique_ptr<Task> with_episodes(std::int64_t) const {
        return nullptr;
    }
    /// The same task on all rows in every phase, or null where an evaluation draws none of them. A
    /// finished network is judged on it: what a generation draws is for its own comparisons.
    [[nodiscard]] virtual std::unique_ptr<Task> whole() const { return nullptr; }

    /// Lines printed beside results: name and value, such as {"persistence", 0.00074}.
    struct Baseline {
        std::string name;
        double loss = 0.0;
    };
    [[nodiscard]] virtual std::vector<Baseline> baselines(Phase) const { return {}; }
    /// What its loss (−fitness) is measured in; nothing where there is but one way to measure.
    [[nodiscard]] virtual std::optional<LossUnits> loss_units() const { return std::nullopt; }
    /// The task itself where this one stands for it: what else it is, its type tells.
    [[nodiscard]] virtual const Task& inner() const { return *this; }
    /// How rows of data become inputs of its networks, and outputs answers: kept in every file of a
    /// network, so that it can be used without the task. None where networks see no rows of data.
    [[nodiscard]] virtual std::optional<Preparation> preparation() const { return std::nullopt; }
    /// Tries before a run what else only the first evaluation would show, where somebody else's
    /// program judges networks. A line on what was tried; empty where there is nothing to try.
    /// Throws ConfigError where it fails.
    /// @param network that the run starts from.
    [[nodiscard]] virtual std::string try_out(const Blueprint& network) const;
    /// What its user should know of the data before a run begins, a line each.
    [[nodiscard]] virtual std::vector<std::string> notes() const { return {}; }
};

/// The first part of a network that remembers something between steps, in words: "slot 2 (rnn)".
[[nodiscard]] std::optional<std::string> first_state(const Blueprint& blueprint);

/// Throws ConfigError when a network cannot be evaluated on a task: other widths, or state where
/// nothing has an order in time.
void check_task_fits(const Task& task, const Blueprint& blueprint);

/// Throws ConfigError where a task's preparation is none of its networks: their files could not be
/// read.
void check_preparation(const Task& task);

/// The networks of a shard as a host task sees them.
class Population {
  public:
    virtual ~Population() = default;
    [[nodiscard]] virtual std::size_t size() const = 0;
    /// Runs every network on the same rows, statelessly: inputs [batch, observations] row by row;
    /// → [size, batch, outputs], individual by individual.
    [[nodiscard]] virtual std::vector<float> outputs(std::span<const float> inputs,
                                                     std::int64_t batch) = 0;
    /// One step in `batch` worlds of every network, each with observations of its own: [size,
    /// batch, observations]; → [size, batch, outputs]. A network with state carries it from step
    /// to step in each world, from zero after reset(). Throws ShapeError for other sizes, or for
    /// another batch than since the last reset.
    [[nodiscard]] virtual std::vector<float> step(std::span<const float> observations,
                                                  std::int64_t batch) = 0;
    /// Networks forget what they carry, in all worlds.
    virtual void reset() = 0;
    /// The same in the worlds [size, batch] that are not 0.
    virtual void reset(std::span<const std::uint8_t> worlds) = 0;
    /// What names a network in its run, on every rank and in every generation: the birth that made
    /// its genome. Nothing where networks are evaluated outside of a run.
    [[nodiscard]] virtual std::optional<BirthId> origin(std::size_t) const { return std::nullopt; }
    /// A network itself, as it is evaluated (what develops, not what it develops from). Throws
    /// ConfigError where there is none to be had, ShapeError for a number that no network has.
    [[nodiscard]] virtual Genome genome(std::size_t network) const;
    /// Adds steps that a network has taken in its worlds, for the column env_steps.
    virtual void count_steps(std::size_t, std::uint64_t) {}
    /// Says that the evaluation of a network has failed, which is none of its answers: its status
    /// is `failed`, whatever its fitness.
    virtual void fail(std::size_t) {}
};

/// How often the best individual is validated; how is the business of the task.
struct ValidationSettings {
    std::uint64_t every = 5;  ///< Generations; 0 = only at the end.

    static constexpr auto fields = FieldTable{
        Field{"every", &ValidationSettings::every, FieldRange{1.0, 1e9},
              "Generations between validations. The last one is validated too, and one whose "
              "best does not live on, as before a restart."},
    };
};

/// Where a config's paths start and how tasks are made.
struct TaskContext {
    std::string base_directory;  ///< Of the config file; relative data paths start there.
    /// Tells the user, from any thread, what a task meets while it evaluates; null: nobody is told.
    std::function<void(const std::string& text)> warn{};
};

/// A type of task as configs name it.
struct TaskKind {
    std::string name;
    std::string meaning;  ///< A line for those who choose one; empty: configs/schema.json has it.
    /// Refuses wrong settings itself, as field_json::read_fields does.
    std::function<std::unique_ptr<Task>(const nlohmann::json& settings, const TaskContext& context)>
        make;
    /// Adds what the schema of configs says of its keys ("properties", "required"), see
    /// field_json::describe_fields; null: the keys are not known before the task is made.
    std::function<void(nlohmann::ordered_json& schema)> describe;
};

/// Tasks by `task.type`, passed by value: a program adds its own.
class TaskRegistry {
  public:
    using Factory = decltype(TaskKind::make);
    /// @param keys of the task's settings beside "type" and "validation"; others are refused.
    /// Throws ConfigError when the name is taken, or not of small letters, digits and _.
    void add(std::string name, Factory factory, std::vector<std::string> keys = {});
    /// A task whose keys `cambrian explain` lists, and which are checked before it is made.
    void add(const TaskKind& kind);
    /// Makes the task of settings["type"]. Throws ConfigError naming the nearest type or key, or
    /// what the factory throws.
    [[nodiscard]] std::unique_ptr<Task> make(const nlohmann::json& settings,
                                             const TaskContext& context) const;
    [[nodiscard]] std::vector<std::string> names() const;
    /// What the schema of configs says of the types whose keys are known: "x-variants".
    [[nodiscard]] nlohmann::ordered_json schema() const;

  private:
    std::map<std::string, TaskKind, std::less<>> kinds_;
};

/// The tasks that come with Cambrian, by name.
[[nodiscard]] TaskRegistry standard_tasks();

/// Which numbers a host task is to use.
struct HostRound {
    Phase phase = Phase::train;
    std::uint64_t seed = 0;   ///< Of the run.
    std::uint64_t round = 0;  ///< Generation, or the running number of a validation.
};
/// A simulator in C++: the fitness of every network of a population, which it calls by
/// Population::step. Must be a function of networks, round and nothing else.
/// @param signature `time` where networks may carry state, `stochastic` where the round decides,
///     `validates` and `tests` where it knows these phases.
[[nodiscard]] std::unique_ptr<Task> make_simulator_task(
    std::string type, TaskSignature signature,
    std::function<std::vector<double>(Population&, const HostRound&)> fitness);

/// A task from a C++ function: the fitness of every network of a population, each higher is better.
[[nodiscard]] std::unique_ptr<Task> make_callback_task(
    std::int64_t observations, std::int64_t outputs,
    std::function<std::vector<double>(Population&)> fitness);

}  // namespace cambrian::evolve
