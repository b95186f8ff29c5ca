#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "cambrian/evolve/plugins/plugin.hpp"
#include "cambrian/tests/launch/child_process.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::content;
using testing::HasSubstr;
using testing::Not;

std::string plugin(const std::string& name) {
    return std::string(CAMBRIAN_PLUGIN_FOLDER) + "/" + name + ".so";
}

/// Processes of their own: what is loaded stays loaded.
class Plugins : public testing::Test {
  protected:
    struct Ended {
        int code = 0;
        std::string text;
    };
    Ended run(const std::vector<std::string>& arguments) {
        const std::string output = directory_.file("output-" + std::to_string(runs_++));
        test::ChildProcess child(arguments, {.output = output});
        const std::optional<int> code = child.end_within(120.0);
        return {code.value_or(-1000), content(output)};
    }
    void fails(int code, const std::vector<std::string>& arguments, const std::string& text) {
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, code) << ended.text;
        EXPECT_THAT(ended.text, HasSubstr(text));
    }
    /// A run of the example; its directory.
    std::string evolved(const std::string& name, const std::vector<std::string>& more = {}) {
        std::vector<std::string> arguments{"evolve",
                                           CAMBRIAN_SOURCE_DIR "/configs/plugins/waves.json",
                                           "--quiet",
                                           "--set",
                                           "run.directory=" + directory_.file(name),
                                           "--set",
                                           "engine.plugins=[\"" + plugin("waves") + "\"]",
                                           "--set",
                                           "run.stop.generations=6",
                                           "--set",
                                           "population.size=16"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 0) << ended.text;
        return directory_.file(name);
    }

    test::TemporaryDirectory directory_;
    int runs_ = 0;
};

TEST_F(Plugins, TheirLayersTasksAndMutationsEvolve) {
    const std::string a = evolved("a", {"--set", "mutation.wave_insert_rate=0.9"});
    const std::string b =
        evolved("b", {"--set", "mutation.wave_insert_rate=0.9", "--set", "engine.threads=1",
                      "--set", "distributed.exchange=genomes"});
    EXPECT_EQ(content(a + "/generations.csv"), content(b + "/generations.csv"));
    EXPECT_EQ(content(a + "/best.cmb"), content(b + "/best.cmb"));
    const Ended shown = run({"inspect", a + "/best.cmb", "--plugin", plugin("waves")});
    EXPECT_EQ(shown.code, 0) << shown.text;
    EXPECT_THAT(shown.text, HasSubstr("wave"));
    // The mutation made waves: the founder has one, and others filled empty slots.
    EXPECT_NE(content(a + "/generations.csv"), content(evolved("none") + "/generations.csv"));
}

TEST_F(Plugins, AreNamedByAnyAssignmentAndSeed) {
    const std::string copy = directory_.file("waves-3.so");
    std::filesystem::copy_file(plugin("waves"), copy);
    const auto evolves = [&](const std::vector<std::string>& sets) {
        std::vector<std::string> arguments{
            "evolve",
            CAMBRIAN_SOURCE_DIR "/configs/plugins/waves.json",
            "--quiet",
            "--set",
            "run.directory=" + directory_.file(fmt::format("{}", runs_)),
            "--set",
            "run.stop.generations=1"};
        for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
        const Ended ended = run(arguments);
        EXPECT_EQ(ended.code, 0) << ended.text;
    };
    evolves({R"(engine={"backend": "cpu", "plugins": [")" + copy + R"("]})"});
    evolves({"engine.plugins=[\"waves-{seed}.so\"]", "run.seed=3",
             "run.base_directory=" + directory_.path().string()});
    const std::string config = directory_.write(
        "own/waves.json", R"({"extends": ")" CAMBRIAN_SOURCE_DIR R"(/configs/plugins/waves.json",
        "engine": {"plugins": ["waves-{seed}.so"]}})");
    const Ended ended = run(
        {"evolve", config, "--quiet", "--set",
         R"(run={"base_directory": "..", "seed": 3, "stop": {"generations": 1}, "directory": ")" +
             directory_.file("whole") + R"("})"});
    EXPECT_EQ(ended.code, 0) << ended.text;
}

TEST_F(Plugins, AreNamedByWhoReadsANetwork) {
    const std::string folder = evolved("run");
    const std::string best = folder + "/best.cmb";
    const std::string rows = directory_.write("rows.csv", "x\n0.25\n0.5\n");
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"evaluate", best},
             {"check", best},
             {"inspect", best, "--json"},
             {"compare", best, best},
             {"infer", best, "--input", rows},
             {"convert", best, directory_.file("best.safetensors")},
             {"convert", best, directory_.file("structure.json")}}) {
        // The config beside a network may be anyone's: it loads no code.
        fails(3, command,
              "has a layer \"wave\" of the plug-in \"waves\" (which is not loaded) load it with "
              "--plugin FILE");
        std::vector<std::string> with = command;
        with.insert(with.end(), {"--plugin", plugin("waves")});
        const Ended ended = run(with);
        EXPECT_EQ(ended.code, 0) << command.front() << ended.text;
    }
    const Ended resumed = run({"resume", folder, "--set", "run.stop.generations=8", "--quiet"});
    EXPECT_EQ(resumed.code, 0) << resumed.text;
}

TEST_F(Plugins, AreNamedByWhoReadsANetworkThatHasNoneOfTheirLayers) {
    const std::string folder =
        evolved("plain", {"--set", R"(network.layers=[{"type": "dense"}])", "--set",
                          "mutation.wave_insert_rate=0", "--set",
                          R"(mutation.layer_types=["dense"])", "--set", "run.stop.generations=1"});
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"evaluate", folder + "/best.cmb"}, {"extract", folder, "--elite", "1"}}) {
        fails(2, command, "load that with --plugin FILE");
        std::vector<std::string> with = command;
        with.insert(with.end(), {"--plugin", plugin("waves")});
        const Ended ended = run(with);
        EXPECT_EQ(ended.code, 0) << command.front() << ended.text;
    }
    // What the command line says wrongly no plug-in would bring.
    const Ended misspelt = run({"evaluate", folder + "/best.cmb", "--plugin", plugin("waves"),
                                "--set", "mutation.weight_rat=0"});
    EXPECT_EQ(misspelt.code, 2);
    EXPECT_THAT(misspelt.text, Not(HasSubstr("load that with")));
}

TEST_F(Plugins, AreDocumentedLikeWhatIsBuiltIn) {
    const std::vector<std::string> with{"--plugin", plugin("waves")};
    const auto said = [&](std::vector<std::string> command) {
        command.insert(command.end(), with.begin(), with.end());
        const Ended ended = run(command);
        EXPECT_EQ(ended.code, 0) << ended.text;
        return ended.text;
    };
    const std::string layer = said({"layers", "wave"});
    for (const char* part :
         {"y = x + amplitude", "features: integer, default 0",
          "frequency: number, default 3.0, allowed above 0.0 (What frequencies start with.)",
          "activation: string, default \"sin\"", "[.., 3] gives [.., 3]",
          "amplitude [3], frequency [3]"})
        EXPECT_THAT(layer, HasSubstr(part));
    EXPECT_THAT(said({"explain", "mutation.wave_insert_rate"}), HasSubstr("a wave of no height"));
    EXPECT_THAT(said({"explain", "task.points"}), HasSubstr("Of the curve."));
    EXPECT_THAT(said({"explain", "network.layers[].frequency"}), HasSubstr("frequencies"));
    const auto all = nlohmann::json::parse(said({"registry", "--json"}));
    EXPECT_THAT(all.at("layers").dump(), HasSubstr("\"wave\""));
    EXPECT_THAT(all.at("tasks").dump(), HasSubstr("\"chirp\""));
    EXPECT_THAT(said({"layers"}), HasSubstr("\nwave\n"));
    EXPECT_THAT(run({"layers"}).text, Not(HasSubstr("\nwave\n")));
}

TEST_F(Plugins, WhatIsNoneIsRefused) {
    const auto layers = [&](const std::string& file) {
        return std::vector<std::string>{"layers", "--plugin", file};
    };
    fails(3, layers(directory_.file("nothing.so")), "nothing.so cannot be read (no such file)");
    fails(3, layers(directory_.path().string()), "cannot be read (not a file)");
    fails(3, layers(directory_.write("text.so", "no library")), "text.so is no plug-in (");
    fails(3, layers(CAMBRIAN_FAULTY_SYSTEM), "is no plug-in (it has no cambrian_plugin)");
    fails(3, layers(plugin("other_version")), "is for another program (it was built for cambrian");
    fails(3, layers(plugin("other_number")),
          fmt::format("(it was built for plug-ins of interface {}, this",
                      PluginInterface{}.number + 1000));
    fails(3, layers(plugin("other_size")), "(it was built for another compiler or other settings");
    fails(2, layers(plugin("adding_throws")), "the plug-in \"faulty\" fails (not today) mend");
    fails(2, layers(plugin("layer_taken")),
          "layer type \"dense\" of the plug-in \"faulty\" cannot");
    fails(2, layers(plugin("task_taken")), "task type \"xor\" is registered twice");
    fails(2, layers(plugin("mutation_key")), "mutation \"weight_rate\" is registered twice");
    const std::string half = directory_.file("half.so");
    std::filesystem::copy_file(plugin("waves"), half);
    std::filesystem::resize_file(half, std::filesystem::file_size(half) / 2);
    fails(3, layers(half), "half.so is no plug-in (it was cut off)");
    const std::string copy = directory_.file("copy.so");
    std::filesystem::copy_file(plugin("waves"), copy);
    fails(2, {"layers", "--plugin", plugin("waves"), "--plugin", copy},
          "plug-in \"waves\" is loaded twice");
    fails(3,
          {"evolve", CAMBRIAN_SOURCE_DIR "/configs/xor.json", "--set",
           "engine.plugins=[\"missing.so\"]", "--set", "run.directory=" + directory_.file("x")},
          "configs/missing.so cannot be read (no such file)");
    fails(2, {"evolve", CAMBRIAN_SOURCE_DIR "/configs/xor.json", "--set", "engine.plugins=3"},
          "engine.plugins");
}

TEST_F(Plugins, OneThatWasCutOffIsRefusedWithoutItsSections) {
    std::string bytes = content(plugin("waves"));
    Elf64_Ehdr head{};
    ASSERT_GT(bytes.size(), sizeof head);
    std::memcpy(&head, bytes.data(), sizeof head);
    head.e_shoff = 0;
    head.e_shnum = 0;
    std::memcpy(bytes.data(), &head, sizeof head);
    const auto refused = [&](const std::string& text) {
        fails(3, {"layers", "--plugin", directory_.write("cut.so", text)},
              "cut.so is no plug-in (it was cut off)");
    };
    refused(bytes.substr(0, sizeof head + 10));
    // In the last part that is loaded: more than half of a file may be for debuggers alone.
    Elf64_Phdr last{};
    for (std::size_t i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part{};
        std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof part, sizeof part);
        if (part.p_type == PT_LOAD && part.p_offset > last.p_offset && part.p_filesz > 0)
            last = part;
    }
    ASSERT_GT(last.p_filesz, 0U);
    refused(bytes.substr(0, last.p_offset + last.p_filesz / 2));
    // The end of a part that is loaded is no larger than the file only as a sum that wraps.
    for (std::size_t i = 0; i < head.e_phnum; ++i) {
        Elf64_Phdr part{};
        char* const place = bytes.data() + head.e_phoff + i * sizeof part;
        std::memcpy(&part, place, sizeof part);
        if (part.p_type == PT_LOAD && part.p_offset > 0)
            part.p_filesz = std::numeric_limits<std::uint64_t>::max();
        std::memcpy(place, &part, sizeof part);
    }
    refused(bytes);
}

TEST_F(Plugins, WhatTheirCodeThrowsNamesThem) {
    const auto with = [&](const std::string& key, const std::string& value,
                          const std::string& generations = "3") {
        return std::vector<std::string>{
            "evolve",
            CAMBRIAN_SOURCE_DIR "/configs/xor.json",
            "--quiet",
            "--set",
            "engine.plugins=[\"" + plugin("late_faults") + "\"]",
            "--set",
            "run.directory=" + directory_.file("run-" + std::to_string(runs_)),
            "--set",
            "run.stop.solved=null",
            "--set",
            "run.stop.generations=" + generations,
            "--set",
            key + "=" + value};
    };
    const auto layers = [](int fails) {
        return "[{\"type\": \"echo\", \"fails\": " + std::to_string(fails) +
               "}, {\"type\": \"dense\"}]";
    };
    fails(2, with("task.type", "failing"),
          "task \"failing\" of the plug-in \"faulty\" fails (there is no problem) mend");
    fails(2, with("network.layers", layers(1)),
          "layer \"echo\" of the plug-in \"faulty\" fails in resolve (no shape pleases) mend");
    fails(2, with("network.layers", layers(2)), "(it throws what is no exception) mend");
    // A shard that fails is told and counted; here all of them do.
    fails(1, with("network.layers", layers(3)), "fails in build (nothing is built)");
    fails(2, with("task.type", "unprepared"),
          "task unprepared cannot be used (its preparation has 7 inputs and 1 outputs, the network "
          "has 2 and 1");
    fails(2, with("mutation.broken_rate", "1"),
          "mutation \"broken_rate\" of the plug-in \"faulty\" gives what is no genome (it has");
    EXPECT_EQ(run(with("network.layers", layers(0))).code, 0);
}

TEST_F(Plugins, ARunGoesOnWithTheSameFileOnly) {
    const std::string folder = evolved("run");
    // The same place, another content: what a plug-in ends with is not read by anybody else.
    const std::string other = directory_.file("other.so");
    std::filesystem::copy_file(plugin("waves"), other);
    fails(0,
          {"resume", folder, "--quiet", "--set", "run.stop.generations=7", "--set",
           "engine.plugins=[\"" + other + "\"]"},
          "");
    std::ofstream(other, std::ios::app) << "more";
    fails(2,
          {"resume", folder, "--quiet", "--set", "run.stop.generations=8", "--set",
           "engine.plugins=[\"" + other + "\"]"},
          "content.plugins.waves");
    fails(2,
          {"resume", folder, "--quiet", "--set", "run.stop.generations=8", "--set",
           "engine.plugins=[]"},
          "wave");
}

}  // namespace
}  // namespace cambrian::launch
