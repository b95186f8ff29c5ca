#include "cambrian/tests/distributed/support/backend_rank.hpp"

#include <bit>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/engine/cpu/cpu_backend.hpp"

namespace cambrian::distributed {
namespace {

Job shard_of(Follower& follower, const SharedRound& round, OrderRange births) {
    Job job;
    job.shard = 1;
    job.evaluation = {evolve::Phase::train, round->generation()};
    job.round = round;
    job.births = births;
    job.parents = follower.lend_parents(*round);
    return job;
}

Follower::Settings settings_of(std::uint32_t ranks) {
    Follower::Settings settings;
    settings.ranks = ranks;
    settings.on_backend = ranks > 1;
    return settings;
}

Experiment with_steady_state(Experiment experiment, const evolve::SteadyStateSettings& settings) {
    experiment.reevaluate = Reevaluate::never;
    experiment.steady_state = settings;
    return experiment;
}

}  // namespace

Experiment large_networks(const std::filesystem::path& directory) {
    Experiment experiment = cart_pole_experiment(directory);
    const evolve::TaskSignature signature = experiment.task->signature();
    experiment.population.size = 24;
    experiment.variation.founder = blueprint_from_json(nlohmann::json::parse(R"({"layers": [
            {"type": "dense", "out": 48, "activation": "tanh"}, {"type": "dense", "out": 48},
            {"type": "dense"}]})"),
                                                       signature.observations, signature.outputs);
    evolve::MutationSettings& mutation = experiment.variation.mutation;
    mutation = {};
    mutation.layer_insert_rate = mutation.layer_type_rate = mutation.link_add_rate = 0.0F;
    mutation.link_drop_rate = mutation.layer_toggle_rate = mutation.activation_rate = 0.0F;
    mutation.weight_replace_rate = 0.01F;
    experiment.family = evolve::FamilyChoice::graph;
    return experiment;
}

BackendRank::BackendRank(const evolve::SteadyStateSettings& steady_state)
    : experiment(with_steady_state(large_networks(directory.path()), steady_state)),
      cpu(make_cpu_backend({.threads = 2, .math = Math::strict})),
      evaluator(*backend, experiment, true),
      host_evaluator(*cpu, experiment, false),
      follower(make_strategy(experiment), settings_of(2), evaluator.variation(),
               evaluator.genomes(), backend->threads()),
      host(make_strategy(experiment), settings_of(1), host_evaluator.variation(),
           host_evaluator.genomes(), cpu->threads()) {}

Record BackendRank::record(std::size_t own, std::size_t unfit) const {
    const Round& told = *host.round();
    const auto size = static_cast<std::uint32_t>(told.order.size());
    const std::uint64_t births = told.strategy->births();
    const evolve::Scores scores = valid_scores(births, [&](std::uint64_t i) {
        return i + unfit < births ? static_cast<double>(told.strategy->birth(i).id) : -1.0;
    });
    Record made{told.generation(), host.newest()->strategy->decide(scores, cpu->threads()), {}};
    if (own > 0) made.holders.push_back({static_cast<std::uint32_t>(own), 0});
    if (own < size) made.holders.push_back({size, 1});
    return made;
}

void BackendRank::advance(std::size_t own) {
    const SharedRound told = follower.round();
    const OrderRange all{0, told->order.size()};
    Job there = shard_of(host, host.round(), all);
    JobResult expected = host_evaluator.work(there);
    ASSERT_FALSE(expected.failure) << describe(expected.failure);
    host.keep(*host.round(), all, std::move(expected.genomes));
    if (own > 0) {
        Job here = shard_of(follower, told, {0, own});
        JobResult result = evaluator.work(here);
        ASSERT_FALSE(result.failure) << describe(result.failure);
        follower.keep(*told, here.births, std::move(result.genomes));
    }
    const Record of_both = record(own);
    retired = follower.apply(of_both);
    static_cast<void>(host.apply(
        {of_both.generation, of_both.decision, {{static_cast<std::uint32_t>(all.end), 0}}}));
}

Remakes BackendRank::remakes() {
    MissingParents missing = follower.missing_parents(*round(), {0, round()->order.size()}, 1000);
    EXPECT_TRUE(missing.places.empty());
    EXPECT_FALSE(missing.remakes.recipes.empty());
    return std::move(missing.remakes);
}

Job BackendRank::job() {
    return shard_of(follower, round(), {0, round()->order.size()});
}

JobResult BackendRank::result_of_host() {
    // In the order of rank 0, which depends on where parents lie.
    Job shard = shard_of(host, round(), {0, round()->order.size()});
    JobResult result = host_evaluator.work(shard);
    EXPECT_FALSE(result.failure);
    return result;
}

Job BackendRank::job_of_one() const {
    Job one;
    one.evaluation = {evolve::Phase::validation, round()->generation()};
    one.generation = round()->generation();
    one.children.push_back({parent_of_host(0), 0, 0});
    return one;
}

void BackendRank::expect_equal(const SharedIndividual& found,
                               const SharedIndividual& expected) const {
    ASSERT_TRUE(found && expected);
    const SharedIndividual home = evaluator.on_host(found);
    EXPECT_EQ(*home->structure, *expected->structure);
    ASSERT_EQ(home->weights.size(), expected->weights.size());
    for (std::size_t i = 0; i < home->weights.size(); ++i) {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(home->weights[i]),
                  std::bit_cast<std::uint32_t>(expected->weights[i]))
            << i;
    }
}

void BackendRank::expect_equal(const JobResult& found, const JobResult& expected) const {
    ASSERT_FALSE(found.failure) << describe(found.failure);
    EXPECT_EQ(found.scores.scores.fitness, expected.scores.scores.fitness);
    EXPECT_EQ(found.scores.env_steps, expected.scores.env_steps);
    EXPECT_EQ(found.scores.retries, expected.scores.retries);
    ASSERT_EQ(found.genomes.size(), expected.genomes.size());
    for (std::size_t i = 0; i < found.genomes.size(); ++i) {
        expect_equal(found.genomes[i], expected.genomes[i]);
    }
}

void BackendRank::expect_parents(const Remakes& remakes,
                                 const std::vector<SharedIndividual>& made) const {
    ASSERT_EQ(made.size(), remakes.recipes.size());
    for (std::size_t i = 0; i < made.size(); ++i) {
        expect_equal(made[i], parent_of_host(remakes.recipes[i].place));
    }
}

}  // namespace cambrian::distributed
