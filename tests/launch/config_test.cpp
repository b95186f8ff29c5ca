#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using test::failure;
using test::TemporaryDirectory;

Json minimal() {
    return Json::parse(R"({"task": {"type": "xor"}})");
}

ResolvedConfig resolved(const Json& json, const std::vector<std::string>& overrides = {},
                        const Environment& environment = nullptr) {
    return resolve(
        document_from(json, "test.json", fs::current_path(), overrides), Schema(),
        environment ? environment
                    : [](const std::string&) { return std::optional<std::string>(); });
}

std::string refusal(const Json& json, const std::vector<std::string>& overrides = {}) {
    return failure<ConfigError>([&] { (void)resolved(json, overrides); });
}

TEST(Config, NamesTheNearestKeyOnce) {
    const std::string text = refusal(minimal(), {"population.sise=3"});
    EXPECT_THAT(text, testing::HasSubstr("population.sise is not a known key"));
    EXPECT_THAT(text, testing::HasSubstr("--set population.sise=3"));
    EXPECT_THAT(text, testing::HasSubstr("did you mean population.size?"));
    EXPECT_EQ(text.find("population.size"), text.rfind("population.size"));
}

TEST(Config, TranslatesNamesOfOtherPrograms) {
    EXPECT_THAT(refusal(minimal(), {"mutation.conn_add_prob=0.5"}),
                testing::HasSubstr("Cambrian calls it mutation.link_add_rate"));
    EXPECT_THAT(refusal(minimal(), {"pop_size=5"}),
                testing::HasSubstr("Cambrian calls it population.size"));
    EXPECT_THAT(refusal(minimal(), {"population.populationSize=5"}),
                testing::HasSubstr("Cambrian calls it population.size"));
}

TEST(Config, FindsAKeyInAnotherSection) {
    EXPECT_THAT(refusal(minimal(), {"lease_seconds=5"}),
                testing::HasSubstr("did you mean distributed.lease_seconds?"));
    EXPECT_THAT(refusal(minimal(), {"mutation.node_add_rate=0.5"}),
                testing::HasSubstr("did you mean genome.node_add_rate of type neat?"));
    EXPECT_THAT(refusal(minimal(), {"mutation.delay_rate=0.5"}),
                testing::HasSubstr("did you mean genome.delay_rate of type neat?"));
    EXPECT_THAT(refusal(minimal(), {"mutation.window=5"}),
                testing::HasSubstr("did you mean steady_state.window?"));
}

TEST(Config, NamesTheTypesThatHaveAKey) {
    EXPECT_THAT(refusal(minimal(), {"genome.node_add_rate=0.5"}),
                testing::EndsWith("set genome.type to one that has it: neat, hyperneat"));
    EXPECT_THAT(refusal(minimal(), {"genome.substrate={}"}),
                testing::EndsWith("set genome.type to hyperneat"));
    EXPECT_THAT(refusal(minimal(), {"task.episodes=5"}),
                testing::HasSubstr("set task.type to one that has it: cart_pole, "));
}

TEST(Config, RefusesWrongTypesAndValues) {
    EXPECT_THAT(refusal(minimal(), {"population.size=0"}),
                testing::AllOf(testing::HasSubstr("population.size is 0"),
                               testing::HasSubstr("an integer at least 1")));
    EXPECT_THAT(refusal(minimal(), {"population.size=many"}),
                testing::HasSubstr("population.size is \"many\""));
    EXPECT_THAT(refusal(minimal(), {"population.size=2.5"}), testing::HasSubstr("an integer"));
    EXPECT_THAT(refusal(minimal(), {"population=5"}), testing::HasSubstr("a section {...}"));
    EXPECT_THAT(refusal(minimal(), {"splice.rate=1.5"}), testing::HasSubstr("at most 1"));
    EXPECT_THAT(refusal(minimal(), {"splice.mode=blendd"}),
                testing::HasSubstr("did you mean \"blend\"?"));
    EXPECT_THAT(refusal(minimal(), {"engine.threads=0"}),
                testing::HasSubstr("\"affinity\" or an integer at least 1"));
    EXPECT_THAT(refusal(minimal(), {"engine.memory_limit=much"}),
                testing::HasSubstr("engine.memory_limit is \"much\""));
    EXPECT_THAT(refusal(minimal(), {"network.layers=[{\"type\":\"dens\"}]"}),
                testing::HasSubstr("did you mean \"dense\"?"));
    EXPECT_THAT(refusal(Json::object()), testing::HasSubstr("task is missing"));
}

TEST(Config, SetsValuesInArraysAndRemovesKeys) {
    Json config = minimal();
    config["network"]["layers"] =
        Json::parse(R"([{"type": "dense", "out": 4}, {"type": "dense"}])");
    config["run"]["stop"] = Json::parse(R"({"generations": 5, "fitness": 3})");
    const ResolvedConfig result =
        resolved(config, {"network.layers[0].out=7", "run.stop.fitness=null", "run.name=\"12\""});
    EXPECT_EQ(result.effective->at("network").at("layers")[0].at("out"), 7);
    EXPECT_FALSE(result.effective->at("run").at("stop").contains("fitness"));
    EXPECT_EQ(result.effective->at("run").at("name"), "12");
    EXPECT_THAT(refusal(minimal(), {"population.size"}), testing::HasSubstr("no key=value"));
    EXPECT_THAT(refusal(minimal(), {"population..size=3"}), testing::HasSubstr("empty part"));
}

TEST(Config, StopsAfterAHundredGenerationsOnlyWithoutAnotherCriterion) {
    EXPECT_EQ(resolved(minimal()).effective->at("run").at("stop").dump(), R"({"generations":100})");
    EXPECT_EQ(resolved(minimal(), {"run.stop.seconds=5"}).effective->at("run").at("stop").dump(),
              R"({"seconds":5.0})");
}

TEST(Config, BlanksCommentsOutsideStringsOnly) {
    EXPECT_EQ(without_comments("{ \"a\": \"http://x\" } // why"), "{ \"a\": \"http://x\" }       ");
    EXPECT_EQ(parse_config("{ // one\n \"a\\\"//\": 1 }", "x").dump(), R"({"a\"//":1})");
}

TEST(Config, SaysWhereJsonIsBroken) {
    const std::string text =
        failure<ConfigError>([] { (void)parse_config("{\n  \"a\": 1,,\n}", "x.json"); });
    EXPECT_THAT(text, testing::HasSubstr("x.json:2:10: broken JSON"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config("{\"a\":1,\"a\":2}", "x.json"); }),
                testing::HasSubstr("twice"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config(std::string(5000, '['), "x.json"); }),
                testing::HasSubstr("nested too deeply"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config("", "x.json"); }),
                testing::HasSubstr("x.json:1:1: broken JSON"));
}

TEST(Config, RefusesHostileFilesInTheUsualGrammar) {
    const auto refuses = [](const std::string& text, const std::string& why) {
        const std::string said = failure<ConfigError>([&] { (void)parse_config(text, "x.json"); });
        EXPECT_THAT(said, testing::HasSubstr(why));
        EXPECT_THAT(said, testing::StartsWith("x.json:"));
        EXPECT_LT(said.size(), 600U);
    };
    refuses("{\"population\":\n {\"size\": 1e400}}", "x.json:2:15: broken JSON (the number 1e400");
    refuses(std::string(100'000, '[') + std::string(100'000, ']'), "nested too deeply");
    refuses(std::string("{\"task\":{\"type\":\"xor\"}}\0more", 28),
            "x.json:1:24: broken JSON (a NUL");
    refuses(std::string("{} // a\0comment", 15), "a NUL byte");
    refuses(R"({"run":{"directory":"a\u0000b"}})", "a NUL character");
    refuses("{\"a\": \"\xff\"}", "UTF-8");
    refuses("{\"a\": \"" + std::string(100'000, 'x'), "broken JSON");
    std::string keys = "{";
    for (int i = 0; i < 100'000; ++i) keys += "\"k" + std::to_string(i) + "\":1,";
    refuses(keys, "more than 4096 keys in one object");
    EXPECT_NO_THROW((void)parse_config(std::string(100, '[') + std::string(100, ']'), "x.json"));
}

TEST(Config, RefusesHostileAssignments) {
    const auto refuses = [](const std::string& assignment, const std::string& why) {
        const std::string said = refusal(minimal(), {assignment});
        EXPECT_THAT(said, testing::HasSubstr(why));
        EXPECT_LT(said.size(), 1000U) << said.substr(0, 100);
    };
    const auto nested = [](std::size_t levels) {
        return std::string(levels, '[') + std::string(levels, ']');
    };
    refuses("network.layers=" + nested(20'000), "nested too deeply");
    refuses("network.layers=" + nested(99), "nested too deeply");
    refuses("network.layers=" + std::string(20'000, '['), "nested too deeply");
    refuses("network.layers=" + nested(50'000), "100015 bytes (at most 65536");
    refuses("run.name=\xff\xfe", "UTF-8");
    refuses("\xff=1", "UTF-8");
    refuses(R"(run.directory="a\u0000b")", "NUL");
    refuses(R"(task={"type":"xor","type":"xor"})", "stands twice");
    refuses("population.size=1e400", "population.size is \"1e400\"");
    refuses(std::string(20'000, 'k') + "=1", "is not a known key");
    std::string dotted = "a";
    for (int i = 0; i < 20'000; ++i) dotted += ".a";
    refuses(dotted + "=1", "the key has 20001 parts");
    refuses(std::string(20'000, 'x'), "there is no key=value");
}

TEST(Config, RefusesNumbersBeyondWhatIsCountedWith) {
    for (const char* key : {"distributed.lease_seconds", "checkpoint.seconds", "run.stop.seconds"})
        EXPECT_THAT(refusal(minimal(), {std::string(key) + "=1e300"}),
                    testing::AllOf(testing::HasSubstr(std::string(key) + " is 1e+300"),
                                   testing::HasSubstr("at most 1000000")));
    for (const char* bytes :
         {"18446744073709551615", "9223372036854775808", "4611686018427387905000"})
        EXPECT_THAT(refusal(minimal(), {std::string("engine.memory_limit=") + bytes}),
                    testing::AllOf(testing::HasSubstr("engine.memory_limit is "),
                                   testing::HasSubstr("from 1 to 2^62 bytes")));
    EXPECT_THAT(refusal(minimal(), {"engine.memory_limit=" + std::string(60'000, '1') + "B"}),
                testing::HasSubstr("engine.memory_limit is "));
    EXPECT_NO_THROW((void)resolved(minimal(), {"engine.memory_limit=4611686018427387904",
                                               "distributed.lease_seconds=1000000"}));
}

TEST(Config, RefusesAnEnvironmentThatIsNoText) {
    Json config = minimal();
    config["run"] = Json::parse(R"({"name": "${NAME}"})");
    const auto environment = [](const std::string&) { return std::optional<std::string>("\xff"); };
    EXPECT_THAT(failure<ConfigError>([&] { (void)resolved(config, {}, environment); }),
                testing::AllOf(testing::HasSubstr("NAME"), testing::HasSubstr("UTF-8")));
}

TEST(Config, RefusesMoreLayersThanAGridHas) {
    const TemporaryDirectory directory;
    std::string layers = R"({"type": "dense", "out": 4})";
    for (int i = 1; i < 200'000; ++i) layers += R"(,{"type": "dense", "out": 4})";
    const std::string file = directory.write(
        "layers.json", R"({"task": {"type": "xor"}, "network": {"layers": [)" + layers + "]}}");
    // By their number, before any of them is looked at.
    const test::Result result = test::run({"validate", file});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, testing::HasSubstr("(allowed: a list of 1 to 65537)"));
}

TEST(Config, ExtendsAnotherFileDeeply) {
    const TemporaryDirectory directory;
    directory.write("sub/base.json", R"({"task": {"type": "xor"}, "population": {"size": 9}})");
    directory.write("own.json", R"({"$schema": "s", "extends": "sub/base.json",
                                    "population": {"elite_fraction": 0.5}})");
    const ConfigDocument document = read_config(directory.path() / "own.json", {});
    EXPECT_EQ(document.json->at("population").dump(), R"({"size":9,"elite_fraction":0.5})");
    EXPECT_EQ(document.base_directory, directory.path());
    EXPECT_THAT(document.origins.of("population.size"), testing::HasSubstr("sub/base.json"));
    EXPECT_THAT(document.origins.of("population.elite_fraction"), testing::HasSubstr("own.json"));
}

TEST(Config, OnlyAFileExtends) {
    const TemporaryDirectory directory;
    directory.write("own.json", R"({"task": {"type": "xor"}})");
    EXPECT_THAT(failure<ConfigError>([&] {
                    (void)read_config(directory.path() / "own.json",
                                      std::vector<std::string>{"extends=base.json"});
                }),
                testing::HasSubstr("only a file extends another"));
}

TEST(Config, RefusesACircleOfExtends) {
    const TemporaryDirectory directory;
    directory.write("a.json", R"({"extends": "b.json"})");
    directory.write("b.json", R"({"extends": "a.json"})");
    EXPECT_THAT(failure<ConfigError>([&] { (void)read_config(directory.path() / "a.json", {}); }),
                testing::HasSubstr("leads back"));
}

TEST(Config, ExpandsEnvironmentAndSeed) {
    Json config = minimal();
    config["run"] = Json::parse(R"({"name": "${NAME}-x", "directory": "runs/{seed}", "seed": 7})");
    const auto environment = [](const std::string& name) {
        return name == "NAME" ? std::optional<std::string>("me") : std::nullopt;
    };
    const ResolvedConfig result = resolved(config, {}, environment);
    EXPECT_EQ(result.effective->at("run").at("name"), "me-x");
    EXPECT_EQ(result.effective->at("run").at("directory"), "runs/7");
    EXPECT_EQ(result.written->at("run").at("name"), "${NAME}-x");

    config["run"]["name"] = "${OTHER}";
    EXPECT_THAT(failure<ConfigError>([&] { (void)resolved(config, {}, environment); }),
                testing::AllOf(testing::HasSubstr("run.name"), testing::HasSubstr("OTHER")));
    config["run"]["name"] = "${OTHER";
    EXPECT_THAT(failure<ConfigError>([&] { (void)resolved(config, {}, environment); }),
                testing::HasSubstr("without \"}\""));
}

TEST(Config, DollarsAndBracesMayStandForThemselves) {
    Json config = minimal();
    const auto environment = [](const std::string& name) {
        return name == "NAME" ? std::optional<std::string>("me") : std::nullopt;
    };
    const auto name_of = [&](const std::string& text) {
        config["run"] = {{"name", text}, {"seed", 7}, {"directory", "runs"}};
        return resolved(config, {}, environment).effective->at("run").at("name").get<std::string>();
    };
    EXPECT_EQ(name_of("${$}{NAME} ${{}seed} {seed} ${NAME} $$ {x}"), "${NAME} {seed} 7 me $$ {x}");
    for (const char* text : {"", "${NAME}", "{seed}", "${seed}", "$${{{seed}}}", "${$}", "${{}",
                             "${", "{seed", "plain {name} $"}) {
        EXPECT_EQ(name_of("x" + unexpanded(text)), std::string("x") + text);
    }
    EXPECT_EQ(unexpanded("plain {name} $"), "plain {name} $");
}

distributed::Experiment experiment(const Json& json, const std::vector<std::string>& overrides) {
    return make_experiment(resolved(json, overrides), Schema(), evolve::standard_tasks());
}

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
    EXPECT_EQ(*config.changes[1].settings, first_task(config.effective->at("task")));
    EXPECT_EQ(config.changes[2].settings->at("force"), -20.0);
    EXPECT_EQ(config.changes[2].settings->at("validation"),
              config.effective->at("task").at("validation"));
    const Json& task = config.effective->at("task");
    EXPECT_EQ(task_of_generation(task, 3), first_task(task));
    EXPECT_EQ(task_of_generation(task, 99).at("force"), -20);
    EXPECT_EQ(task_of_generation(task, 99).count("changes"), 0U);
    // What a file says may be anything.
    const Json broken = Json::parse(R"({"type": "xor", "changes": [{"at": "x"}, 3]})");
    EXPECT_EQ(task_of_generation(broken, 5), broken);
}

TEST(Experiment, APartOfATaskOfAnotherTypeHasItsOwnKeys) {
    const Json json = Json::parse(R"({"task": {"type": "dataset", "source": {"type": "blobs"},
        "loss": {"type": "cross_entropy"}, "changes": [
        {"at": 2, "task": {"source": {"type": "spirals"}, "loss": {"gradient": null}}}]}})");
    const Json changed = task_of_generation(resolved(json, {}).effective->at("task"), 2);
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
    EXPECT_THAT(text({"islands.count=2", "islands.sizes=[1, 2]"}),
                testing::HasSubstr("islands.sizes has 2 sizes of 3 individuals"));
    EXPECT_THAT(text({"islands.count=2", "islands.overrides=[{}]"}),
                testing::HasSubstr("islands.overrides has 1 entries"));
    EXPECT_THAT(text({"islands.count=2", R"(islands.overrides=[{}, {"mutation": {"wieght": 1}}])"}),
                testing::HasSubstr("islands.overrides[1].mutation"));
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
    const distributed::Experiment chain = experiment(mesh, {"network.mode=chain"});
    EXPECT_EQ(chain.variation.mutation.layer_insert_rate, 0.02F);
    EXPECT_TRUE(chain.notes.empty());
}

TEST(Experiment, AFullGridIsSaidToTakeNoLayers) {
    const Json full = Json::parse(R"({"task": {"type": "xor"}, "network": {
        "layers": [{"type": "dense", "out": 3}, {"type": "dense"}], "grid": {"layers_per_cell": 1}}})");
    const std::vector<std::string> notes = experiment(full, {}).notes;
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], testing::StartsWith("mutation.layer_insert_rate does nothing: no slot"));
    for (const char* remedy :
         {"network.grid.layers_per_cell=2", "mutation.layer_insert_rate=0", "mutation.grid_limit=4",
          "mutation.layer_remove_rate=0.1", "complexity.ceiling=3"})
        EXPECT_TRUE(experiment(full, {remedy}).notes.empty()) << remedy;
    EXPECT_EQ(experiment(full, {"complexity.ceiling=3", "complexity.delete_rate=0"}).notes, notes);
}

TEST(Experiment, RoomOnAnyIslandIsRoomForLayers) {
    const Json full = Json::parse(R"({"task": {"type": "xor"}, "network": {
        "layers": [{"type": "dense", "out": 3}, {"type": "dense"}], "grid": {"layers_per_cell": 1}},
        "islands": {"count": 2}})");
    const auto notes = [&](const std::string& overrides, const std::string& rate) {
        return experiment(full,
                          {"islands.overrides=" + overrides, "mutation.layer_insert_rate=" + rate})
            .notes;
    };
    using testing::ElementsAre;
    using testing::StartsWith;
    EXPECT_THAT(notes(R"([{"mutation": {"layer_insert_rate": 0.1}}, {}])", "0"),
                ElementsAre(StartsWith("islands.overrides[0].mutation.layer_insert_rate does "
                                       "nothing: no slot")));
    EXPECT_THAT(notes(R"([{}, {"mutation": {"layer_insert_rate": 0.1}}])", "0.2"),
                ElementsAre(StartsWith("mutation.layer_insert_rate, "
                                       "islands.overrides[1].mutation.layer_insert_rate do ")));
    EXPECT_TRUE(notes(R"([{}, {"mutation": {"layer_remove_rate": 0.1}}])", "0.2").empty());
    EXPECT_TRUE(notes(R"([{"mutation": {"layer_insert_rate": 0}}, {}])", "0").empty());
}

TEST(Experiment, RoomInAnyFounderIsRoomForLayers) {
    const TemporaryDirectory directory;
    const auto structure = [&](const std::string& cells) {
        return directory.write(cells + ".json", R"({"network": {"grid": {"layers_per_cell": )" +
                                                    cells + R"(}, "layers": [
            {"type": "dense", "out": 3}, {"type": "dense"}]}})");
    };
    const auto notes = [&](const std::string& initial) {
        return experiment(minimal(), {"network.initial=" + initial, "network.layers=null",
                                      "network.initial_weights=fresh"})
            .notes;
    };
    const std::string full = structure("1");
    EXPECT_THAT(notes(full), testing::ElementsAre(testing::HasSubstr(
                                 "no slot of the network in network.initial is empty")));
    EXPECT_THAT(notes("[\"" + full + "\", \"" + full + "\"]"),
                testing::ElementsAre(
                    testing::HasSubstr("no slot of the networks in network.initial is empty")));
    EXPECT_TRUE(notes("[\"" + full + "\", \"" + structure("2") + "\"]").empty());
}

TEST(Experiment, KeysThatNothingReadsAreTold) {
    const auto notes = [](const std::vector<std::string>& overrides) {
        return experiment(minimal(), overrides).notes;
    };
    using testing::ElementsAre;
    EXPECT_THAT(notes({"species.threshold=1", "species.target=3"}),
                ElementsAre("species.threshold, species.target do nothing: strategy.type is "
                            "\"elite\""));
    EXPECT_THAT(notes({"age_layers.gap=3"}),
                ElementsAre("age_layers.gap does nothing: strategy.type is \"elite\""));
    EXPECT_THAT(notes({"selection.tournament_size=9"}),
                ElementsAre("selection.tournament_size does nothing: selection.type is "
                            "\"truncation\""));
    EXPECT_THAT(notes({"islands.every=7"}),
                ElementsAre("islands.every does nothing: islands.count is 1"));
    EXPECT_THAT(notes({"learning.steps=7"}),
                ElementsAre("learning.steps does nothing: learning.mode is \"off\""));
    EXPECT_THAT(notes({"complexity.patience=7"}),
                ElementsAre("complexity.patience does nothing: complexity.ceiling is 0"));
    EXPECT_THAT(notes({"mutation.layer_widen_units=7"}),
                ElementsAre("mutation.layer_widen_units does nothing: mutation.layer_widen_rate "
                            "is 0"));
    EXPECT_THAT(notes({"species.young_age=5", "species.old_age=7", "strategy.type=species"}),
                ElementsAre("species.young_age does nothing: species.young_boost is 1",
                            "species.old_age does nothing: species.old_penalty is 1"));
    EXPECT_THAT(notes({"species.distance.weight=3"}),
                ElementsAre("species.distance.weight does nothing: strategy.type is \"elite\" "
                            "(cambrian compare alone reads it)"));
    for (const std::vector<std::string>& read : std::vector<std::vector<std::string>>{
             {"species.threshold=1", "strategy.type=species"},
             {"age_layers.gap=3", "strategy.type=age_layers"},
             {"selection.tournament_size=9", "selection.type=tournament"},
             {"mutation.layer_widen_units=7", "mutation.layer_widen_rate=0.1"},
             {"species.young_age=5", "species.young_boost=2", "strategy.type=species"},
             {"species.old_age=7", "species.old_penalty=0.5", "strategy.type=species"},
             // The young are never old.
             {"species.young_age=40", "species.old_penalty=0.5", "strategy.type=species"},
             {"species.distance.weight=3", "strategy.type=species"},
             {"islands.every=7", "islands.count=2"}})
        EXPECT_TRUE(notes(read).empty()) << read.front();
}

TEST(Experiment, GenesThatNoLayerReadsAreTold) {
    const auto notes = [](const std::string& layer, const std::vector<std::string>& settings) {
        const Json json = Json::parse(R"({"task": {"type": "cart_pole"}, "network": {"layers": [)" +
                                      layer + R"(]}, "genome": {"type": "neat"}})");
        return experiment(json, settings).notes;
    };
    using testing::ElementsAre;
    const std::string plain = R"({"type": "neurons"})";
    const std::string plastic = R"({"type": "neurons", "plastic": true})";
    const std::string continuous = R"({"type": "neurons", "continuous": true})";
    EXPECT_THAT(notes(plain, {}), ElementsAre());
    EXPECT_THAT(notes(plain, {"genome.plastic_rate=0"}), ElementsAre()) << "as it is";
    EXPECT_THAT(notes(continuous, {"genome.plastic_rate=0.5", "genome.rule.power=1"}),
                ElementsAre("genome.rule.power does nothing: no layer of the network has "
                            "\"plastic\": true",
                            "genome.plastic_rate does nothing: no layer of the network has "
                            "\"plastic\": true"));
    EXPECT_THAT(notes(plastic, {"genome.time_constant.perturb_rate=0.5"}),
                ElementsAre("genome.time_constant.perturb_rate does nothing: no layer of the "
                            "network has \"continuous\": true"));
    EXPECT_THAT(notes(plastic, {"genome.plastic_rate=0.5", "genome.rule.power=1"}), ElementsAre());
    EXPECT_THAT(notes(continuous, {"genome.time_constant.perturb_rate=0.5"}), ElementsAre());
    EXPECT_THAT(notes(plain, {"genome.delay_rate=0.5", "genome.largest_delay=3"}).size(), 2U);
    EXPECT_THAT(notes(plain, {"genome.activation_rate=0.5", "genome.aggregation_rate=0.5"}),
                ElementsAre("genome.activation_rate does nothing: genome.activations has one entry",
                            "genome.aggregation_rate does nothing: genome.aggregations has one "
                            "entry"));
    EXPECT_THAT(
        notes(plain, {"genome.activation_rate=0.5", R"(genome.activations=["tanh", "relu"])"}),
        ElementsAre());
    const std::string hidden = R"({"type": "neurons", "neurons": [{}, {}, {"activation": "relu"}],
        "connections": [{"source": 0, "target": 2}, {"source": 6, "target": 0}]})";
    EXPECT_THAT(notes(hidden, {"genome.activation_rate=0.5", "genome.aggregation_rate=0.5"}).size(),
                1U)
        << "the neuron may become steep_sigmoid";
}

TEST(Experiment, RatesOfACppnThatHasNoChoiceAreTold) {
    const Json json = Json::parse(R"({"task": {"type": "retina"}, "network": {"layers": [
        {"type": "neurons"}]}, "genome": {"type": "hyperneat", "substrate": {"type": "layers"},
        "activation_rate": 0.5, "aggregation_rate": 0.5}})");
    const std::string sums =
        "genome.aggregation_rate does nothing: genome.aggregations has one entry";
    using testing::ElementsAre;
    EXPECT_THAT(experiment(json, {}).notes, ElementsAre(sums));
    const std::string one = R"(genome.activations=["tanh"])";
    EXPECT_THAT(experiment(json, {one}).notes,
                ElementsAre(testing::StartsWith("genome.activation_rate does nothing"), sums));
    EXPECT_THAT(experiment(json, {one, R"(genome.substrate.locality=["x"])",
                                  "genome.substrate.link_expression=true"})
                    .notes,
                ElementsAre(sums))
        << "its bells may become tanh";
    EXPECT_THROW((void)experiment(json, {"genome.activations=[]"}), ConfigError);
}

TEST(Experiment, FoundersOfFilesHaveAllTheirConnections) {
    const TemporaryDirectory directory;
    const std::string structure =
        directory.write("start.json", R"({"network": {"layers": [{"type": "neurons"}]}})");
    const Json json = Json::parse(R"({"task": {"type": "xor"}, "genome": {"type": "neat",
        "initial_connection_rate": 0.5}})");
    EXPECT_THAT(experiment(json, {"network.initial=" + structure}).notes,
                testing::ElementsAre(
                    "genome.initial_connection_rate does nothing: network.initial is set"));
    EXPECT_THAT(experiment(json, {R"(network.layers=[{"type": "neurons"}])"}).notes,
                testing::ElementsAre());
}

TEST(Experiment, GivesFieldsToNewLayers) {
    const auto given = [](const std::string& layers) {
        return experiment(minimal(), {"mutation.layers=" + layers}).variation.mutation.layers;
    };
    EXPECT_TRUE(given("[]").empty());
    const std::vector<AnyLayer> layers = given(
        R"([{"type": "multi_head_attention", "heads": 2}, {"type": "conv2d", "kernel": 5, "padding": 2}])");
    ASSERT_EQ(layers.size(), 2U);
    EXPECT_EQ(std::get<MultiHeadAttention>(layers[0].variant()).heads, 2);
    EXPECT_EQ(std::get<Conv2d>(layers[1].variant()).kernel, AxisValues(5));
    EXPECT_THAT(failure<ConfigError>([&] { (void)given(R"([{"type": "conv2d", "kernels": 5}])"); }),
                testing::HasSubstr("mutation.layers[0]"));
}

TEST(Config, EqualSettingsHaveEqualIdentity) {
    const Schema schema;
    const auto identity = [&](const std::vector<std::string>& overrides) {
        return nlohmann::json(
                   keys_of_class(schema, *resolved(minimal(), overrides).written, "identity"))
            .dump();
    };
    EXPECT_EQ(identity({"splice.alpha=1"}), identity({"splice.alpha=1.0"}));
    EXPECT_EQ(identity({}),
              identity({"population.size=256", "engine.threads=3", "distributed.shard_size=4",
                        "log.individuals=none", "log.interval=1", "log.tensorboard=true",
                        "run.stop.generations=3", "checkpoint.keep=9", "run.name=x"}));
    EXPECT_NE(identity({}), identity({"population.size=255"}));
    EXPECT_NE(identity({}), identity({"engine.math=strict"}));
}

TEST(Nearest, ForgivesSlipsButNotOtherWords) {
    const std::vector<std::string> words{"size", "elite_fraction", "reevaluate"};
    EXPECT_EQ(nearest("sise", words), "size");
    EXPECT_EQ(nearest("elitefraction", words), "elite_fraction");
    EXPECT_EQ(nearest("rEevaluate", words), "reevaluate");
    EXPECT_EQ(nearest("temperature", words), std::nullopt);
    EXPECT_EQ(nearest(std::string(100000, 'x'), words), std::nullopt);
}

}  // namespace
}  // namespace cambrian::launch
