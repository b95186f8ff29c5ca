#include "cambrian/evolve/runs/network_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::distributed {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

NetworkFile prepared_network() {
    RandomStream rng(random_key(3, "test"), 0);
    NetworkFile file;
    file.genome = evolve::sample_genome(
        blueprint_from_json(
            nlohmann::json::parse(R"({"input": [2], "layers": [{"type": "dense", "out": 3}]})")),
        rng, 0);
    file.identity_json = R"({"run":{"seed":5},"task":{"type":"dataset"}})";
    file.fitness = -0.25;
    file.preparation =
        evolve::Preparation{.inputs = {{.column = "a", .scaling = {0.5, 2.0}},
                                       {.column = "b", .scaling = {}, .factor = 0.0625}},
                            .outputs = {{.name = "k=1"}, {.name = "k=2"}, {.name = "k=5"}},
                            .classes = {1, 2, 5}};
    return file;
}

TEST(InitialNetworks, LeaveNoCopiesOfAFormerStart) {
    const test::TemporaryDirectory directory;
    const std::filesystem::path run = directory.path();
    const evolve::Genome genome = prepared_network().genome;
    write_initial(run, {genome, genome, genome});
    EXPECT_TRUE(std::filesystem::exists(initial_copy(run, 2)));
    write_initial(run, {genome});
    EXPECT_TRUE(std::filesystem::exists(initial_copy(run, 0)));
    EXPECT_FALSE(std::filesystem::exists(initial_copy(run, 1)));
    EXPECT_FALSE(std::filesystem::exists(initial_copy(run, 2)));
}

/// The sections of a network file, which may be changed and written again.
Container opened(const NetworkFile& file) {
    return decode_container(encode(file), "file");
}

TEST(NetworkFile, KeepsHowRowsArePrepared) {
    const NetworkFile file = prepared_network();
    EXPECT_EQ(decode_network(encode(file), "file"), file);
    NetworkFile without = file;
    without.preparation.reset();
    EXPECT_EQ(decode_network(encode(without), "file"), without);
    EXPECT_EQ(opened(file).sections.size(), opened(without).sections.size() + 1);
}

TEST(NetworkFile, OlderOnesLeaveToTheirRunForHowManyStepsRowsAreShown) {
    NetworkFile older = prepared_network();
    older.preparation->sequence_rows = 4;
    const auto shown = [&](const char* task, std::uint64_t generation) {
        older.identity_json = fmt::format(R"({{"run":{{"seed":5}},"task":{}}})", task);
        older.generation = generation;
        for (const bool silent : {false, true}) {
            if (silent) older.preparation->ahead.reset();
            NetworkFile expected = older;
            const NetworkFile read = decode_network(encode(older), "file");
            if (read.preparation->shown) {
                expected.preparation->shown = true;
                expected.preparation->ahead = 0;
            }
            EXPECT_EQ(read, expected) << task;
            EXPECT_EQ(decode_network(encode(read), "file"), read) << task;
            NetworkFile restored;
            restored.genome = older.genome;
            restore(restored, metadata_of(older), "file");
            EXPECT_EQ(restored, read) << task;
        }
        older.preparation->ahead = 0;
        return decode_network(encode(older), "file").preparation->shown;
    };
    EXPECT_TRUE(shown(R"({"type":"dataset","steps":4})", 0));
    EXPECT_FALSE(shown(R"({"type":"dataset","steps":3})", 0));
    EXPECT_FALSE(shown(R"({"type":"dataset"})", 0));
    EXPECT_FALSE(shown(R"({"type":"table","steps":4})", 0));
    const char* later = R"({"type":"dataset","steps":2,"changes":[{"at":3,"task":{"steps":4}}]})";
    EXPECT_FALSE(shown(later, 2));
    EXPECT_TRUE(shown(later, 3));
    const char* other =
        R"({"type":"dataset","steps":4,"changes":[{"at":3,"task":{"steps":null}}]})";
    EXPECT_TRUE(shown(other, 2));
    EXPECT_FALSE(shown(other, 3));
    EXPECT_TRUE(
        shown(R"({"type":"xor","changes":[{"at":1,"task":{"type":"dataset","steps":4}}]})", 1));
}

TEST(NetworkFile, MetadataMayBeAsLongAsANetworkNeeds) {
    const NetworkFile file = prepared_network();
    Safetensors content = to_safetensors(file, StoredType::f32);
    content.metadata["preparation"].insert(0, std::size_t{16} << 20U, ' ');
    EXPECT_EQ(from_safetensors(content, std::nullopt, "file"), file);
}

TEST(NetworkFile, AnIdentityMayBeAsLongAsAConfig) {
    NetworkFile file = prepared_network();
    const std::string note(std::size_t{33} << 20U, 'a');
    file.identity_json = R"({"note":")" + note + R"(","run":{"seed":5},"task":{"type":"dataset"}})";
    const NetworkFile read = decode_network(encode(file), "long.cmb");
    EXPECT_TRUE(read.identity_json == file.identity_json);
    EXPECT_EQ(identity_of(read).at("note").get_ref<const std::string&>().size(), note.size());
    EXPECT_TRUE(identity_of(NetworkFile()).is_null());
}

TEST(NetworkFile, DescribesItsTensorsInTheOrderOfItsWeights) {
    RandomStream rng(random_key(3, "test"), 0);
    NetworkFile file;
    file.genome = evolve::sample_genome(
        blueprint_from_json(nlohmann::json::parse(R"({"input": [4], "layers": [
            {"type": "dense", "out": 3, "dtype": "int8"}, {"type": "dense", "out": 5},
            {"type": "dense", "out": 2}],
            "links": [{"from": 0, "to": 1}]})")),
        rng, 0);
    const Container container = opened(file);
    const auto bytes = container.section("structure");
    const auto structure = nlohmann::json::parse(
        std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    EXPECT_EQ(structure.at("network"), nlohmann::json(network_section(file.genome.blueprint)));
    const Network network(file.genome.blueprint);
    ASSERT_EQ(structure.at("weights").size(), network.weights().size());
    std::int64_t count = 0;
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const nlohmann::json& told = structure.at("weights")[i];
        EXPECT_EQ(told.at("name"), network.weight_name(i));
        EXPECT_EQ(told.contains("dtype"), network.weight_name(i) == "slot.0.weight");
        std::int64_t elements = 1;
        for (const nlohmann::json& extent : told.at("shape"))
            elements *= extent.get<std::int64_t>();
        EXPECT_EQ(network.weights()[i].offset, count);
        count += elements;
    }
    EXPECT_EQ(static_cast<std::size_t>(count), file.genome.weights.size());
}

TEST(NetworkFile, APreparationThatIsNotOfTheNetworkIsRefused) {
    const auto refuses = [](const evolve::Preparation& preparation, const char* why) {
        NetworkFile file = prepared_network();
        file.preparation = preparation;
        const auto bytes = encode(file);
        EXPECT_THAT([&] { static_cast<void>(decode_network(bytes, "best.cmb")); },
                    ThrowsMessage<InputError>(AllOf(HasSubstr("best.cmb"), HasSubstr(why))));
    };
    evolve::Preparation bad = *prepared_network().preparation;
    bad.inputs.pop_back();
    refuses(bad, "has 1 inputs and 3 outputs, the network has 2 and 3");
    bad = *prepared_network().preparation;
    bad.inputs[0].scaling.scale = 0.0;
    refuses(bad, "an input is scaled by no number");
    bad.inputs[0].scaling.scale = std::nan("");
    refuses(bad, "an input is scaled by no number");
    bad = *prepared_network().preparation;
    bad.classes = {1, 2};
    refuses(bad, "not as many classes");
}

TEST(NetworkFile, AnySectionOfThePreparationIsReadOrAnInputError) {
    Container container = opened(prepared_network());
    const std::vector<std::byte> good = container.sections.back().bytes;
    ASSERT_EQ(container.sections.back().name, "preparation");
    for (std::size_t length = 0; length < good.size(); ++length) {
        container.sections.back().bytes.assign(good.begin(),
                                               good.begin() + static_cast<std::ptrdiff_t>(length));
        const auto bytes = encode(container);
        EXPECT_THROW(static_cast<void>(decode_network(bytes, "file")), InputError) << length;
    }
    for (std::size_t at = 0; at < good.size(); ++at) {
        container.sections.back().bytes = good;
        container.sections.back().bytes[at] ^= std::byte{0xff};
        const auto bytes = encode(container);
        try {
            static_cast<void>(decode_network(bytes, "file"));
        } catch (const InputError&) {
        }
    }
}

TEST(NetworkFile, GenesOfNeuronsTellAGenotypeFromItsNetwork) {
    NetworkFile file = prepared_network();
    const auto identity = [](std::string_view genome) {
        return R"({"genome":{"type":")" + std::string(genome) +
               R"("},"run":{"seed":5},"task":{"type":"xor"}})";
    };
    file.identity_json = identity("hyperneat");
    EXPECT_FALSE(is_genotype(file)) << "what develops has none";
    EXPECT_NO_THROW(require_network(file, "best.cmb"));
    file.genome.neuron_genes.emplace_back();
    EXPECT_TRUE(is_genotype(file));
    EXPECT_THAT([&] { require_network(file, "a.cmb"); },
                ThrowsMessage<InputError>(HasSubstr("a.cmb is a genotype")));
    file.identity_json = identity("neat");
    EXPECT_FALSE(is_genotype(file));
    file.identity_json = "";
    EXPECT_FALSE(is_genotype(file)) << "nothing says so";
}

TEST(NetworkFile, WhatAnOlderVersionWroteIsRead) {
    const std::filesystem::path golden =
        std::filesystem::path(CAMBRIAN_SOURCE_DIR) / "tests/golden/files";
    const NetworkFile first = read_network(golden / "network_1_table.cmb");
    EXPECT_FALSE(first.preparation);
    EXPECT_EQ(first.genome.weights.size(), 3U);
    EXPECT_EQ(first.generation, 20U);
    EXPECT_THAT(first.identity_json, HasSubstr("mean_deviation"));
    const NetworkFile second = read_network(golden / "network_2_dataset.cmb");
    const evolve::Preparation expected{
        .inputs = {{.column = "p", .scaling = {}, .factor = 0.0625},
                   {.column = "q", .scaling = {}, .factor = 0.0625}},
        .outputs = {{.name = "label=1"}, {.name = "label=2"}, {.name = "label=5"}},
        .classes = {1, 2, 5},
        .ahead = std::nullopt};
    EXPECT_EQ(second.preparation, expected);
    EXPECT_EQ(second.genome.weights.size(), 9U);
}

}  // namespace
}  // namespace cambrian::distributed
