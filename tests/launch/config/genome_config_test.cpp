#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// The section "genome" of a config, and what comes of it.
namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;

std::string write_neat(const TemporaryDirectory& directory) {
    return directory.write("neat.json", R"({
        "run": {"directory": ")" + directory.file("run") +
                                            R"(", "stop": {"generations": 6}},
        "engine": {"backend": "cpu"}, "population": {"size": 40}, "task": {"type": "xor"},
        "genome": {"type": "neat", "node_add_rate": 0.5, "connection_add_rate": 0.5},
        "network": {"layers": [{"type": "neurons"}]}})");
}

void expect_config_refused(const std::string& config, const std::vector<std::string>& settings,
                           const std::string& text) {
    std::vector<std::string> arguments{"evolve", config, "--dry-run"};
    for (const std::string& setting : settings) {
        arguments.emplace_back("--set");
        arguments.push_back(setting);
    }
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 2) << text << "\n" << result.out;
    EXPECT_THAT(result.err, HasSubstr(text));
}

void expect_refused(const TemporaryDirectory& directory, const std::vector<std::string>& settings,
                    const std::string& text) {
    expect_config_refused(write_neat(directory), settings, text);
}

TEST(GenomeConfig, EvolvesAndReadsNeat) {
    const TemporaryDirectory directory;
    const Result evolved = run({"evolve", write_neat(directory), "--quiet"});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const std::string best = directory.file("run/best.cmb");
    const distributed::NetworkFile file = distributed::read_network(best);
    ASSERT_EQ(file.genome.neuron_genes.size(), 1U);
    EXPECT_EQ(run({"evaluate", best, "--set", "engine.backend=cpu"}).code, 0);
    EXPECT_EQ(run({"inspect", best}).code, 0);
    // Genes go to safetensors and back.
    const std::string tensors = directory.file("best.safetensors");
    ASSERT_EQ(run({"convert", best, tensors}).code, 0);
    const std::string back = directory.file("back.cmb");
    ASSERT_EQ(run({"convert", tensors, back}).code, 0);
    EXPECT_EQ(distributed::read_network(back).genome, file.genome);
    // And into another run.
    const Result second =
        run({"evolve", write_neat(directory), "--quiet", "--set", "network.initial=" + best,
             "--set", "network.layers=null", "--set", "run.directory=" + directory.file("second")});
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_GE(distributed::read_network(directory.file("second/best.cmb")).fitness, file.fitness);
}

TEST(GenomeConfig, TranslatesNamesOfOtherPrograms) {
    const TemporaryDirectory directory;
    for (const auto& [theirs, ours] : std::vector<std::pair<std::string, std::string>>{
             {"conn_add_prob", "connection_add_rate"},
             {"node_add_prob", "node_add_rate"},
             {"conn_delete_prob", "connection_delete_rate"},
             {"node_delete_prob", "node_delete_rate"},
             {"enabled_mutate_rate", "connection_toggle_rate"},
             {"weight_mutate_rate", "weight.perturb_rate"},
             {"weight_mutate_power", "weight.power"},
             {"weight_replace_rate", "weight.replace_rate"},
             {"weight_init_stdev", "weight.deviation"},
             {"bias_mutate_power", "bias.power"},
             {"bias_max_value", "bias.largest"},
             {"activation_options", "activations"},
             {"activation_default", "activations"},
             {"activation_mutate_rate", "activation_rate"},
             {"aggregation_options", "aggregations"},
             {"initial_connection", "initial_connection_rate"}}) {
        expect_refused(directory, {"genome." + theirs + "=1"},
                       "Cambrian calls it genome." + ours + " of type neat");
    }
    for (const auto& [theirs, advice] : std::vector<std::pair<std::string, std::string>>{
             {"num_hidden", "network.initial begins with one that has some"},
             {"num_inputs", "the task says how many inputs"},
             {"enabled_default", "genome.connection_toggle_rate switches them"},
             {"single_structural_mutation", "each with a rate of its own"},
             {"response_mutate_power", "a bias and no response"},
             {"no_fitness_termination", "leave run.stop.fitness out"}})
        expect_refused(directory, {"genome." + theirs + "=1"}, advice);
    expect_refused(directory, {"genome.node_ad_rate=1"}, "did you mean genome.node_add_rate?");
}

TEST(GenomeConfig, RefusesWhatDoesNotFit) {
    const TemporaryDirectory directory;
    expect_refused(directory, {"genome.type=neet"}, "known: hyperneat, neat, volumetric");
    expect_refused(
        directory, {"genome={\"node_add_rate\": 1}"},
        "genome.node_add_rate is not a known key (genome of type \"volumetric\" has: type)");
    expect_refused(directory, {"genome.node_add_rate=2"}, "a number at least 0.0 and at most 1.0");
    expect_refused(directory, {"genome.weight.noise=\"normall\""}, "did you mean \"normal\"?");
    expect_refused(directory, {"genome.feed_forward=false"}, "the task has no time");
    expect_refused(
        directory, {"mutation.weight_power=0.5"},
        "mutation.weight_power is 0.5 (genome.type is \"neat\", which does not read it)");
    expect_refused(directory, {"mutation.layer_insert_rate=0.5"},
                   "mutation.layer_insert_rate is 0.5 (genome.type is \"neat\"");
    expect_refused(directory, {"mutation.layers=[{\"type\": \"dropout\"}]"},
                   "mutation.layers is [{\"type\":\"dropout\"");
    expect_refused(directory, {"splice.mode=point"}, "splice.mode is \"point\"");
    expect_refused(directory, {"network.layers=[{\"type\": \"dense\"}]"},
                   "the network has no layer of single neurons");
    expect_refused(
        directory,
        {"islands.count=2", "islands.overrides=[{}, {\"genome\": {\"type\": \"volumetric\"}}]"},
        "islands exchange genomes");
}

TEST(GenomeConfig, MayDifferBetweenIslands) {
    const TemporaryDirectory directory;
    // With the type of all or without it.
    for (const std::string type : {"\"type\": \"neat\", ", ""}) {
        const Result result =
            run({"evolve", write_neat(directory), "--quiet", "--set",
                 "run.directory=" + directory.file(type.empty() ? "without" : "with"), "--set",
                 "islands.count=2", "--set",
                 "islands.overrides=[{}, {\"genome\": {" + type + "\"node_add_rate\": 0}}]"});
        EXPECT_EQ(result.code, 0) << result.err;
    }
    expect_refused(directory,
                   {"islands.count=2", "islands.overrides=[{}, {\"genome\": {\"node_ad\": 0}}]"},
                   "genome of type \"neat\"");
    // Of another type: that is chosen for all.
    expect_refused(directory,
                   {"genome={\"type\": \"volumetric\"}", "islands.count=2",
                    "islands.overrides=[{}, {\"genome\": {\"node_add_rate\": 0}}]"},
                   "set genome.type to ");
}

std::string write_hyperneat(const TemporaryDirectory& directory) {
    return directory.write("hyperneat.json", R"({
        "run": {"directory": ")" + directory.file("run") +
                                                 R"(", "stop": {"generations": 6}},
        "engine": {"backend": "cpu"}, "population": {"size": 40}, "task": {"type": "xor"},
        "strategy": {"type": "species"},
        "genome": {"type": "hyperneat", "node_add_rate": 0.5, "connection_add_rate": 0.5,
                   "substrate": {"hidden": [{"shape": [3]}], "bias": true}},
        "network": {"layers": [{"type": "neurons"}]}})");
}

void expect_hyperneat_refused(const TemporaryDirectory& directory,
                              const std::vector<std::string>& settings, const std::string& text) {
    expect_config_refused(write_hyperneat(directory), settings, text);
}

TEST(GenomeConfig, EvolvesHyperneat) {
    const TemporaryDirectory directory;
    const Result evolved = run({"evolve", write_hyperneat(directory), "--quiet"});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const std::string best = directory.file("run/best.cmb");
    const std::string genotype = directory.file("run/best_genotype.cmb");
    const distributed::NetworkFile network = distributed::read_network(best);
    EXPECT_EQ(network.genome.blueprint.input_features, 2);
    EXPECT_TRUE(network.genome.neuron_genes.empty());
    const distributed::NetworkFile cppn = distributed::read_network(genotype);
    EXPECT_EQ(cppn.genome.blueprint.input_features, 4);
    EXPECT_EQ(cppn.genome.blueprint.output_features, 2);
    EXPECT_EQ(cppn.fitness, network.fitness);
    // What is evaluated there is what the run has evaluated.
    const Result evaluated = run({"evaluate", best, "--set", "engine.backend=cpu"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out, HasSubstr(fmt::format("fitness {:.6g}", network.fitness)));
    EXPECT_EQ(run({"inspect", best}).code, 0);
    EXPECT_EQ(run({"inspect", genotype}).code, 0);
    // A checkpoint has genotypes; what is taken out of it, both.
    const Result extracted = run({"extract", directory.file("run"), "--elite", "1"});
    ASSERT_EQ(extracted.code, 0) << extracted.err;
    const auto elite = distributed::read_network(directory.file("run/elites/elite-1.cmb"));
    EXPECT_EQ(elite.genome.blueprint.input_features, 2);
    const auto elite_genotype =
        distributed::read_network(directory.file("run/elites/genotypes/elite-1.cmb"));
    EXPECT_EQ(elite_genotype.genome.blueprint.input_features, 4);
    // And another run goes on from a genotype.
    const Result second = run({"evolve", write_hyperneat(directory), "--quiet", "--set",
                               "network.initial=" + genotype, "--set", "network.layers=null",
                               "--set", "run.directory=" + directory.file("second")});
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_GE(distributed::read_network(directory.file("second/best.cmb")).fitness,
              network.fitness);
    expect_hyperneat_refused(directory, {"network.initial=" + best, "network.layers=null"},
                             "it is no genotype");
}

TEST(GenomeConfig, KeepsGenotypesApartFromNetworks) {
    const TemporaryDirectory directory;
    // As many inputs and outputs as its networks have.
    const std::string task = R"({"type": "parity", "bits": 4})";
    const std::vector<std::string> alike{"task=" + task, R"(genome.substrate={"bias": false})"};
    std::vector<std::string> arguments{"evolve", write_hyperneat(directory), "--quiet"};
    for (const std::string& setting : alike) arguments.insert(arguments.end(), {"--set", setting});
    const Result evolved = run(arguments);
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const std::string genotype = directory.file("run/best_genotype.cmb");
    const std::string child = directory.file("child.cmb");
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"evaluate", genotype},
             {"infer", genotype, "--input", "none.csv"},
             {"generate", genotype, "--prompt", "a"},
             {"check", genotype},
             {"compare", genotype, genotype},
             {"quantise", genotype, "--dtype", "int8"},
             {"splice", genotype, genotype, "-o", child, "--mode", "neat"},
             {"splice", directory.file("run/best.cmb"), genotype, "-o", child},
             {"splice", genotype, genotype, "-o", child, "--mode", "graft"},
             {"convert", genotype, directory.file("genotype.safetensors")}}) {
        const Result result = run(command);
        EXPECT_NE(result.code, 0);
        EXPECT_THAT(result.err, AllOf(HasSubstr("best_genotype.cmb is a genotype"),
                                      HasSubstr("give that network: the best.cmb")));
    }
    // Genes are compared as those of genotypes, answers as those of the networks.
    EXPECT_EQ(run({"compare", genotype, genotype, "--measure", "history"}).code, 0);
    for (const char* measure : {"history", "activation"}) {
        const Result compared = run({"compare", directory.file("run"), "--measure", measure});
        EXPECT_EQ(compared.code, 0) << measure << compared.err;
    }
    for (const std::string& initial : {genotype, directory.file("run")}) {
        const std::string setting = "network.initial=" + initial;
        expect_refused(directory, {"task=" + task, setting, "network.layers=null"},
                       "it is a genotype (its run has genome.type \"hyperneat\"");
        std::vector<std::string> again = arguments;
        again.insert(again.end(), {"--dry-run", "--set", setting, "--set", "network.layers=null",
                                   "--set", "run.directory=" + directory.file("second")});
        const Result result = run(again);
        EXPECT_EQ(result.code, 0) << result.err;
    }
    std::vector<std::string> settings = alike;
    settings.insert(settings.end(),
                    {"network.initial=" + directory.file("run/best.cmb"), "network.layers=null"});
    expect_hyperneat_refused(directory, settings, "it is no genotype");
}

TEST(GenomeConfig, RefusesHyperneatThatDoesNotFit) {
    const TemporaryDirectory directory;
    const auto refused = [&](const std::string& setting, const std::string& text) {
        expect_hyperneat_refused(directory, {setting}, text);
    };
    refused("genome.feed_forward=false", "a CPPN sees two places");
    refused("genome.substrate.recurrent=true", "the task has no time");
    refused("genome.substrate.type=evolved", "genome.substrate.hidden is set");
    refused("genome.substrate.typ=evolved", "did you mean genome.substrate.type?");
    refused("genome.substrate.inputs={\"shape\": [3]}", "inputs has 3 nodes (the task has 2");
    for (const char* none : {"0", "1e-46"})
        refused(std::string("genome.substrate.maximum_weight=") + none, "at least 1.2e-38");
    refused("splice.mode=point", "genome.type is \"hyperneat\", which does not read it");
    refused("network.layers=[{\"type\": \"dense\"}]", "a CPPN draws the neurons");
    refused("learning.mode=baldwinian", "learning.mode");
    refused("genome.plastic_rate=0.5", "genome.plastic_rate is set (genome.type is \"hyperneat\"");
    refused("genome.plastic_toggle_rate=0.5", "genome.plastic_toggle_rate is set");
    refused("genome.rule.power=0.5", "genome.rule is set");
    refused("genome.learning_rate.power=0.5", "genome.learning_rate is set");
    refused("genome.time_constant.perturb_rate=0.5", "genome.time_constant is set");
    expect_hyperneat_refused(
        directory,
        {"islands.count=2",
         "islands.overrides=[{}, {\"genome\": {\"type\": \"hyperneat\", \"substrate\": {\"bias\": "
         "false}}}]"},
        "islands.overrides[1].genome.substrate is set");
}

TEST(GenomeConfig, IsExplained) {
    EXPECT_THAT(run({"explain", "genome.substrate.search.band_threshold"}).out, HasSubstr("0.3"));
    EXPECT_THAT(run({"explain", "genome.node_add_rate"}).out,
                AllOf(HasSubstr("0.03"), HasSubstr("Exact for the activation identity")));
    EXPECT_THAT(run({"explain", "genome.time_constant.least"}).out, HasSubstr("0.1"));
    EXPECT_THAT(run({"explain", "genome.type"}).out, HasSubstr("volumetric"));
}

TEST(GenomeConfig, TakesTheKindsOfAProgram) {
    evolve::GenomeRegistry genomes = evolve::standard_genomes();
    genomes.add({"mine", "A kind of this test.",
                 [](const nlohmann::json& settings, const evolve::GenomeContext& context) {
                     evolve::GenomeContext own = context;
                     own.mutation.weight_power = settings.at("boldness").get<float>();
                     return make_volumetric(own);
                 },
                 [](nlohmann::ordered_json& schema) {
                     schema["properties"]["boldness"] = {{"type", "number"},
                                                         {"default", 0.5},
                                                         {"x-class", "identity"},
                                                         {"description", "Of this test."}};
                 }});
    EXPECT_THROW(genomes.add({"mine", "",
                              [](const nlohmann::json&, const evolve::GenomeContext& c) {
                                  return make_volumetric(c);
                              },
                              nullptr}),
                 ConfigError);
    const TemporaryDirectory directory;
    std::ostringstream out;
    std::ostringstream err;
    const int code =
        run_program({"evolve", test::write_xor(directory), "--quiet", "--set", "genome.type=mine"},
                    evolve::standard_tasks(), out, err, evolve::standard_strategies(), genomes);
    EXPECT_EQ(code, 0) << err.str();
    std::ostringstream config;
    EXPECT_EQ(run_program({"explain", "genome.boldness"}, evolve::standard_tasks(), config, err,
                          evolve::standard_strategies(), genomes),
              0);
    EXPECT_THAT(config.str(), HasSubstr("Of this test."));
}

}  // namespace
}  // namespace cambrian::launch
