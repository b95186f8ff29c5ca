#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "cambrian/distributed/coordinator/checkpoint.hpp"
#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/training_checkpoint.hpp"
#include "cambrian/tests/engine/train/trainer_support.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// tests/golden/files keeps a small file of every version of every format, for ever: whoever changes
// a format adds one, and says here whether the old ones are read or refused.
namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

fs::path golden(const std::string& name) {
    return fs::path(CAMBRIAN_SOURCE_DIR) / "tests/golden/files" / name;
}

TEST(FileVersions, EachHasAGoldenFile) {
    const auto expect = [](const std::string& kind, std::uint32_t newest, const std::string& end) {
        for (std::uint32_t format = 1; format <= newest; ++format)
            EXPECT_TRUE(fs::exists(golden(fmt::format("{}_{}{}", kind, format, end))))
                << kind << " " << format;
    };
    expect("network", distributed::network_format, "_dataset.cmb");
    expect("checkpoint", distributed::checkpoint_format, ".cmb");
    expect("training", distributed::training_format, ".cmb");
    expect("individuals", distributed::individuals_format, ".cmb");
}

TEST(FileVersions, CheckpointsAreRefusedByTheirNumberOrRead) {
    const auto read = [](const char* file) {
        return distributed::decode_checkpoint(read_file(golden(file)), file);
    };
    for (const int format : {1, 2, 3, 4}) {
        const std::string file = fmt::format("checkpoint_{}.cmb", format);
        EXPECT_THAT([&] { static_cast<void>(read(file.c_str())); },
                    ThrowsMessage<OtherVersionError>(fmt::format(
                        "{} holds a checkpoint of format {} (an older version of Cambrian wrote "
                        "it, this one reads 5) use that version, or make it anew",
                        file, format)));
    }
    const distributed::Checkpoint fifth = read("checkpoint_5.cmb");
    EXPECT_EQ(fifth.generation, 2U);
    EXPECT_EQ(fifth.genomes.size(), 2U);
    EXPECT_EQ(fifth.last->evaluations, 7U);
    EXPECT_EQ(fifth.last->species->count, 2U);
    EXPECT_TRUE(fifth.champion.has_value());
}

TEST(FileVersions, JournalsAreReadWithTheCheckpointsOfTheirNumber) {
    const TemporaryDirectory directory;
    fs::copy_file(golden(fmt::format("journal_{}.cmb", distributed::checkpoint_format)),
                  directory.file("journal-0.cmb"));
    const auto entries = distributed::Journal::read(directory.path(), 0);
    ASSERT_EQ(entries.size(), 2U);
    EXPECT_EQ(entries[0].report.species->effective, 1.6);
    EXPECT_EQ(entries[1].report.evaluations, 7U);
    EXPECT_EQ(entries[1].champion->birth, 0U);
}

TEST(FileVersions, IndividualsAreRead) {
    distributed::IndividualReader reader(golden("individuals_1.cmb"));
    const auto founders = reader.next();
    ASSERT_TRUE(founders.has_value());
    EXPECT_EQ(founders->individuals.size(), 4U);
    EXPECT_EQ(founders->individuals[1].fitness, -6.807125091552734);
    const auto children = reader.next();
    ASSERT_TRUE(children.has_value());
    EXPECT_EQ(children->generation, 1U);
    EXPECT_EQ(children->individuals[1].recipe, evolve::Recipe::carry);
    EXPECT_EQ(children->individuals[1].origin, 2U);
    EXPECT_EQ(children->individuals[2].parents, (std::array<evolve::BirthId, 2>{0, 2}));
    EXPECT_EQ(children->individuals[2].parameters, 5U);
    EXPECT_FALSE(reader.next().has_value());
    EXPECT_FALSE(reader.cut_short());
}

TEST(FileVersions, IndividualsOfSpeciesAreRead) {
    distributed::IndividualReader reader(golden("individuals_2.cmb"));
    EXPECT_TRUE(reader.species());
    std::vector<std::uint64_t> species;
    while (const auto block = reader.next())
        for (const distributed::LoggedIndividual& one : block->individuals)
            species.push_back(one.species);
    EXPECT_THAT(species, testing::ElementsAre(1, 1, 1, 2, 1, 1, 2, 2));
}

TEST(FileVersions, TrainingsAreRefusedByTheirNumberOrRead) {
    EXPECT_THAT(
        [] { static_cast<void>(distributed::read_training_checkpoint(golden("training_1.cmb"))); },
        ThrowsMessage<OtherVersionError>(
            AllOf(HasSubstr("a training of format 1"), HasSubstr("an older version"))));
    const distributed::TrainingCheckpoint second =
        distributed::read_training_checkpoint(golden("training_2.cmb"));
    EXPECT_GT(second.epochs_bytes, 0U);
    EXPECT_FALSE(second.state.empty());
}

TEST(FileVersions, TrainingsOfTheSecondFormatDoNotSayWhichEpochWasTheBest) {
    const DataSet data =
        cambrian::test::data_of({{"type", "sine"}, {"rows", 8}}, MeanSquaredError{});
    const Network network = cambrian::test::network_of(cambrian::test::tanh_layers(2, 1), data);
    const auto backend = make_cpu_backend({});
    const auto best_epoch = [&](const char* file) {
        Trainer trainer(*backend, network, data, {.epochs = 2, .batch = 4});
        trainer.restore(distributed::read_training_checkpoint(golden(file)).state, file);
        EXPECT_EQ(trainer.epochs_done(), 2);
        return trainer.best_epoch(0);
    };
    EXPECT_EQ(best_epoch("training_2.cmb"), std::nullopt);
    EXPECT_EQ(best_epoch("training_3.cmb"), 1);
}

TEST(FileVersions, TensorsOfANetworkAreRead) {
    const TemporaryDirectory directory;
    const std::string network = directory.file("network.cmb");
    ASSERT_EQ(run({"convert", golden("network_1_xor.safetensors").string(), network}).code, 0);
    const distributed::NetworkFile file = distributed::read_network(network);
    EXPECT_EQ(file.genome.weights.size(), 9U);
    EXPECT_EQ(file.fitness, 2.3524460792541504);
}

TEST(FileVersions, LabelsInWordsAreRead) {
    const fs::path network = golden("network_2_labels.cmb");
    const distributed::NetworkFile file = distributed::read_network(network);
    ASSERT_TRUE(file.preparation.has_value());
    EXPECT_THAT(file.preparation->labels, testing::ElementsAre("rain", "snow, ice", "sun"));
    EXPECT_EQ(file.preparation->missing_values, MissingValues::median);
    EXPECT_EQ(file.preparation->inputs[1].fill, 0.25);
    EXPECT_EQ(file.preparation->ahead, 1);
    const TemporaryDirectory directory;
    const Result result = run(
        {"infer", network.string(), "--input", directory.write("rows.csv", "q;p\n?;2,5\n4;1\n")});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out,
                testing::StartsWith("class(t+1),probability,p(rain),\"p(snow, ice)\",p(sun)\n"));
}

TEST(FileVersions, TheFirstPreparationsDoNotSayHowFarTheyForecast) {
    const std::string file = golden("network_2_dataset.cmb").string();
    EXPECT_FALSE(distributed::read_network(file).preparation->ahead);
    const TemporaryDirectory directory;
    const std::string tensors = directory.file("network.safetensors");
    const std::string again = directory.file("again.cmb");
    ASSERT_EQ(run({"convert", file, tensors}).code, 0);
    ASSERT_EQ(run({"convert", tensors, again}).code, 0);
    EXPECT_EQ(distributed::read_network(again).preparation,
              distributed::read_network(file).preparation);
}

TEST(FileVersions, NetworksDescribeThemselves) {
    const std::string file = "network_3_dataset.cmb";
    const Container container = decode_container(read_file(golden(file)), file);
    const auto bytes = container.section("structure");
    const auto structure = nlohmann::json::parse(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    EXPECT_EQ(structure.at("weights"), nlohmann::json::parse(R"([
        {"name": "head.weight", "shape": [3, 2]}, {"name": "head.bias", "shape": [3]}])"));
    EXPECT_EQ(structure.at("network").at("layers").back().at("type"), "dense");
    EXPECT_EQ(distributed::read_network(golden(file)),
              distributed::read_network(golden("network_2_dataset.cmb")));
}

TEST(FileVersions, GenesOfNeuronsAreRead) {
    const fs::path network = golden("network_2_neat.cmb");
    const distributed::NetworkFile file = distributed::read_network(network);
    ASSERT_EQ(file.genome.neuron_genes.size(), 1U);
    const evolve::NeuronGenes& genes = file.genome.neuron_genes[0];
    ASSERT_EQ(genes.neurons.size(), 5U);
    ASSERT_EQ(genes.connections.size(), 14U);
    EXPECT_EQ(genes.neurons[4].id.hex(), "482dcc7b9c336beeddc371a2b2686d78");
    EXPECT_EQ(genes.connections[13].born, 357U);
    const Result result = run({"evaluate", network.string(), "--set", "engine.backend=cpu"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("fitness 3.46307"));
}

/// What a golden network answers for rows of its own choice.
void expect_answers_of_formats(const std::string& network) {
    const TemporaryDirectory directory;
    const std::string rows = directory.write("rows.csv", "a,b\n0,0\n0.25,1\n1,0.5\n-3,2\n");
    const Result result = run({"infer", network, "--input", rows, "--raw"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, testing::StartsWith("output_0\n0.18222"));
    for (const char* answer : {"\n0.67029", "\n0.69175", "\n-0.39855"})
        EXPECT_THAT(result.out, HasSubstr(answer));
}

TEST(FileVersions, NumberFormatsOfLayersAreRead) {
    const std::string network = golden("network_2_formats.cmb").string();
    const distributed::NetworkFile file = distributed::read_network(network);
    const Blueprint& blueprint = file.genome.blueprint;
    EXPECT_EQ(blueprint.slots[0]->formats, (LayerFormats{.weights = Dtype::float4_e2m1fn}));
    EXPECT_EQ(blueprint.slots[1]->formats,
              (LayerFormats{.weights = Dtype::q4_0, .activations = Dtype::bfloat16}));
    EXPECT_EQ(blueprint.head_formats,
              (LayerFormats{.weights = Dtype::int8, .activations = Dtype::int8}));
    EXPECT_EQ(file.genome.weights.size(), 69U);
    EXPECT_EQ(evolve::content_hash(file.genome).hex(), "8057a455cb5e0624d48054589e2e68dc");
    EXPECT_EQ(evolve::Structure(file.genome).stored_bytes(), 142);
    const Result result = run({"evaluate", network, "--set", "engine.backend=cpu"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("fitness 3.11863"));
    expect_answers_of_formats(network);
}

TEST(FileVersions, CodesWithoutMastersAreRead) {
    const std::string codes = golden("network_2_codes.safetensors").string();
    const Safetensors content = read_safetensors(codes);
    for (const char* tensor :
         {"slot.0.weight", "slot.1.weight", "head.weight", "link.0.projection"}) {
        EXPECT_FALSE(content.tensors.contains(tensor)) << tensor;
        EXPECT_TRUE(content.tensors.contains(std::string(tensor) + ".codes")) << tensor;
        EXPECT_TRUE(content.tensors.contains(std::string(tensor) + ".scales")) << tensor;
    }
    expect_answers_of_formats(codes);
    // What the codes say becomes float32, rows that enter layers are rounded as before.
    const TemporaryDirectory directory;
    const std::string again = directory.file("again.cmb");
    ASSERT_EQ(run({"convert", codes, again}).code, 0);
    expect_answers_of_formats(again);
    const Blueprint blueprint = distributed::read_network(again).genome.blueprint;
    EXPECT_FALSE(encodes_weights(blueprint));
    EXPECT_EQ(blueprint.slots[1]->formats, (LayerFormats{.activations = Dtype::bfloat16}));
    EXPECT_EQ(blueprint.head_formats, (LayerFormats{.activations = Dtype::int8}));
}

TEST(FileVersions, AMeshIsEvaluatedThoughItsRunInsertedLayers) {
    const Result result = run({"evaluate", golden("network_1_mesh.cmb").string(), "--episodes", "3",
                               "--set", "engine.backend=cpu"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("3 samples"));
}

TEST(FileVersions, ARunOfAnotherVersionIsLeftAsItIs) {
    const TemporaryDirectory directory;
    const std::string config = directory.write(
        "xor.json", R"({"run": {"directory": ")" + directory.file("run") +
                        R"(", "stop": {"generations": 1}}, "population": {"size": 4},
                           "task": {"type": "xor"}, "engine": {"backend": "cpu"}})");
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    const fs::path checkpoint = directory.file("run/checkpoint.cmb");
    fs::copy_file(golden("checkpoint_1.cmb"), checkpoint, fs::copy_options::overwrite_existing);
    const Result resumed = run({"resume", directory.file("run")});
    EXPECT_EQ(resumed.code, 3);
    EXPECT_THAT(resumed.err, HasSubstr("an older version of Cambrian wrote it"));
    EXPECT_EQ(read_file(checkpoint), read_file(golden("checkpoint_1.cmb")));
}

/// A file whose first section begins with another format.
std::vector<std::byte> of_format(const std::string& file, std::byte format) {
    Container container = decode_container(read_file(golden(file)), file);
    // The archive's first byte says its order of bytes.
    container.sections[0].bytes[1] = format;
    return encode(container);
}

std::vector<std::byte> block_99() {
    ArchiveWriter about;
    about.write(std::uint32_t{99});
    Container block{"individuals", {}};
    block.add("about", about.take());
    block.add("columns", {});
    return encode(block);
}

TEST(FileVersions, ANewerOneIsRefusedByItsNumber) {
    constexpr std::byte format{99};
    const auto newer = [](const char* what) {
        return AllOf(HasSubstr(fmt::format("a {} of format 99 (a newer version", what)),
                     HasSubstr("use that version"));
    };
    EXPECT_THAT(
        [] {
            static_cast<void>(
                distributed::decode_network(of_format("network_2_dataset.cmb", format), "network"));
        },
        ThrowsMessage<OtherVersionError>(newer("network")));
    EXPECT_THAT(
        [] {
            static_cast<void>(distributed::decode_checkpoint(of_format("checkpoint_4.cmb", format),
                                                             "checkpoint"));
        },
        ThrowsMessage<OtherVersionError>(newer("checkpoint")));
    EXPECT_THAT([] { static_cast<void>(distributed::decode_individuals(block_99(), "block")); },
                ThrowsMessage<OtherVersionError>(newer("block of individuals")));
    const TemporaryDirectory directory;
    const std::string path = directory.file("training.cmb");
    write_file_atomically(path, of_format("training_2.cmb", format));
    EXPECT_THAT([&] { static_cast<void>(distributed::read_training_checkpoint(path)); },
                ThrowsMessage<OtherVersionError>(newer("training")));
}

}  // namespace
}  // namespace cambrian::launch
