#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/tests/launch/config/config_support.hpp"

namespace cambrian::launch::config_tests {
namespace {

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
    EXPECT_THAT(notes({"islands.topology=star", "islands.choice=random", "islands.migrants=2",
                       "islands.every=0", "islands.count=2"}),
                ElementsAre("islands.topology does nothing: islands.every is 0",
                            "islands.migrants does nothing: islands.every is 0",
                            "islands.choice does nothing: islands.every is 0"));
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
             {"islands.every=7", "islands.count=2"},
             {"islands.topology=star", "islands.choice=random", "islands.count=2"}})
        EXPECT_TRUE(notes(read).empty()) << read.front();
}

TEST(Experiment, KeysOfChildrenOfTwoParentsAreToldWhereThereAreNone) {
    const auto notes = [](const Json& json, std::vector<std::string> overrides) {
        overrides.emplace_back("splice.rate=0");
        return experiment(json, overrides).notes;
    };
    using testing::ElementsAre;
    const std::vector<std::string> point{"splice.mode=point", "splice.align=permutation",
                                         "splice.split=0.25"};
    EXPECT_THAT(notes(minimal(), point),
                ElementsAre("splice.mode, splice.align, splice.split do nothing: splice.rate is "
                            "0"));
    EXPECT_THAT(notes(minimal(), {"splice.alpha=0.25"}),
                ElementsAre("splice.alpha does nothing: splice.rate is 0"));
    EXPECT_THAT(notes(minimal(), {}), ElementsAre());
    EXPECT_THAT(experiment(minimal(), point).notes, ElementsAre());
    const std::string island = R"(islands.overrides=[{"splice": {"rate": 0.5}}, {}])";
    EXPECT_THAT(notes(minimal(), {"splice.mode=neuron", "islands.count=2", island}), ElementsAre());
    const Json neat = Json::parse(R"({"task": {"type": "xor"}, "genome": {"type": "neat",
        "average_rate": 0.5, "disabled_rate": 0.5}, "network": {"layers": [{"type": "neurons"}]}})");
    EXPECT_THAT(notes(neat, {}),
                ElementsAre("genome.average_rate does nothing: splice.rate is 0",
                            "genome.disabled_rate does nothing: splice.rate is 0"));
    EXPECT_THAT(notes(neat, {"islands.count=2", island}), ElementsAre());
    EXPECT_THAT(experiment(neat, {}).notes, ElementsAre());
}

TEST(Experiment, ASteadyStateThatEndsBeforeItsFirstChildIsTold) {
    const auto notes = [](const std::string& stop, std::vector<std::string> more) {
        more.insert(more.end(), {"run.stop=" + stop, "population.size=30", "steady_state.block=4"});
        return experiment(minimal(), more).notes;
    };
    using testing::ElementsAre;
    EXPECT_THAT(notes(R"({"generations": 7})", {"steady_state.window=8"}),
                ElementsAre("the run ends before its first child: run.stop.generations is 7, "
                            "counted in blocks of 4 births (steady_state.block), and the first 30 "
                            "births are founders (population.size)"));
    // Two of the births of the eighth are children.
    EXPECT_THAT(notes(R"({"generations": 8})", {"steady_state.window=8"}), ElementsAre());
    EXPECT_THAT(notes(R"({"generations": 10})", {"steady_state.window=40"}),
                ElementsAre(testing::HasSubstr("the first 40 births are founders "
                                               "(population.size, steady_state.window)")));
    EXPECT_THAT(notes(R"({"generations": 11})", {"steady_state.window=40"}), ElementsAre());
    EXPECT_THAT(notes(R"({"evaluations": 45})", {"steady_state.window=8"}), ElementsAre());
    EXPECT_THAT(notes("null", {"steady_state.window=8"}), ElementsAre());
    const std::vector<std::string> islands{"steady_state.window=8", "islands.count=2"};
    EXPECT_EQ(notes(R"({"generations": 7})", islands).size(), 1U);
    EXPECT_THAT(notes(R"({"generations": 8})", islands), ElementsAre());
}

TEST(Experiment, FieldsThatNoNewLayerHasAreTold) {
    const auto notes = [](const std::string& layers, const std::string& overrides) {
        return experiment(minimal(), {"mutation.layers=" + layers, "islands.count=2",
                                      R"(mutation.layer_types=["multi_head_attention", "conv2d"])",
                                      "islands.overrides=" + overrides})
            .notes;
    };
    using testing::ElementsAre;
    const std::string dropout = R"([{"type": "dropout", "rate": 0.25}])";
    const std::string own = R"({"mutation": {"layers": )" + dropout + "}}";
    const std::string none = R"({"mutation": {"layers": []}})";
    EXPECT_THAT(notes(dropout, "[{}, {}]"),
                ElementsAre("mutation.layers for dropout does nothing: mutation.layer_types does "
                            "not name it"));
    EXPECT_THAT(notes(R"([{"type": "dropout"}, {"type": "conv2d"}, {"type": "gru"}])", "[{}, {}]"),
                ElementsAre("mutation.layers for dropout, gru does nothing: mutation.layer_types "
                            "does not name them"));
    EXPECT_THAT(notes("[]", "[" + own + ", {}]"),
                ElementsAre("islands.overrides[0].mutation.layers for dropout does nothing: "
                            "islands.overrides[0].mutation.layer_types does not name it"));
    EXPECT_THAT(notes(R"([{"type": "conv2d"}])", "[" + none + ", " + none + "]"),
                ElementsAre("mutation.layers does nothing: each island has its own"));
    // Read on one island is read; a dense layer is in what makes attention the identity.
    EXPECT_THAT(notes(dropout, R"([{"mutation": {"layer_types": ["dropout"]}}, {}])"),
                ElementsAre());
    EXPECT_THAT(notes(R"([{"type": "dense", "bias": false}])", "[{}, {}]"), ElementsAre());
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
    const std::string inside = R"({"type": "sequential", "layers": [
        {"type": "neurons", "out": 3, "continuous": true}]}, )" +
                               plain;
    EXPECT_THAT(notes(inside, {"genome.time_constant.perturb_rate=0.5"}), ElementsAre());
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

TEST(Experiment, KeysThatAnIslandAloneHasAreToldWhereItReadsThemNot) {
    const auto notes_of = [](const Json& json, const std::string& island) {
        return experiment(json, {"splice.rate=0", "islands.count=2",
                                 "islands.overrides=[{}, " + island + "]"})
            .notes;
    };
    const auto notes = [&](const std::string& island) {
        return notes_of(Json::parse(R"({"task": {"type": "cart_pole"}, "network": {"layers": [
            {"type": "neurons"}]}, "genome": {"type": "neat"}})"),
                        island);
    };
    using testing::ElementsAre;
    EXPECT_THAT(notes(R"({"genome": {"delay_rate": 0.5, "plastic_toggle_rate": 0.1}})"),
                ElementsAre("islands.overrides[1].genome.delay_rate does nothing: "
                            "genome.feed_forward is true",
                            "islands.overrides[1].genome.plastic_toggle_rate does nothing: no "
                            "layer of the network has \"plastic\": true"));
    EXPECT_THAT(notes(R"({"genome": {"delay_rate": 0.5, "feed_forward": false}})"), ElementsAre());
    EXPECT_THAT(notes_of(minimal(), R"({"splice": {"alpha": 0.25}})"),
                ElementsAre("islands.overrides[1].splice.alpha does nothing: splice.rate is 0"));
    EXPECT_THAT(notes_of(minimal(), R"({"splice": {"alpha": 0.25, "rate": 0.5}})"), ElementsAre());
    EXPECT_THAT(notes(R"({"genome": {"aggregation_rate": 0.5}})"), ElementsAre())
        << "migrants may have others";
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

TEST(Experiment, AThresholdOfWeightsIsToldWhereLinksAreExpressed) {
    const Json json = Json::parse(R"({"task": {"type": "retina"}, "network": {"layers": [
        {"type": "neurons"}]}, "genome": {"type": "hyperneat", "substrate": {
        "weight_threshold": 0.1}}})");
    EXPECT_THAT(experiment(json, {}).notes, testing::ElementsAre());
    EXPECT_THAT(experiment(json, {"genome.substrate.link_expression=true"}).notes,
                testing::ElementsAre("genome.substrate.weight_threshold does nothing: "
                                     "genome.substrate.link_expression is true"));
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

TEST(TrainingConfig, KeysThatNothingReadsAreTold) {
    const Json json = Json::parse(
        R"({"task": {"type": "dataset", "source": {"type": "sine", "rows": 8}}, "training": {}})");
    const auto notes = [&](const std::vector<std::string>& overrides) {
        const Schema schema;
        const ConfigDocument document =
            document_from(json, "test.json", std::filesystem::current_path(), overrides);
        const auto nothing = [](const std::string&) { return std::optional<std::string>(); };
        return make_training(resolve_training(document, schema, nothing), schema,
                             evolve::standard_tasks())
            .notes;
    };
    using testing::ElementsAre;
    const std::string change = "training.early_stop.least_change=0.1";
    const std::string undecayed = R"(training.undecayed=["weight"])";
    EXPECT_THAT(notes({change, undecayed, "task.rows_per_evaluation=4"}),
                ElementsAre("training.early_stop.least_change does nothing: "
                            "training.early_stop.patience is 0",
                            "training.undecayed does nothing: training.optimizer.weight_decay is 0",
                            "task.rows_per_evaluation does nothing: a training sees all rows in "
                            "each epoch"));
    const std::string inverses =
        R"(training.targets={"inverse_learning_rate": 0.1, "inverse_noise": 0.1,
                             "inverse_activation": "tanh"})";
    const std::string vain = " does nothing: training.method is \"target_propagation\"";
    EXPECT_THAT(notes({"training.method=target_propagation", inverses}),
                ElementsAre("training.targets.inverse_learning_rate" + vain,
                            "training.targets.inverse_noise" + vain,
                            "training.targets.inverse_activation" + vain));
    EXPECT_THAT(notes({"training.method=difference_target_propagation", inverses}), ElementsAre());
    EXPECT_THAT(notes({change, "training.early_stop.patience=2", undecayed,
                       R"(training.optimizer={"type": "adamw"})"}),
                ElementsAre());
}

}  // namespace
}  // namespace cambrian::launch::config_tests
