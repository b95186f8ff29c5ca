#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cambrian/launch/config/nearest.hpp"
#include "cambrian/tests/launch/config/config_support.hpp"

namespace cambrian::launch::config_tests {
namespace {

using testing::HasSubstr;

TEST(Config, NamesTheNearestKeyOnce) {
    const std::string text = refusal(minimal(), {"population.sise=3"});
    EXPECT_THAT(text, HasSubstr("population.sise is not a known key"));
    EXPECT_THAT(text, HasSubstr("--set population.sise=3"));
    EXPECT_THAT(text, HasSubstr("did you mean population.size?"));
    EXPECT_EQ(text.find("population.size"), text.rfind("population.size"));
}

/// Assignments that are refused, and what is said of each.
using Refusals = std::vector<std::pair<const char*, testing::Matcher<std::string>>>;
void expect_refused(const Refusals& refusals) {
    for (const auto& [assignment, said] : refusals)
        EXPECT_THAT(refusal(minimal(), {assignment}), said) << assignment;
}

TEST(Config, TranslatesNamesOfOtherPrograms) {
    expect_refused({
        {"mutation.conn_add_prob=0.5", HasSubstr("Cambrian calls it mutation.link_add_rate")},
        {"pop_size=5", HasSubstr("Cambrian calls it population.size")},
        {"population.populationSize=5", HasSubstr("Cambrian calls it population.size")},
    });
}

TEST(Config, FindsAKeyInAnotherSection) {
    expect_refused({
        {"lease_seconds=5", HasSubstr("did you mean distributed.lease_seconds?")},
        {"mutation.node_add_rate=0.5",
         HasSubstr("did you mean genome.node_add_rate of type neat?")},
        {"mutation.delay_rate=0.5", HasSubstr("did you mean genome.delay_rate of type neat?")},
        {"mutation.window=5", HasSubstr("did you mean steady_state.window?")},
        {"weight_power=0.3", HasSubstr("did you mean mutation.weight_power?")},
        {"learning_rate=0.1", HasSubstr("did you mean training.learning_rate?")},
        {"layers=3", HasSubstr("did you mean network.layers?")},
    });
}

TEST(Config, NamesTheTypesThatHaveAKey) {
    expect_refused({
        {"genome.node_add_rate=0.5",
         testing::EndsWith("set genome.type to one that has it: neat, hyperneat")},
        {"genome.substrate={}", testing::EndsWith("set genome.type to hyperneat")},
        {"task.episodes=5", HasSubstr("set task.type to one that has it: cart_pole, ")},
    });
}

TEST(Config, RefusesWrongTypesAndValues) {
    expect_refused({
        {"population.size=0",
         testing::AllOf(HasSubstr("population.size is 0"), HasSubstr("an integer at least 1"))},
        {"population.size=many", HasSubstr("population.size is \"many\"")},
        {"population.size=2.5", HasSubstr("an integer")},
        {"population=5", HasSubstr("a section {...}")},
        {"splice.rate=1.5", HasSubstr("at most 1")},
        {"splice.mode=blendd", HasSubstr("did you mean \"blend\"?")},
        {"engine.threads=0", HasSubstr("\"affinity\" or an integer at least 1")},
        {"engine.memory_limit=much", HasSubstr("engine.memory_limit is \"much\"")},
        {"network.layers=[{\"type\":\"dens\"}]", HasSubstr("did you mean \"dense\"?")},
    });
    EXPECT_THAT(refusal(Json::object()), HasSubstr("task is missing"));
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
    EXPECT_THAT(refusal(minimal(), {"population.size"}), HasSubstr("no key=value"));
    EXPECT_THAT(refusal(minimal(), {"population..size=3"}), HasSubstr("empty part"));
}

TEST(Config, StopsAfterAHundredGenerationsOnlyWithoutAnotherCriterion) {
    EXPECT_EQ(resolved(minimal()).effective->at("run").at("stop").dump(), R"({"generations":100})");
    EXPECT_EQ(resolved(minimal(), {"run.stop.seconds=5"}).effective->at("run").at("stop").dump(),
              R"({"seconds":5.0})");
}

TEST(Config, TheSteadyStateStopsAfterTheBirthsOfAHundredGenerations) {
    const auto stop = [](std::vector<std::string> overrides, const char* block) {
        overrides.insert(overrides.begin(), {"steady_state.window=24", "population.size=150",
                                             std::string("steady_state.block=") + block});
        const ResolvedConfig config = resolved(minimal(), overrides);
        EXPECT_EQ(config.written->at("run").at("stop"), config.effective->at("run").at("stop"));
        return config.effective->at("run").at("stop").dump();
    };
    EXPECT_EQ(stop({}, "1"), R"({"generations":15000})");
    EXPECT_EQ(stop({}, "8"), R"({"generations":1875})");
    EXPECT_EQ(stop({"run.stop={}"}, "12"), R"({"generations":1250})");
    EXPECT_EQ(stop({"population.size=151"}, "8"), R"({"generations":1888})");
    EXPECT_EQ(stop({"run.stop.generations=100"}, "8"), R"({"generations":100})");
    EXPECT_EQ(stop({"run.stop.evaluations=9"}, "8"), R"({"evaluations":9})");
}

TEST(Config, BlanksCommentsOutsideStringsOnly) {
    EXPECT_EQ(without_comments("{ \"a\": \"http://x\" } // why"), "{ \"a\": \"http://x\" }       ");
    EXPECT_EQ(parse_config("{ // one\n \"a\\\"//\": 1 }", "x").dump(), R"({"a\"//":1})");
}

TEST(Config, MayBeAsLongAsANetworkNeeds) {
    EXPECT_EQ(parse_config(std::string(std::size_t{16} << 20U, ' ') + "{}", "x").dump(), "{}");
}

TEST(Config, IsRefusedWhereNoFileOfANetworkCanKeepIt) {
    const Json config{{"own", std::string(std::size_t{9} << 20U, '"')}};
    EXPECT_THAT(failure<ConfigError>([&] { (void)identity_text(Schema(), config); }),
                HasSubstr("cannot be kept in the files of its networks"));
}

TEST(Config, SaysWhereJsonIsBroken) {
    const std::string text =
        failure<ConfigError>([] { (void)parse_config("{\n  \"a\": 1,,\n}", "x.json"); });
    EXPECT_THAT(text, HasSubstr("x.json:2:10: broken JSON"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config("{\"a\":1,\"a\":2}", "x.json"); }),
                HasSubstr("twice"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config(std::string(5000, '['), "x.json"); }),
                HasSubstr("nested too deeply"));
    EXPECT_THAT(failure<ConfigError>([] { (void)parse_config("", "x.json"); }),
                HasSubstr("x.json:1:1: broken JSON"));
}

TEST(Config, RefusesHostileFilesInTheUsualGrammar) {
    const auto refuses = [](const std::string& text, const std::string& why) {
        const std::string said = failure<ConfigError>([&] { (void)parse_config(text, "x.json"); });
        EXPECT_THAT(said, HasSubstr(why));
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
        EXPECT_THAT(said, HasSubstr(why));
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
                    testing::AllOf(HasSubstr(std::string(key) + " is 1e+300"),
                                   HasSubstr("at most 1000000")));
    for (const char* bytes :
         {"18446744073709551615", "9223372036854775808", "4611686018427387905000"})
        EXPECT_THAT(refusal(minimal(), {std::string("engine.memory_limit=") + bytes}),
                    testing::AllOf(HasSubstr("engine.memory_limit is "),
                                   HasSubstr("from 1 to 2^62 bytes")));
    EXPECT_THAT(refusal(minimal(), {"engine.memory_limit=" + std::string(60'000, '1') + "B"}),
                HasSubstr("engine.memory_limit is "));
    EXPECT_NO_THROW((void)resolved(minimal(), {"engine.memory_limit=4611686018427387904",
                                               "distributed.lease_seconds=1000000"}));
}

TEST(Config, RefusesAnEnvironmentThatIsNoText) {
    Json config = minimal();
    config["run"] = Json::parse(R"({"name": "${NAME}"})");
    const auto environment = [](const std::string&) { return std::optional<std::string>("\xff"); };
    EXPECT_THAT(failure<ConfigError>([&] { (void)resolved(config, {}, environment); }),
                testing::AllOf(HasSubstr("NAME"), HasSubstr("UTF-8")));
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
    EXPECT_THAT(result.err, HasSubstr("(allowed: a list of 1 to 65537)"));
}

TEST(Config, IsValidWhereAnEpisodeOfItsProgramWorks) {
    const TemporaryDirectory directory;
    const auto validated = [&](const std::string& answer) {
        directory.write(
            "program.sh",
            "read hello; echo '{\"protocol\": 1, \"observations\": 1, \"actions\": 1}'\n"
            "read reset; " +
                answer + "\nread step; exit 7\n");
        return test::run({"validate", directory.write("external.json",
                                                      R"({"task": {"type": "external",
                                          "command": ["sh", "program.sh"], "steps": 1}})")});
    };
    const test::Result failed = validated("exit 7");
    EXPECT_EQ(failed.code, 2) << failed.out;
    EXPECT_THAT(failed.err, HasSubstr("when sh was tried once, the program is gone"));
    const test::Result works = validated(
        "echo '{\"observations\": [[1]]}'; read step; echo "
        "'{\"observations\": [[1]], \"rewards\": [1], \"done\": [true]}'");
    EXPECT_EQ(works.code, 0) << works.err;
    EXPECT_THAT(works.out, HasSubstr("tried       an episode of 1 step"));
}

TEST(Config, ExtendsAnotherFileDeeply) {
    const TemporaryDirectory directory;
    directory.write("sub/base.json", R"({"task": {"type": "xor"}, "population": {"size": 9}})");
    directory.write("own.json", R"({"$schema": "s", "extends": "sub/base.json",
                                    "population": {"elite_fraction": 0.5}})");
    const ConfigDocument document = read_config(directory.path() / "own.json", {});
    EXPECT_EQ(document.json->at("population").dump(), R"({"size":9,"elite_fraction":0.5})");
    EXPECT_EQ(document.base_directory, directory.path());
    EXPECT_THAT(document.origins.of("population.size"), HasSubstr("sub/base.json"));
    EXPECT_THAT(document.origins.of("population.elite_fraction"), HasSubstr("own.json"));
}

TEST(Config, NullTakesAKeyAwayFromWhatIsExtended) {
    const TemporaryDirectory directory;
    directory.write("base.json", R"({"task": {"type": "xor"}, "population": {"size": 9},
                                     "network": 3, "splice": {"rate": null}})");
    directory.write("own.json", R"({"extends": "base.json", "population": {"size": null},
        "run": {"name": "own", "stop": {"solved": null, "seconds": 5}}, "network": {"mode": null}})");
    const ConfigDocument document = read_config(directory.path() / "own.json", {});
    EXPECT_EQ(document.json->at("population").dump(), "{}");
    EXPECT_EQ(document.json->at("run").dump(), R"({"name":"own","stop":{"seconds":5}})");
    EXPECT_EQ(document.json->at("network").dump(), "{}");
    EXPECT_THAT(document.origins.of("run.stop.seconds"), HasSubstr("own.json"));
    EXPECT_THAT(document.origins.of("run.stop"), HasSubstr("own.json"));
    EXPECT_THAT(document.origins.of("network"), HasSubstr("own.json"));
    EXPECT_THAT(document.origins.of("task.type"), HasSubstr("base.json"));
    // There is nothing that it could take away: it is a value.
    EXPECT_TRUE(document.json->at("splice").at("rate").is_null());
}

TEST(Config, NullIsAValueForAnExternalProgram) {
    const TemporaryDirectory directory;
    directory.write("base.json", R"({"task": {"type": "external", "settings": {"a": 1, "b": 2}}})");
    directory.write("own.json", R"({"extends": "base.json",
        "task": {"settings": {"a": null, "c": {"d": null}}}})");
    const Json task = read_config(directory.path() / "own.json", {}).json->at("task");
    EXPECT_EQ(task.at("settings").dump(), R"({"a":null,"b":2,"c":{"d":null}})");
    const auto set = [&](const std::string& assignment) {
        return read_config(directory.path() / "base.json", std::vector{assignment})
            .json->at("task")
            .value("settings", Json())
            .dump();
    };
    EXPECT_EQ(set("task.settings.a=null"), R"({"a":null,"b":2})");
    EXPECT_EQ(set("task.settings.c.d=null"), R"({"a":1,"b":2,"c":{"d":null}})");
    EXPECT_EQ(set("task.settings=null"), "null") << "taken away";
    directory.write("none.json", R"({"extends": "base.json", "task": {"settings": null}})");
    EXPECT_FALSE(
        read_config(directory.path() / "none.json", {}).json->at("task").contains("settings"));
}

TEST(Config, OnlyAFileExtends) {
    const TemporaryDirectory directory;
    directory.write("own.json", R"({"task": {"type": "xor"}})");
    EXPECT_THAT(failure<ConfigError>([&] {
                    (void)read_config(directory.path() / "own.json",
                                      std::vector<std::string>{"extends=base.json"});
                }),
                HasSubstr("only a file extends another"));
}

TEST(Config, RefusesACircleOfExtends) {
    const TemporaryDirectory directory;
    directory.write("a.json", R"({"extends": "b.json"})");
    directory.write("b.json", R"({"extends": "a.json"})");
    EXPECT_THAT(failure<ConfigError>([&] { (void)read_config(directory.path() / "a.json", {}); }),
                HasSubstr("leads back"));
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
                testing::AllOf(HasSubstr("run.name"), HasSubstr("OTHER")));
    config["run"]["name"] = "${OTHER";
    EXPECT_THAT(failure<ConfigError>([&] { (void)resolved(config, {}, environment); }),
                HasSubstr("without \"}\""));
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
}  // namespace cambrian::launch::config_tests
