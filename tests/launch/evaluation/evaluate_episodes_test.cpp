#include <memory>

#include "cambrian/evolve/tasks/environment.hpp"
#include "cambrian/tests/launch/evaluation/evaluate_support.hpp"

namespace cambrian::launch::evaluate_tests {
namespace {

using evolve::Environment;

/// Episodes of so many steps, each worth 1; a network is worth the sum of its episodes.
class Tally : public Environment {
  public:
    explicit Tally(double length, std::vector<std::shared_ptr<const Environment>> tests = {})
        : length_(length), tests_(std::move(tests)) {}
    std::string_view type() const override { return "tally"; }
    std::int64_t observations() const override { return 1; }
    std::int64_t outputs() const override { return 1; }
    std::int64_t reset_draws() const override { return 1; }
    std::optional<evolve::Solution> solution() const override {
        return evolve::Solution{.candidate = 1e6, .passes = 1e6, .tests = tests_};
    }
    std::vector<Var> reset(Var draws) const override { return {draws * 0.0}; }
    Var observe(std::span<const Var> state) const override { return state[0]; }
    evolve::EnvironmentStep step(std::span<const Var> state, Var output) const override {
        const Shape episodes{output.shape()[0]};
        const Var next = state[0] + 1.0;
        return {.state = {next},
                .reward = reshape(next * 0.0 + 1.0, episodes),
                .done = reshape(less_equal(constant(*output.graph, length_), next), episodes)};
    }
    Var fitness(Var scores) const override { return sum_all(scores); }

  private:
    double length_;
    std::vector<std::shared_ptr<const Environment>> tests_;
};

/// Episodes worth .9, which is enough: a network is worth the number of them.
class Threshold final : public Tally {
  public:
    Threshold() : Tally(3.0) {}
    std::string_view type() const override { return "threshold"; }
    std::optional<evolve::Solution> solution() const override { return std::nullopt; }
    Var score(std::span<const Var>, Var returns) const override { return returns * 0.0 + 0.9; }
    Var fitness(Var scores) const override {
        Graph& graph = *scores.graph;
        const Var enough = less_equal(constant(graph, 0.9), scores);
        return sum_all(select(enough, constant(graph, 1.0), constant(graph, 0.0)));
    }
};

TEST_F(Evaluate, FitnessOfEpisodesHasTheBitsOfARun) {
    evolve::TaskRegistry tasks = evolve::standard_tasks();
    tasks.add(evolve::rollout_task([] { return std::make_unique<Threshold>(); }, "Counts."));
    const std::string config = directory_.write(
        "threshold.json", R"({"run": {"directory": ")" + directory_.file("run") +
                              R"(", "stop": {"generations": 1}}, "population": {"size": 4},
            "task": {"type": "threshold"}, "network": {"layers": [{"type": "dense"}]}})");
    const Result evolved = run({"evolve", config, "-q"}, tasks);
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const Result result =
        run({"evaluate", directory_.file("run/best.cmb"), "--episodes", "5", "--json"}, tasks);
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(Json::parse(result.out).at("networks").at(0)["fitness"], 5.0);
}

TEST_F(Evaluate, FitnessOfEpisodesIsTheEnvironments) {
    evolve::TaskRegistry tasks = evolve::standard_tasks();
    tasks.add(evolve::rollout_task(
        [] {
            return std::make_unique<Tally>(
                3.0, std::vector<std::shared_ptr<const Environment>>{std::make_shared<Tally>(2.0),
                                                                     std::make_shared<Tally>(4.0)});
        },
        "Counts."));
    const std::string config = directory_.write(
        "tally.json", R"({"run": {"directory": ")" + directory_.file("run") +
                          R"(", "stop": {"generations": 1}}, "population": {"size": 4},
            "task": {"type": "tally"}, "network": {"layers": [{"type": "dense"}]}})");
    const Result evolved = run({"evolve", config, "-q"}, tasks);
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const auto judged = [&](const std::vector<std::string>& more) {
        const Result result = run(
            with({"evaluate", directory_.file("run/best.cmb"), "--episodes", "5", "--json"}, more),
            tasks);
        EXPECT_EQ(result.code, 0) << result.err;
        return Json::parse(result.out).at("networks").at(0);
    };
    const Json own = judged({});
    EXPECT_EQ(own["samples"], std::vector<double>(5, 3.0));
    EXPECT_EQ(own["fitness"], 15.0);
    // A test in several environments is the product of what each gives; samples are of the last.
    const Json tested = judged({"--phase", "champion"});
    EXPECT_EQ(tested["samples"], std::vector<double>(5, 4.0));
    EXPECT_EQ(tested["fitness"], 10.0 * 20.0);
}

}  // namespace
}  // namespace cambrian::launch::evaluate_tests
