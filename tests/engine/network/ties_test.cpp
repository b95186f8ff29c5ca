#include "cambrian/engine/network/ties.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/check/gradient_check.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// Ids of 5, features of 3, and a head whose weight is the table.
Blueprint tied(const std::string& head = R"("tied": "slot.0.table", "bias": true)") {
    return test::blueprint_of(
        R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                       {"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense", )" +
            head + "}]}",
        1, 5);
}

TEST(Ties, AreOneTensor) {
    const Network network(tied());
    const Network copies(tied(R"("bias": true)"));
    EXPECT_EQ(network.weight_count(), copies.weight_count() - 15);
    EXPECT_NE(network.structure_key(), copies.structure_key());
    // The same function as that of two equal copies.
    const std::vector<float> weights = test::some_weights(network);
    std::vector<float> copied = weights;
    copied.insert(copied.end() - 5, weights.begin(), weights.begin() + 15);
    Tensor ids(ValueType::real, {4, 1});
    ids.elements = {0, 3, 1, 4};
    EXPECT_EQ(test::difference(test::run(network, weights, ids), test::run(copies, copied, ids)),
              0.0);
}

TEST(Ties, LearnFromBothUses) {
    const auto cpu = make_cpu_backend({});
    const std::array<Backend*, 1> backends{cpu.get()};
    const Network network(tied());
    const CheckReport report =
        check_network(network, network, test::some_weights(network), backends, {.samples = 0});
    EXPECT_TRUE(report.passed());
    for (const CheckedTensor& each : report.tensors) EXPECT_LE(each.error, 1e-5) << each.name;
    // Rows of ids that are not asked for have a slope by the head alone.
    EXPECT_EQ(report.tensors.size(), network.weights().size() + 1);
}

TEST(Ties, SurviveJsonAndArchives) {
    const Blueprint blueprint = tied();
    EXPECT_EQ(Network(blueprint_from_json(nlohmann::json(network_section(blueprint)))).blueprint(),
              Network(blueprint).blueprint());
    ArchiveWriter writer;
    writer.write(blueprint);
    const std::vector<std::byte> bytes = writer.take();
    ArchiveReader reader(bytes, "test");
    Blueprint again;
    reader.read(again);
    EXPECT_EQ(again, blueprint);
}

TEST(Ties, ThatCannotBeAreRefused) {
    const auto refused = [](const std::string& head, const std::string& why) {
        EXPECT_THAT([&] { static_cast<void>(Network(tied(head))); },
                    ThrowsMessage<ShapeError>(HasSubstr(why)));
    };
    refused(R"("tied": "slot.1.table")", "(there is no embedding in that slot)");
    refused(R"("tied": "slot.77.table")", "(there is no embedding in that slot)");
    for (const char* name : {"table", "slot..table", "slot.-1.table", "slot.0.weight",
                             "slot.0x.table", "slot.99999999999.table"})
        refused(R"("tied": ")" + std::string(name) + "\"", "(a name is like \"slot.0.table\")");
    EXPECT_THAT(
        [] {
            Network(test::blueprint_of(
                R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                               {"type": "dense", "out": 4}, {"type": "dense", "tied": "slot.0.table"}]})",
                1, 5));
        },
        ThrowsMessage<ShapeError>(HasSubstr("its table is")));
    EXPECT_THAT(
        [] {
            Network(test::blueprint_of(
                R"({"layers": [{"type": "embedding", "vocabulary": 5, "features": 3},
                               {"type": "sequential", "layers": [{"type": "dense", "out": 5, "tied": "slot.0.table"}]}]})",
                1, 5));
        },
        ThrowsMessage<ShapeError>(HasSubstr("in a container is tied")));
}

}  // namespace
}  // namespace cambrian
