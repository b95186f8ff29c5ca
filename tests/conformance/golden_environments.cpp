#include "cambrian/tests/conformance/golden_environments.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"

namespace cambrian::test {
namespace golden_world {

using nlohmann::json;
using Row = std::vector<double>;
using Rows = std::vector<Row>;

json read(const std::string& name) {
    return json::parse(std::ifstream(golden_directory() / "tasks" / (name + ".json")));
}

/// What a network would have to say for an action of a file.
using Speech = Row (*)(const json& action);
template <int choices>
Row chosen(const json& action) {
    Row outputs(choices, 0.0);
    outputs.at(action.get<std::size_t>()) = 1.0;
    return outputs;
}
Row said(const json& action) {
    return {action.get<double>()};
}

/// Episodes of one environment, and how far they may be off.
struct Recorded {
    std::string name;
    json settings;
    json episodes;
    json check;
    Speech speech;
    bool rounded = false;  ///< Recorded in mixed precision, to which only f32 can be held.
    std::string observations = "observations";
};

std::vector<Recorded> recorded() {
    const json cart = read("cartpole_v1"), stanley = read("single_pole_stanley"),
               car = read("mountain_car_v0"), motor = read("mountain_car_continuous_v0"),
               acrobot = read("acrobot_v1"), pendulum = read("pendulum_v1"),
               poles = read("double_pole"), swing = read("cartpole_swingup");
    std::vector<Recorded> all;
    const auto add = [&](const std::string& name, json settings, const json& episodes,
                         const json& check, Speech speech) -> Recorded& {
        all.push_back({name, std::move(settings), episodes, check, speech});
        return all.back();
    };
    add("cartpole_v1", {{"type", "cart_pole"}}, cart["episodes"], cart["check"], chosen<2>);
    add("single_pole_stanley",
        {{"type", "cart_pole"}, {"variant", "stanley"}, {"bias_input", true}}, stanley["episodes"],
        stanley["check"], chosen<2>)
        .observations = "network_inputs";
    add("mountain_car_v0", {{"type", "mountain_car"}}, car["episodes"], car["check"], chosen<3>);
    add("mountain_car_continuous_v0", {{"type", "mountain_car_continuous"}}, motor["episodes"],
        motor["check"], said);
    add("mountain_car_continuous_v0, rounded", {{"type", "mountain_car_continuous"}},
        motor["episodes_state_rounded_to_f32"]["episodes"], motor["check"], said)
        .rounded = true;
    add("acrobot_v1", {{"type", "acrobot"}}, acrobot["episodes"], acrobot["check"], chosen<3>);
    add("acrobot_v1, nips", {{"type", "acrobot"}, {"equations", "nips"}},
        acrobot["episodes_nips_variant"], acrobot["check"], chosen<3>);
    add("pendulum_v1", {{"type", "pendulum"}}, pendulum["episodes"], pendulum["check"], said);
    const json stanley_rules{{"type", "double_pole"}, {"cart_friction", 0.0}, {"min_force", 0.0},
                             {"bias_input", true},    {"start_angle", 0.07},  {"velocities", true}};
    add("double_pole", stanley_rules, poles["episodes"], poles["check"], said).observations =
        "network_inputs_with_velocities_first_5";
    json blind = stanley_rules;
    blind["velocities"] = false;
    add("double_pole, no velocities", blind, poles["episodes"], poles["check"], said).observations =
        "network_inputs_without_velocities_first_5";
    const json& friction = poles["episodes_with_cart_friction"];
    json rubbed = stanley_rules;
    rubbed["cart_friction"] = friction["mu_c"];
    add("double_pole, friction", rubbed, friction["episodes"], poles["check"], said);
    for (const json& variant : swing["variants"]) {
        const bool hard = variant["variant"] == "evojax_hard_start";
        add("cartpole_swingup, " + variant["variant"].get<std::string>(),
            {{"type", "swing_up"},
             {"start", hard ? "hard" : "easy"},
             {"seconds_per_step", variant["dt"]}},
            variant["episodes"], variant["check"], said);
    }
    return all;
}

/// A task that owns the environment.
struct Owned {
    explicit Owned(const json& settings)
        : task(evolve::standard_tasks().make(settings, {})),
          environment(*evolve::environment_of(*task)) {}
    std::unique_ptr<evolve::Task> task;
    const evolve::Environment& environment;
};

Tensor table(const Rows& rows) {
    Tensor tensor(ValueType::real, Shape{static_cast<std::int64_t>(rows.size()),
                                         static_cast<std::int64_t>(rows.front().size())});
    tensor.elements.clear();
    for (const Row& row : rows)
        tensor.elements.insert(tensor.elements.end(), row.begin(), row.end());
    return tensor;
}

std::vector<Var> columns(Var matrix) {
    std::vector<Var> result;
    for (std::int64_t i = 0; i < matrix.shape()[1]; ++i) result.push_back(slice(matrix, 1, i, 1));
    return result;
}

double error(double found, double wanted) {
    return std::abs(found - wanted) / std::max(1.0, std::abs(wanted));
}

/// The largest error of a table against one that was recorded.
double worst(const Tensor& found, const Rows& wanted) {
    EXPECT_EQ(found.elements.size(), wanted.size() * wanted.front().size());
    double most = 0.0;
    std::size_t at = 0;
    for (const Row& row : wanted)
        for (const double number : row) {
            const double off = error(found.elements.at(at++), number);
            if (!(off <= most)) most = off;
        }
    return most;
}

/// All steps of all episodes of a file, one below the other.
struct Steps {
    Rows before, outputs, after, rewards, terminated;
    explicit Steps(const Recorded& record) {
        for (const json& episode : record.episodes) {
            json state = episode["initial_state"];
            for (std::size_t t = 0; t < episode["actions"].size(); ++t) {
                before.push_back(state.get<Row>());
                outputs.push_back(record.speech(episode["actions"][t]));
                state = episode["states"][t];
                after.push_back(state.get<Row>());
                rewards.push_back({episode["rewards"][t].get<double>()});
                terminated.push_back({episode["terminated"][t].get<double>()});
            }
        }
    }
};

/// States of a file with what was observed in them; empty where it does not say.
std::pair<Rows, Rows> observed(const Recorded& record) {
    std::pair<Rows, Rows> result;
    for (const json& episode : record.episodes) {
        if (!episode.contains(record.observations)) continue;
        json seen = episode[record.observations];
        if (episode.contains("initial_observation"))
            seen.insert(seen.begin(), episode["initial_observation"]);
        for (std::size_t t = 0; t < seen.size(); ++t) {
            result.first.push_back(
                (t == 0 ? episode["initial_state"] : episode["states"][t - 1]).get<Row>());
            result.second.push_back(seen[t].get<Row>());
        }
    }
    return result;
}

void expect_observations(Backend& backend, const Recorded& record,
                         const evolve::Environment& environment, double bound) {
    const auto [states, seen] = observed(record);
    if (states.empty()) return;
    const Tensor given = table(states);
    Graph graph;
    graph.output(environment.observe(columns(graph.input("state", ValueType::real, given.shape))));
    EXPECT_LE(worst(evaluate(backend, graph, 1, std::array{given})[0], seen), bound)
        << "observations";
}

void expect_steps(Backend& backend, const Recorded& record, GoldenBound bound) {
    const Owned owned(record.settings);
    const Steps steps(record);
    const std::array given{table(steps.before), table(steps.outputs)};
    Graph graph;
    const Var state = graph.input("state", ValueType::real, given[0].shape);
    const Var output = graph.input("output", ValueType::real, given[1].shape);
    const evolve::EnvironmentStep step = owned.environment.step(columns(state), output);
    graph.output(concat(step.state, 1));
    graph.output(step.reward);
    graph.output(cast(step.done, ValueType::real));
    const auto found = evaluate(backend, graph, 1, given);

    const bool exact = bound == GoldenBound::f64;
    const double most = record.check[exact ? "single_step_f64" : "single_step_f32"];
    const double off = worst(found[0], steps.after);
    EXPECT_LE(off, most) << "states";
    ::testing::Test::RecordProperty(record.name, fmt::format("{:.2g}", off));
    // A reward or a flag that changes at a limit is another one beside it.
    if (exact) {
        EXPECT_LE(worst(found[1], steps.rewards), most) << "rewards";
        EXPECT_EQ(worst(found[2], steps.terminated), 0.0) << "terminated";
    }
    expect_observations(backend, record, owned.environment, most);
}

/// The states of an episode that goes on by itself under the outputs given.
Tensor free_run(Backend& backend, const evolve::Environment& environment, const Row& first,
                const Rows& outputs) {
    const auto wide = static_cast<std::int64_t>(first.size());
    const auto said = static_cast<std::int64_t>(outputs.front().size());
    const auto length = static_cast<std::int64_t>(outputs.size());
    Graph body;
    const Var now = body.input("state", ValueType::real, Shape{1, wide});
    const Var output = body.input("output", ValueType::real, Shape{1, said});
    const Var next = concat(environment.step(columns(now), output).state, 1);
    body.output(next);
    body.output(next);
    Graph graph;
    const std::array start{graph.input("state", ValueType::real, Shape{1, wide})};
    const std::array spoken{graph.input("outputs", ValueType::real, Shape{length, 1, said})};
    graph.output(scan(body, start, spoken, {}, {.length = length}).stacked[0]);
    Tensor sequence = table(outputs);
    sequence.shape = Shape{length, 1, said};
    return evaluate(backend, graph, 1, std::array{table({first}), sequence})[0];
}

/// A controller in the place of a network: output = bias - gains · observation + amplitude ·
/// sin(.1 t) for `switch_after` steps, then a constant.
struct Controller final : ForwardModel {
    Row gains;
    double amplitude = 0.0;
    double switch_after = 1e6;
    double then = 0.0;
    std::vector<StateSpec> counter{{.name = "t", .shape = Shape{1}}};

    std::int64_t input_features() const override { return static_cast<std::int64_t>(gains.size()); }
    std::span<const StateSpec> state() const override { return counter; }
    Var apply(Var x, const NetworkOperands&) const override { return x; }
    StepResult step(Var x, std::span<const Var> state, const NetworkOperands&) const override {
        Graph& graph = *x.graph;
        Var output = filled(graph, {x.shape()[0], 1}, 0.5);
        for (std::size_t i = 0; i < gains.size(); ++i)
            output = output - slice(x, 1, static_cast<std::int64_t>(i), 1) * gains[i];
        output = output + sin(state[0] * 0.1) * amplitude;
        output =
            select(less(state[0], switch_after), clamp(output, 0.0, 1.0), constant(graph, then));
        return {.output = output, .state = {state[0] + 1.0}};
    }
};

/// The feedback of a file on what networks see of the double pole.
Controller linear(const json& file) {
    constexpr std::array scale{4.8, 2.0, 0.52, 2.0, 0.52, 2.0};
    Controller controller;
    controller.gains = file["controllers"]["K"].get<Row>();
    for (std::size_t i = 0; i < scale.size(); ++i) controller.gains.at(i) *= scale[i];
    return controller;
}

json stanley(const json& more) {
    json settings{
        {"type", "double_pole"}, {"cart_friction", 0.0}, {"min_force", 0.0}, {"start_angle", 0.07}};
    settings.update(more);
    return settings;
}

double fitness_of(Backend& backend, const evolve::Task& task, const Controller& controller,
                  evolve::Phase phase) {
    Graph graph;
    const NetworkOperands operands{
        .weights = graph.input("weights", ValueType::real, Shape{1}),
        .activations = graph.input("activations", ValueType::integer, Shape{1}),
        .enabled = graph.input("enabled", ValueType::boolean, Shape{1})};
    std::vector<Tensor> given{Tensor(ValueType::real, Shape{1}, {0.0}),
                              Tensor(ValueType::integer, Shape{1}, {0.0}),
                              Tensor(ValueType::boolean, Shape{1}, {1.0})};
    std::vector<Var> draws;
    for (Tensor& key : task.draws(phase, 1, 0)) {
        draws.push_back(graph.input("key", key.type, key.shape));
        given.push_back(std::move(key));
    }
    graph.output(task.build({.graph = graph,
                             .network = controller,
                             .operands = operands,
                             .data = {},
                             .draws = draws},
                            phase)
                     .fitness);
    return evaluate(backend, graph, 1, given)[0].elements[0];
}

}  // namespace golden_world

using namespace golden_world;

void expect_golden_steps(Backend& backend, GoldenBound bound) {
    for (const Recorded& record : recorded()) {
        if (record.rounded && bound == GoldenBound::f64) continue;
        SCOPED_TRACE(record.name);
        expect_steps(backend, record, bound);
    }
}

void expect_golden_free_runs(Backend& backend) {
    for (const Recorded& record : recorded()) {
        const Owned owned(record.settings);
        for (const json& episode : record.episodes) {
            if (!episode.contains("free_run_steps")) continue;
            SCOPED_TRACE(record.name + ", " + episode["label"].get<std::string>());
            Rows outputs, states;
            for (std::size_t t = 0; t < episode["free_run_steps"].get<std::size_t>(); ++t) {
                outputs.push_back(record.speech(episode["actions"][t]));
                states.push_back(episode["states"][t].get<Row>());
            }
            const Tensor found =
                free_run(backend, owned.environment, episode["initial_state"].get<Row>(), outputs);
            EXPECT_LE(worst(found, states), record.check["free_run_f64"].get<double>());
        }
    }
}

void expect_golden_mazes(Backend& backend, GoldenBound bound) {
    const double most = bound == GoldenBound::f64 ? 1e-12 : 1e-6;
    const json file = read("t_maze");
    for (const json& episode : file["episodes"]) {
        SCOPED_TRACE(episode["label"].get<std::string>());
        const json& config = episode["config"];
        const Owned owned({{"type", "t_maze"},
                           {"hall", config["hall_len"]},
                           {"trials", config["n_trials"]},
                           {"flip_spread", 0},
                           {"high_reward", config["high"]},
                           {"low_reward", config["low"]},
                           {"wall_penalty", config["wall_penalty"]}});
        Rows outputs;
        for (const json& action : episode["actions"]) outputs.push_back(chosen<3>(action));
        const Row first{0, 0, 0, 0, 0, config["init_reward_side"], config["flip_at_trial"]};
        const Tensor states = free_run(backend, owned.environment, first, outputs);

        // Observations belong to the states after a step, rewards and ends to the step.
        Tensor flat = states;
        flat.shape = Shape{states.shape[0], states.shape[2]};
        Tensor before = flat;
        before.elements.insert(before.elements.begin(), first.begin(), first.end());
        before.elements.resize(flat.elements.size());
        Graph graph;
        const Var after = graph.input("after", ValueType::real, flat.shape);
        const Var from = graph.input("from", ValueType::real, flat.shape);
        const Tensor spoken = table(outputs);
        const Var output = graph.input("output", ValueType::real, spoken.shape);
        const evolve::EnvironmentStep step = owned.environment.step(columns(from), output);
        graph.output(owned.environment.observe(columns(after)));
        graph.output(step.reward);
        graph.output(cast(step.done, ValueType::real));
        const auto found = evaluate(backend, graph, 1, std::array{flat, before, spoken});
        Rows rewards, ends;
        for (const json& reward : episode["rewards"]) rewards.push_back({reward.get<double>()});
        for (const json& end : episode["done"]) ends.push_back({end.get<double>()});
        EXPECT_LE(worst(found[0], episode["observations"].get<Rows>()), most) << "observations";
        EXPECT_LE(worst(found[1], rewards), most) << "rewards";
        EXPECT_EQ(worst(found[2], ends), 0.0) << "done";
    }
}

void expect_golden_damping(Backend& backend) {
    const json file = read("double_pole_closed_loop");
    const auto task = evolve::standard_tasks().make(stanley({{"fitness", "damping"}}), {});
    for (const json& known : file["gruau_cases"]) {
        SCOPED_TRACE(known["label"].get<std::string>());
        Controller controller = linear(file);
        if (known["controller"] == "dither") controller.amplitude = 0.02;
        if (known.contains("switch_after")) {
            controller.switch_after = known["switch_after"];
            controller.then = 1.0;
        }
        if (known["controller"] == "actions") {
            controller.switch_after = 0.0;
            controller.then = known["actions"][0];
        }
        const double wanted = known["fitness"];
        EXPECT_NEAR(fitness_of(backend, *task, controller, evolve::Phase::train), wanted,
                    1e-9 * wanted);
    }
}

void expect_golden_generalisation(Backend& backend) {
    const json file = read("double_pole_closed_loop");
    const auto task = evolve::standard_tasks().make(stanley({{"solved_by", "generalise"}}), {});
    EXPECT_EQ(fitness_of(backend, *task, linear(file), evolve::Phase::champion),
              file["grid_results"][0]["generalisation"].get<double>());
}

}  // namespace cambrian::test
