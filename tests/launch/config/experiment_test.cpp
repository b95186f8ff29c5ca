#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/tests/launch/config/config_support.hpp"

namespace cambrian::launch::config_tests {
namespace {

TEST(Experiment, IslandsHaveSettingsOfTheirOwn) {
    const Json json = Json::parse(R"({"task": {"type": "xor"}, "population": {"size": 90},
        "islands": {"count": 3, "topology": "star", "sizes": [20, 30, 40], "overrides": [{},
            {"mutation": {"weight_power": 0.5, "layer_insert_rate": 0.25}},
            {"splice": {"rate": 0.75, "mode": "uniform"}}]}})");
    const distributed::Experiment made = experiment(json, {});
    EXPECT_EQ(made.islands.topology, evolve::Topology::star);
    const evolve::MutationSettings& common = made.variation.mutation;
    ASSERT_EQ(made.variation.islands.size(), 3U);
    EXPECT_EQ(made.variation.islands[0].mutation.weight_power, common.weight_power);
    EXPECT_EQ(made.variation.islands[1].mutation.weight_power, 0.5F);
    EXPECT_EQ(made.variation.islands[1].mutation.layer_insert_rate, 0.25F);
    EXPECT_EQ(made.variation.islands[1].mutation.link_add_rate, common.link_add_rate);
    EXPECT_EQ(made.variation.islands[2].splice.rate, 0.75F);
    EXPECT_EQ(made.variation.islands[2].mutation.layer_insert_rate, common.layer_insert_rate);
    const auto strategy = distributed::make_strategy(made);
    EXPECT_EQ(strategy->births(), 90U);
    EXPECT_EQ(strategy->birth(19).island, 0U);
    EXPECT_EQ(strategy->birth(50).island, 2U);
}

TEST(Experiment, TheTaskChangesAsTheConfigSays) {
    const Json json = Json::parse(R"({"task": {"type": "cart_pole", "episodes": 3, "changes": [
        {"at": 20, "task": {"force": -10, "validation": {"episodes": 7}}}, {"at": 30, "task": {}},
        {"at": 40, "task": {"force": -20}}]}})");
    const distributed::Experiment made = experiment(json, {});
    ASSERT_EQ(made.changes.size(), 3U);
    EXPECT_EQ(made.changes[0].at, 20U);
    EXPECT_EQ(made.task_number(19), 0U);
    EXPECT_EQ(made.task_number(20), 1U);
    EXPECT_EQ(made.task_at(35).get(), made.changes[1].task.get());
    EXPECT_THAT(made.notes, testing::Contains(testing::HasSubstr(
                                R"(the task changes, from generation 20: {"force":-10,)")));
    // Each entry is about the section task, not about the entry before it.
    const ResolvedConfig config = resolved(json, {});
    EXPECT_EQ(config.changes[0].settings->at("validation").at("episodes"), 7);
    EXPECT_EQ(*config.changes[1].settings, evolve::first_task(config.effective->at("task")));
    EXPECT_EQ(config.changes[2].settings->at("force"), -20.0);
    EXPECT_EQ(config.changes[2].settings->at("validation"),
              config.effective->at("task").at("validation"));
    const Json& task = config.effective->at("task");
    EXPECT_EQ(evolve::task_of_generation(task, 3), evolve::first_task(task));
    EXPECT_EQ(evolve::task_of_generation(task, 99).at("force"), -20);
    EXPECT_EQ(evolve::task_of_generation(task, 99).count("changes"), 0U);
    // What a file says may be anything.
    const Json broken = Json::parse(R"({"type": "xor", "changes": [{"at": "x"}, 3]})");
    EXPECT_EQ(evolve::task_of_generation(broken, 5), broken);
}

TEST(Experiment, APartOfATaskOfAnotherTypeHasItsOwnKeys) {
    const Json json = Json::parse(R"({"task": {"type": "dataset", "source": {"type": "blobs"},
        "loss": {"type": "cross_entropy"}, "changes": [
        {"at": 2, "task": {"source": {"type": "spirals"}, "loss": {"gradient": null}}}]}})");
    const Json changed = evolve::task_of_generation(resolved(json, {}).effective->at("task"), 2);
    EXPECT_EQ(changed.at("source"), Json::parse(R"({"type": "spirals"})"));
    EXPECT_EQ(changed.at("loss").at("type"), "cross_entropy");
}

TEST(Experiment, AnotherTypeOfTaskHasItsOwnKeys) {
    const Json json = Json::parse(R"({"task": {"type": "cart_pole", "force": 5, "changes": [
        {"at": 2, "task": {"type": "cart_pole", "force": null}}]}})");
    EXPECT_EQ(resolved(json, {}).changes[0].settings->at("force"), 10.0);
    const Json other = Json::parse(R"({"task": {"type": "parity", "bits": 2, "changes": [
        {"at": 2, "task": {"type": "xor"}}]}})");
    EXPECT_EQ(experiment(other, {}).changes[0].task->type(), "xor");
}

TEST(Experiment, AConfigWithoutChangesIsWhatItWas) {
    const Json json = Json::parse(R"({"task": {"type": "xor"}})");
    EXPECT_EQ(resolved(json, {}).written->at("task").count("changes"), 0U);
    EXPECT_EQ(experiment(json, {}).identity_json.find("changes"), std::string::npos);
}

TEST(Experiment, WrongIslandsAndStrategiesAreExplained) {
    const Json json = Json::parse(R"({"task": {"type": "xor"}, "population": {"size": 90}})");
    const auto text = [&](const std::vector<std::string>& overrides) {
        return failure<ConfigError>([&] { (void)experiment(json, overrides); });
    };
    EXPECT_THAT(text({"strategy.type=elit"}),
                testing::AllOf(testing::HasSubstr("strategy.type is \"elit\""),
                               testing::HasSubstr("\"elite\"")));
    EXPECT_THAT(text({"islands.count=100"}), testing::HasSubstr("islands.count is 100"));
    EXPECT_THAT(text({"islands.count=50"}),
                testing::HasSubstr("of an island with population.elite_fraction 0.25 carries"));
    EXPECT_THAT(
        text({"population.size=1"}),
        testing::HasSubstr("population.size 1 with population.elite_fraction 0.25 carries"));
    for (const char* other : {"strategy.type=species", "strategy.type=age_layers"})
        EXPECT_THAT(text({"population.size=1", other}),
                    testing::HasSubstr("population.size 1 carries every individual over"));
    EXPECT_EQ(
        experiment(json, {"population.size=1", "steady_state.window=2", "steady_state.block=1"})
            .population.size,
        1U);
    EXPECT_THAT(text({"islands.count=2", "islands.sizes=[1, 2]"}),
                testing::HasSubstr("islands.sizes has 2 sizes of 3 individuals"));
    EXPECT_THAT(text({"islands.count=2", "islands.overrides=[{}]"}),
                testing::HasSubstr("islands.overrides has 1 entries"));
    EXPECT_THAT(text({"islands.count=2", R"(islands.overrides=[{}, {"mutation": {"wieght": 1}}])"}),
                testing::HasSubstr("islands.overrides[1].mutation"));
}

TEST(Experiment, CandidatesAreOfATestThatIsAskedFor) {
    const Json json = Json::parse(
        R"({"task": {"type": "xor"}, "run": {"stop": {"candidates": 3, "generations": 9}}})");
    EXPECT_EQ(experiment(json, {"run.stop.solved=true"}).stop.candidates, 3U);
    for (const char* without : {"null", "false"})
        EXPECT_THAT(failure<ConfigError>([&] {
                        (void)experiment(json, {std::string("run.stop.solved=") + without});
                    }),
                    testing::HasSubstr("run.stop.candidates is set (run.stop.solved is not, so "
                                       "nothing is tested) set both, or leave it out: "
                                       "run.stop.candidates=null"));
    // Networks of such a run can be read.
    const ResolvedConfig config = resolved(json);
    const auto tasks = evolve::standard_tasks();
    EXPECT_EQ(make_experiment(config, Schema(), make_tasks(config, tasks),
                              make_founder(config, *make_task(config, tasks)), Purpose::evaluate)
                  .stop.generations,
              9U);
}

TEST(Experiment, AMeshGetsLayersWhereTheyAreAskedFor) {
    const Json mesh = Json::parse(R"({"task": {"type": "cart_pole"}, "network": {"mode": "mesh",
        "layers": [{"type": "dense", "out": 4}, {"type": "dense"}],
        "grid": {"layers_per_cell": 3}}})");
    const distributed::Experiment asked = experiment(mesh, {"mutation.layer_insert_rate=0.25"});
    EXPECT_EQ(asked.variation.mutation.layer_insert_rate, 0.25F);
    EXPECT_TRUE(asked.notes.empty());
    for (const std::string remedy : {"0", "\"auto\""}) {
        const distributed::Experiment made =
            experiment(mesh, {"mutation.layer_insert_rate=" + remedy});
        EXPECT_EQ(made.variation.mutation.layer_insert_rate, 0.0F) << remedy;
        EXPECT_EQ(made.notes.size(), remedy == "0" ? 0U : 1U) << remedy;
    }
    // An island that says "auto" has the rate that it has by default, not that of all.
    const auto island = [&](const std::string& mode) {
        return experiment(mesh, {"network.mode=" + mode, "mutation.layer_insert_rate=0.25",
                                 "islands.count=2",
                                 R"(islands.overrides=[{"mutation": {"layer_insert_rate": "auto"}},
                                                       {}])"})
            .variation.islands;
    };
    EXPECT_EQ(island("mesh")[0].mutation.layer_insert_rate, 0.0F);
    EXPECT_EQ(island("mesh")[1].mutation.layer_insert_rate, 0.25F);
    EXPECT_EQ(island("chain")[0].mutation.layer_insert_rate, 0.02F);
    const distributed::Experiment chain = experiment(mesh, {"network.mode=chain"});
    EXPECT_EQ(chain.variation.mutation.layer_insert_rate, 0.02F);
    EXPECT_TRUE(chain.notes.empty());
}

TEST(Experiment, GivesFieldsToNewLayers) {
    const auto given = [](const std::string& layers, const std::string& overrides = "[{}, {}]") {
        return experiment(minimal(), {"mutation.layers=" + layers, "islands.count=2",
                                      R"(mutation.layer_types=["multi_head_attention", "conv2d"])",
                                      "islands.overrides=" + overrides})
            .variation.mutation.layers;
    };
    EXPECT_TRUE(given("[]").empty());
    const std::vector<AnyLayer> layers = given(
        R"([{"type": "multi_head_attention", "heads": 2}, {"type": "conv2d", "kernel": 5, "padding": 2}])");
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(std::get<MultiHeadAttention>(layers[0].variant()).heads, 2);
    EXPECT_EQ(std::get<Conv2d>(layers[1].variant()).kernel, AxisValues(5));
    const auto rules = [](const std::string& said) {
        return experiment(minimal(), {"network.init=zeros", R"(mutation.layer_types=["dense"])",
                                      R"(mutation.layers=[{"type": "dense", )" + said + "}]"})
            .variation.mutation.layers.front()
            .rules;
    };
    EXPECT_TRUE(rules(R"("bias": false)").plain()) << "that of the network comes later";
    EXPECT_EQ(rules(R"("init": "default")").init, InitRule::scaled);
    EXPECT_THAT(failure<ConfigError>([&] { (void)given(R"([{"type": "conv2d", "kernels": 5}])"); }),
                testing::HasSubstr("mutation.layers[0]"));
    const std::string dropout = R"([{"type": "dropout", "rate": 0.25}])";
    EXPECT_EQ(given(dropout).size(), 1U) << "in vain, which is told";
}

TEST(Experiment, FormatsOfNothingAreRefusedWhereNothingMayComeAndNothingResumes) {
    const Json json = Json::parse(R"({"task": {"type": "xor"}, "network": {"layers": [
        {"type": "dense", "out": 2}, {"type": "rms_norm", "dtype": "int8"}, {"type": "dense"}]},
        "mutation": {"link_add_rate": 0, "layer_type_rate": 0}})");
    const auto founder = [&](const std::vector<std::string>& overrides,
                             IdleFormats idle = IdleFormats::refused) {
        const ResolvedConfig config = resolved(json, overrides);
        (void)make_founder(config, *make_task(config, evolve::standard_tasks()), idle);
    };
    EXPECT_THAT(failure<ConfigError>([&] { founder({}); }),
                testing::HasSubstr(R"(network.layers[1].dtype is "int8" (the layer has no)"));
    EXPECT_NO_THROW(founder({}, IdleFormats::kept));
    const std::vector<std::string> scales{"network.layers=null", "network.dtype_scales=tensor"};
    EXPECT_THAT(failure<ConfigError>([&] { founder(scales); }),
                testing::HasSubstr("network.dtype_scales is \"tensor\""));
    EXPECT_NO_THROW(founder(scales, IdleFormats::kept));
    for (const char* growth :
         {"mutation.link_add_rate=0.1", "mutation.layer_type_rate=0.1",
          R"(islands={"count": 2, "overrides": [{}, {"mutation": {"link_add_rate": 0.1}}]})"})
        EXPECT_NO_THROW(founder({growth})) << growth;
}

TEST(Experiment, WhatARunHasWrittenIsReadAgainWithFormatsOfNothing) {
    const TemporaryDirectory directory;
    const std::string config = directory.write(
        "norm.json",
        Json{{"task", {{"type", "xor"}}},
             {"population", {{"size", 6}}},
             {"mutation", {{"link_add_rate", 0}, {"layer_type_rate", 0}}},
             {"network", {{"layers", Json::parse(R"([{"type": "dense", "out": 2},
            {"type": "rms_norm", "dtype": "int8"}, {"type": "dense"}])")}}},
             {"run", {{"directory", directory.file("run")}, {"stop", {{"generations", 1}}}}}}
            .dump());
    EXPECT_THAT(test::run({"evolve", config, "-q"}).err,
                testing::HasSubstr("network.layers[1].dtype is \"int8\""));
    // As a version left it that accepted the config.
    const std::string written =
        directory.write("run/config.json", test::run({"evolve", config, "--print-config"}).out);
    EXPECT_EQ(test::run({"convert", written, directory.file("network.cmb")}).code, 0);
    EXPECT_EQ(test::run({"evolve", config, "--continue", "--dry-run"}).code, 0);
    const test::Result result = test::run({"evolve", config, "-q", "--continue"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(
        test::run({"resume", directory.file("run"), "-q", "--set", "run.stop.generations=2"}).code,
        0);
}

TEST(Experiment, LearningThatFloat32WouldFreezeIsRefused) {
    for (const std::string key : {"learning.clip_norm", "learning.learning_rate"})
        EXPECT_THAT(failure<ConfigError>([&] { (void)experiment(minimal(), {key + "=1e-46"}); }),
                    testing::HasSubstr(key + " is 1e-46"));
    EXPECT_FALSE(experiment(minimal(), {"learning.clip_norm=0"}).learning.clip_norm);
    for (const double norm : {0.5, 1e38, 3.4e38})
        EXPECT_EQ(
            experiment(minimal(), {fmt::format("learning.clip_norm={}", norm)}).learning.clip_norm,
            norm);
    EXPECT_THAT(
        failure<ConfigError>([] { (void)experiment(minimal(), {"learning.clip_norm=1e39"}); }),
        testing::HasSubstr("learning.clip_norm is 1e+39 (a number of at least 1.2e-38 and at most "
                           "3.4e+38 is needed)"));
}

TEST(Experiment, NewLayersHaveTheFormatsOfTheNetworkSection) {
    const distributed::Experiment own = experiment(
        minimal(), {R"(network.layers=[{"type": "dense", "dtype": "int4"}])", "network.dtype=int8",
                    "network.activation_dtype=int8", "islands.count=2",
                    R"(islands.overrides=[{"mutation": {"weight_rate": 0.5}}, {}])"});
    const LayerFormats formats{.weights = Dtype::int8, .activations = Dtype::int8};
    EXPECT_EQ(own.variation.mutation.formats, formats);
    EXPECT_EQ(own.variation.islands[0].mutation.formats, formats);
}

}  // namespace
}  // namespace cambrian::launch::config_tests
