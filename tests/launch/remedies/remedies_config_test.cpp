#include <gtest/gtest.h>

#include <array>

#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/tests/launch/remedies/remedies_support.hpp"

// Remedies of the config file, the schema, and of the experiment.
namespace cambrian::launch::remedies_config_test {
namespace {

using test::RemedyRow;
using test::task_config;

const std::string config = "config.json";

/// A config of exclusive or with other sections.
std::string xor_config(const std::string& more) {
    return task_config("xor", "", more);
}
/// One with a network.
std::string network_config(const std::string& keys) {
    return xor_config(R"("network": {)" + keys + "}");
}

const std::vector<RemedyRow>& file_rows() {
    static const std::vector<RemedyRow> table{
        {"BrokenJson",
         R"({"task": {"type": "xor"},,})",
         "broken JSON",
         "correct the file",
         {{config, ",,", ""}}},
        {"KeyTwice",
         R"({"task": {"type": "xor", "type": "xor"}})",
         "stands twice",
         "",
         {{config, R"("type": "xor", )", ""}}},
        {"NoSection",
         R"(["task"])",
         "allowed: a section {...}",
         "put the keys into braces",
         {{config, R"(["task"])", R"({"task": {"type": "xor"}})"}}},
        {"DeepNesting",
         R"({"task": {"type": "xor"}, "network": )" + std::string(120, '[') +
             std::string(120, ']') + "}",
         "nested too deeply",
         "",
         {{config, std::string(120, '[') + std::string(120, ']'), "{}"}}},
        {"ExtendsACircle",
         R"({"extends": "config.json", "task": {"type": "xor"}})",
         "leads back",
         "remove one of them",
         {{config, R"("extends": "config.json", )", ""}}},
        {"ExtendsANumber",
         R"({"extends": 3, "task": {"type": "xor"}})",
         "extends is 3",
         "name one file",
         {{config, "3", R"("base.json")"}},
         {{"base.json", "{}"}}},
        {"ExtendsNothing",
         R"({"extends": "bas.json", "task": {"type": "xor"}})",
         "cannot read the config",
         "check the path",
         {{config, "bas.json", "base.json"}},
         {{"base.json", "{}"}}},
        {"SetWithoutValue",
         xor_config(""),
         "there is no key=value",
         "write --set",
         {},
         {},
         {"population.size"},
         {"population.size=64"}},
        {"SetWithTwoDots",
         xor_config(""),
         "the key has an empty part",
         "write it like population.size",
         {},
         {},
         {"population..size=8"},
         {"population.size=8"}},
        {"SetBesideAList",
         network_config(R"("layers": [{"type": "dense"}])"),
         "there is no 5 in network.layers[5].out",
         "set the whole of it",
         {},
         {},
         {"network.layers[5].out=3"},
         {R"(network.layers=[{"type": "dense"}])"}},
    };
    return table;
}

const std::vector<RemedyRow>& schema_rows() {
    static const std::vector<RemedyRow> table{
        {"NoTask",
         "{}",
         "task is missing",
         "add it to the config",
         {{config, "{}", R"({"task": {"type": "xor"}})"}}},
        {"NoType",
         R"({"task": {}})",
         "task.type is missing",
         "add it to {}",
         {{config, "{}", R"({"type": "xor"})"}}},
        {"NearKey",
         xor_config(R"("population": {"sise": 9})"),
         "population.sise is not a known key",
         "did you mean population.size?",
         {{config, "sise", "size"}}},
        {"UnknownKey",
         xor_config(R"("population": {"colour": 9})"),
         "population.colour is not a known key",
         "remove it",
         {{config, R"("colour": 9)", ""}}},
        {"Alias",
         xor_config(R"("population": {"pop_size": 9})"),
         "population.pop_size is not a known key",
         "Cambrian calls it population.size",
         {{config, "pop_size", "size"}}},
        {"AliasInItsOwnSection",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"batch_size": 4})"),
         "training.batch_size is not a known key",
         "Cambrian calls it training.batch",
         {{config, "batch_size", "batch"}}},
        {"AliasOfAnotherTask",
         task_config("xor", R"("max_steps": 9)"),
         "task.max_steps is not a known key",
         "Cambrian calls it task.steps of type cart_pole",
         {{config, "", task_config("cart_pole", R"("steps": 9)")}}},
        {"KeyOfAnotherSection",
         xor_config(R"("lease_seconds": 5)"),
         "lease_seconds is not a known key",
         "did you mean distributed.lease_seconds?",
         {{config, R"("lease_seconds": 5)", R"("distributed": {"lease_seconds": 5})"}}},
        {"KeyOfAnotherType",
         task_config("xor", R"("episodes": 5)"),
         "task.episodes is not a known key",
         "set task.type to one that has it: cart_pole, ",
         {{config, R"("xor")", R"("cart_pole")"}}},
        {"NearTask",
         task_config("xorr", ""),
         R"(task.type is "xorr")",
         R"(did you mean "xor"?)",
         {{config, "xorr", "xor"}}},
        {"UnknownTask",
         task_config("flight", ""),
         R"(task.type is "flight")",
         "use one of these",
         {{config, "flight", "cart_pole"}}},
        {"NearLayer",
         network_config(R"("layers": [{"type": "dens"}])"),
         R"(network.layers[0].type is "dens")",
         R"(did you mean "dense"?)",
         {{config, "dens", "dense"}}},
        {"UnknownSource",
         task_config("dataset", R"("source": {"type": "moon"})"),
         R"(task.source.type is "moon")",
         "choose one of them",
         {{config, "moon", "spirals"}}},
        {"OutOfRange",
         xor_config(R"("splice": {"rate": 1.5})"),
         "splice.rate is 1.5 (allowed: a number at least 0 and at most 1)",
         "see 'cambrian explain splice.rate'",
         {{config, "1.5", "1"}}},
        {"TruthValueAsText",
         xor_config(R"("log": {"tensorboard": "yes"})"),
         R"(log.tensorboard is "yes" (allowed: true or false))",
         "see 'cambrian explain log.tensorboard'",
         {{config, R"("yes")", "true"}}},
        {"NearChoice",
         xor_config(R"("splice": {"mode": "blendd"})"),
         R"(splice.mode is "blendd")",
         R"(did you mean "blend"?)",
         {{config, "blendd", "blend"}}},
        {"NoSectionButANumber",
         xor_config(R"("population": 5)"),
         "allowed: a section {...}",
         "see 'cambrian explain population'",
         {{config, "5", R"({"size": 5})"}}},
        {"MemoryText",
         xor_config(R"("engine": {"memory_limit": "much"})"),
         R"(a size like "4GiB")",
         "see 'cambrian explain engine.memory_limit'",
         {{config, "much", "4GiB"}}},
        {"KeyOfAnElement",
         network_config(R"("build": {"type": "dense_stack", "widths": [3, 0]})"),
         "network.build.widths[1] is 0",
         "see 'cambrian explain network.build.widths'",
         {{config, "[3, 0]", "[3, 1]"}}},
        {"KeyOfALayerInALayer",
         network_config(R"("layers": [{"type": "sequential", "layers": [{"type": "residual",
             "layers": [{"type": "dense", "out": 0.5}]}]}, {"type": "dense"}])"),
         "network.layers[0].layers[0].layers[0].out is 0.5",
         "see 'cambrian explain network.layers[].out'",
         {{config, "0.5", "2"}}},
        {"KeyOfAnotherLayer",
         network_config(
             R"("layers": [{"type": "parallel", "layers": [{"type": "dense", "out": 2}]}, {"type": "dense"}])"),
         "network.layers[0].layers is not a known key",
         "of type",
         {{config, R"("parallel")", R"("sequential")"}}},
        {"MissingValuesOfASource",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"], "missing_values": "skip")"),
         R"(task.source.missing_values is "skip" (allowed: one of "error", "drop", "previous", )"
         R"("mean", "median"))",
         "see 'cambrian explain task.source.missing_values'",
         {{config, "skip", "drop"}}},
    };
    return table;
}

const std::vector<RemedyRow>& experiment_rows() {
    static const std::vector<RemedyRow> table{
        {"LonelyIndividual",
         xor_config(R"("population": {"size": 1})"),
         "no child would ever be born",
         "use a larger population",
         {{config, "1", "2"}}},
        {"AllElites",
         xor_config(R"("population": {"size": 4, "elite_fraction": 1})"),
         "no child would ever be born",
         "or a smaller fraction",
         {{config, R"("elite_fraction": 1)", R"("elite_fraction": 0.5)"}}},
        {"InitialBesideBuild",
         network_config(R"("initial": "x.cmb", "build": {"type": "dense_stack"})"),
         "both say what the network is",
         "keep one of the two",
         {{config, R"("initial": "x.cmb", )", ""}}},
        {"VariableNotSet",
         xor_config(R"("run": {"name": "${NAME")"
                    "}"),
         R"("${" without "}")",
         "write ${NAME}",
         {{config, "${NAME", "name"}}},
        {"OpenBraceOfADirectory",
         xor_config(R"("run": {"directory": "runs/{name"})"),
         R"("{" without "}")",
         "write a key in braces, like {name}",
         {{config, "{name", "{name}"}}},
        {"ChangeOfAnUnknownKey",
         task_config("cart_pole", R"("changes": [{"at": 5, "task": {"forse": -10}}])"),
         "task.changes[0]: task.forse is not a known key",
         "did you mean task.force?",
         {{config, "forse", "force"}}},
        {"ChangeOfAWrongValue",
         task_config("cart_pole", R"("changes": [{"at": 5, "task": {"force": "left"}}])"),
         R"(task.changes[0]: task.force is "left")",
         "see 'cambrian explain task.force'",
         {{config, R"("left")", "-10"}}},
        {"ChangeWithoutATask",
         task_config("cart_pole", R"("changes": [{"at": 5}])"),
         "task.changes[0].task is missing",
         "add it to",
         {{config, R"("at": 5)", R"("at": 5, "task": {"force": 5})"}}},
        {"ChangeBeforeTheRun",
         task_config("cart_pole", R"("changes": [{"at": 0, "task": {"force": 5}}])"),
         "task.changes[0].at is 0",
         "see 'cambrian explain task.changes[].at'",
         {{config, R"("at": 0)", R"("at": 1)"}}},
        {"ChangesInTheWrongOrder",
         task_config("cart_pole", R"("changes": [{"at": 9, "task": {"force": 5}},
                                                 {"at": 4, "task": {}}])"),
         "task.changes[1].at is 4",
         "sort them",
         {{config, R"("at": 9)", R"("at": 3)"}}},
        {"ChangeOfNothing",
         task_config("cart_pole", R"("changes": [{"at": 5, "task": {"force": 10}}])"),
         R"(task.changes[0].task is {"force":10} (the task before is the same)",
         "give it a key with another value",
         {{config, R"("force": 10)", R"("force": 11)"}}},
        {"ChangeOfNothingLeftOut",
         task_config("cart_pole", R"("changes": [{"at": 5, "task": {}}])"),
         "nothing changes",
         "leave the entry out",
         {{config, R"({"at": 5, "task": {}})", ""}}},
        {"ChangeOfTheSchedule",
         task_config("cart_pole",
                     R"("changes": [{"at": 5, "task": {"force": 5, "validation": {"every": 2}}}])"),
         "task.changes[0]: task.validation.every is set",
         "set it in the section task",
         {{config, R"(, "validation": {"every": 2}})", "}"}}},
        {"ChangeOfTheShapes",
         task_config("cart_pole",
                     R"("changes": [{"at": 5, "task": {"bias_input": true, "force": 5}}])"),
         "it gives networks 5 values and reads 2, and task 4 and 2",
         "leave out the keys that decide this",
         {{config, R"("bias_input": true, )", ""}}},
        {"ChangeInTheSteadyState",
         task_config("cart_pole",
                     R"("episode_seeds": "fixed", "changes": [{"at": 5, "task": {"force": 5}}])",
                     R"("steady_state": {"window": 64}, "population": {"reevaluate": "never"})"),
         "task.changes is set and steady_state.window",
         "leave one of them out",
         {{config, R"("steady_state": {"window": 64}, )", ""}}},
        {"ChangeOfATraining",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"epochs": 1})"),
         "task.changes is set (a training has no generations",
         "leave it out",
         {},
         {},
         {R"(task.changes=[{"at": 3, "task": {"loss": {"type": "mae"}}}])"}},
        {"NearKeyOfADirectory",
         xor_config(R"("run": {"directory": "runs/{nam}"})"),
         "{nam} is no key that the config has",
         "did you mean {name}?",
         {{config, "{nam}", "{name}"}}},
        {"AliasOfADirectory",
         xor_config(R"("run": {"directory": "runs/{random_seed}"})"),
         "{random_seed} is no key that the config has",
         "Cambrian calls it {run.seed}",
         {{config, "random_seed", "run.seed"}}},
        {"SectionOfADirectory",
         xor_config(R"("run": {"directory": "runs/{population}"})"),
         "{population} is a section",
         "name a key that is a text, a number, true or false",
         {{config, "{population}", "{population.size}"}}},
        {"RatesBesideIndividualsLeftOut",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"individuals": 3, "learning_rate": [0.1, 0.2]})"),
         "training.individuals is 3",
         "leave it out",
         {{config, R"("individuals": 3, )", ""}}},
        {"RatesBesideIndividualsListed",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"individuals": 3, "learning_rate": [0.1, 0.2]})"),
         "training.individuals is 3",
         "list as many rates",
         {{config, "0.2", "0.2, 0.3"}}},
        {"TargetsWithoutAMethodGetOne",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"targets": {"step": 0.2}})"),
         "training.targets is set (training.method is left out",
         "add a method",
         {{config, R"("targets": {)", R"("method": "target_propagation", "targets": {)"}}},
        {"TargetsWithoutAMethodAreLeftOut",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"targets": {"step": 0.2}})"),
         "training.targets is set (training.method is left out",
         "or leave it out",
         {{config, R"("targets": {"step": 0.2})", ""}}},
        {"TargetsOfTheGradient",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"method": "gradient", "targets": {"step": 0.2}})"),
         "training.targets is set (the method gradient has no targets)",
         R"(set training.method to "target_propagation")",
         {{config, R"("gradient")", R"("target_propagation")"}}},
        {"FrozenWithoutSuchWeights",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"frozen": ["heads"]})"),
         R"(training.frozen names "heads")",
         R"(did you mean "head"?)",
         {{config, R"(["heads"])", R"(["head.bias"])"}}},
        {"AllWeightsFrozen",
         test::csv_config(
             R"("inputs": ["a"], "targets": ["y"])", "",
             R"("network": {"layers": [{"type": "dense", "out": 3}, {"type": "dense"}]},
                             "training": {"frozen": ["hidden", "head"]})"),
         "training.frozen names all weights",
         "leave some of them out",
         {{config, R"("hidden", "head")", R"("hidden")"}}},
        {"MethodThatThereIsNot",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"method": "target_propagatio"})"),
         R"(training.method is "target_propagatio")",
         R"(did you mean "target_propagation"?)",
         {{config, "propagatio", "propagation"}}},
        {"StepsOfSequences",
         R"({"task": {"type": "dataset", "steps": 3, "source": {"type": "delay", "rows": 20, "steps": 4}},
             "training": {}})",
         "task.steps is 3",
         "leave it out",
         {{config, R"("steps": 3, )", ""}}},
        {"UndecayedNamesNothing",
         test::csv_config(R"("inputs": ["a"], "targets": ["y"])", "",
                          R"("training": {"undecayed": ["head.wieght"]})"),
         R"(training.undecayed has "head.wieght" (no parameter of the network is named so)",
         "use names that 'cambrian inspect' lists",
         {{config, "wieght", "weight"}}},
        {"TrainingWithoutSamples",
         xor_config(R"("training": {})"),
         "task xor cannot be trained by gradient",
         R"(use task "dataset")",
         {{config, R"("xor")", R"("dataset", "source": {"type": "xor"})"}}},
        {"TrainingWithoutSamplesEvolves",
         xor_config(R"("training": {})"),
         "task xor cannot be trained by gradient",
         "or 'cambrian evolve'",
         {{config, R"(, "training": {})", ""}}},
        {"LongWarmUpOfRates",
         test::csv_config(
             R"("inputs": ["a"], "targets": ["y"])", "",
             R"("training": {"epochs": 5, "schedule": {"type": "cosine", "warm_up": 5}})"),
         "training.schedule.warm_up is 5 (the training has 5 epochs)",
         "use a shorter one",
         {{config, R"("warm_up": 5)", R"("warm_up": 1)"}}},
        {"StateWithoutTime",
         network_config(R"("layers": [{"type": "rnn", "hidden": 2}, {"type": "dense"}])"),
         "the network keeps state (task xor has no time",
         "use stateless layers",
         {{config, R"("rnn", "hidden")", R"("dense", "out")"}}},
        {"StateInASequence",
         test::table_config(
             R"("inputs": ["a"], "targets": ["y"])",
             R"("network": {"layers": [{"type": "rnn", "hidden": 2}, {"type": "dense"}]})"),
         "task table has no time",
         R"("sequence_length" of a table)",
         {{config, R"("inputs")", R"("sequence_length": 4, "inputs")"}}},
    };
    return table;
}

class ConfigRemedies : public testing::TestWithParam<RemedyRow> {};

TEST_P(ConfigRemedies, Work) {
    test::expect_remedy_works(GetParam());
}

const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(File, ConfigRemedies, testing::ValuesIn(file_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Schema, ConfigRemedies, testing::ValuesIn(schema_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Experiment, ConfigRemedies, testing::ValuesIn(experiment_rows()), name_of);

TEST(EnvironmentRemedy, SetsTheVariable) {
    const Json json = Json::parse(xor_config(R"("run": {"name": "${WORD}"})"));
    const ConfigDocument document = document_from(json, "test.json", ".", {});
    std::map<std::string, std::string> variables;
    const Environment environment = [&](const std::string& name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    EXPECT_THAT(test::failure<ConfigError>([&] { (void)resolve(document, Schema(), environment); }),
                testing::HasSubstr("run 'export WORD=...' first"));
    variables["WORD"] = "x";
    EXPECT_NO_THROW((void)resolve(document, Schema(), environment));
}

/// The engine section of a config with some keys.
Json engine(const std::string& keys) {
    const Json json = Json::parse(xor_config(R"("engine": {"backend": "cpu")" + keys + "}"));
    return resolve(document_from(json, "test.json", ".", {}), Schema()).effective->at("engine");
}

TEST(DeviceRemedy, OfAMemoryLimitIsALimit) {
    const auto settings = [](const std::string& limit) {
        (void)device_settings(engine(R"(, "memory_limit": ")" + limit + "\""), {}, HostDevices{});
    };
    for (const char* limit : {"0%", "101%"})
        EXPECT_THAT(test::failure<ConfigError>([&] { settings(limit); }),
                    testing::HasSubstr("write a share like 80%"));
    EXPECT_NO_THROW(settings("80%"));
    for (const char* limit : {"0B", "9999999999TiB"})
        EXPECT_THAT(test::failure<ConfigError>([&] { settings(limit); }),
                    testing::HasSubstr("write it like 4GiB"));
    EXPECT_NO_THROW(settings("4GiB"));
}

TEST(DeviceRemedy, OfAFallbackIsStrictOrMixed) {
    const auto fallback = [](const std::string& keys) {
        const Json json = engine(R"(, "fallback": "cpu")" + keys);
        (void)fallback_of(json, device_settings(json, {}, HostDevices{}), {});
    };
    EXPECT_THAT(test::failure<ConfigError>([&] { fallback(""); }),
                testing::HasSubstr("set engine.math to strict, or engine.mixed to true"));
    EXPECT_NO_THROW(fallback(R"(, "math": "strict")"));
    EXPECT_NO_THROW(fallback(R"(, "mixed": true)"));
}

TEST(RunRemedy, OfAnotherSettingKeepsItOrTakesAnotherDirectory) {
    const test::TemporaryDirectory directory;
    const auto resolved = [](const std::string& more) {
        return resolve(document_from(Json::parse(xor_config(more)), "test.json", ".", {}),
                       Schema());
    };
    const ResolvedConfig run = resolved(R"("population": {"size": 9})");
    directory.write("run/config.json", run.written->dump());
    const ResolvedConfig other = resolved(R"("population": {"size": 10})");
    const auto check = [&](const std::string& name, const ResolvedConfig& now) {
        check_same_run(directory.path() / name, now, Schema());
    };
    EXPECT_THAT(test::failure<ConfigError>([&] { check("run", other); }),
                testing::HasSubstr("keep it, or start another run in another directory"));
    EXPECT_NO_THROW(check("run", run));
    EXPECT_NO_THROW(check("another", other));
}

}  // namespace
}  // namespace cambrian::launch::remedies_config_test
