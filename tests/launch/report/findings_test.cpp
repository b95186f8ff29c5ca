#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/simd/lanes.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"
#include "cambrian/launch/commands/runs/report_findings.hpp"
#include "cambrian/launch/report/page.hpp"
#include "cambrian/launch/report/run_charts.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace findings_tests {
namespace {

using test::run;
using test::TemporaryDirectory;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

/// What commands work with.
struct CommandSupport {
    evolve::TaskRegistry tasks = evolve::standard_tasks();
    evolve::StrategyRegistry strategies = evolve::standard_strategies();
    evolve::GenomeRegistry genomes = evolve::standard_genomes();
    std::ostringstream out;
    std::ostringstream err;
    CommandContext context{tasks, out, err, strategies, genomes};
};

TEST(Findings, HaveAllNetworksOfTheCheckpoint) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q", "--set", "population.size=1200",
                   "--set", "population.elite_fraction=0.5", "--set", "run.stop.generations=1",
                   "--set", "log.individuals=none"})
                  .code,
              0);
    const std::string place = directory.file("run-xor");
    const CommandSupport support;
    const std::size_t all = read_checkpoint_members(support.context, place).members.size();
    EXPECT_GT(all, 500U);
    EXPECT_EQ(findings_of(support.context, read_run(place)).kept.size(), all);
}

TEST(Findings, HaveTheFittestOfManyNetworksThatDevelop) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run");
    ASSERT_EQ(run({"evolve", CAMBRIAN_SOURCE_DIR "/configs/xor_hyperneat.json", "-q", "--set",
                   "run.directory=" + place, "--set", "run.stop.generations=1", "--set",
                   "population.size=2100", "--set", "population.elite_fraction=0.5", "--set",
                   "log.individuals=none"})
                  .code,
              0);
    const CommandSupport support;
    const std::vector<evolve::Member> all = read_checkpoint_members(support.context, place).members;
    ASSERT_GT(all.size(), 1000U);
    const Findings findings = findings_of(support.context, read_run(place));
    ASSERT_EQ(findings.kept.size(), 1000U);
    EXPECT_EQ(findings.kept.front().fitness, all.front().fitness);
    EXPECT_EQ(findings.kept.back().fitness, all[999].fitness);
    EXPECT_THAT(findings.notes,
                Contains(HasSubstr(fmt::format("of the 1000 fittest of {} alone", all.size()))));
}

TEST(Findings, ReplayHasTheScoreThatEvaluateTells) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run");
    ASSERT_EQ(run({"evolve", CAMBRIAN_SOURCE_DIR "/configs/swing_up.json", "-q", "--set",
                   "run.directory=" + place, "--set", "run.stop.generations=1", "--set",
                   "population.size=8", "--set", "engine.family=interpreted"})
                  .code,
              0);
    const CommandSupport support;
    const Findings findings = findings_of(support.context, read_run(place));
    ASSERT_TRUE(findings.replay);
    const test::Result told = run({"evaluate", place + "/best.cmb", "--episodes", "5", "--json"});
    const auto scores = nlohmann::json::parse(told.out)
                            .at("networks")
                            .at(0)
                            .at("samples")
                            .get<std::vector<double>>();
    const auto best = std::ranges::max_element(scores);
    EXPECT_EQ(findings.replay->episode.score, *best);
    EXPECT_EQ(findings.replay->episode.number, best - scores.begin());
    ASSERT_TRUE(findings.replay->episode.drawn_score);
    // Fast math fuses products and sums of a graph alone.
    if (cpu::fuses_multiply_add) {
        EXPECT_NE(*findings.replay->episode.drawn_score, *best);
    }
}

TEST(Findings, SayWhereTheLogDoesNotTellOfTheBest) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const std::filesystem::path place = directory.path() / "run-xor";
    const CommandSupport support;
    const auto note = HasSubstr("No lineage: individuals.cmb does not tell of birth 1000000");
    EXPECT_THAT(findings_of(support.context, read_run(place)).notes, Not(Contains(note)));
    distributed::NetworkFile best = distributed::read_network(place / "best.cmb");
    best.birth = 1'000'000;
    distributed::write_network(place / "best.cmb", best);
    EXPECT_THAT(findings_of(support.context, read_run(place)).notes, Contains(note));
}

TEST(BestNetwork, IsToldWithTheGenerationInWhichItWasBorn) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    RunData carried = read_run(directory.file("run-xor"));
    carried.best->generation = 7;
    carried.best->birth = 70;
    std::string log;
    for (const std::uint64_t generation : {0U, 2U, 7U}) {
        distributed::IndividualBlock block;
        block.generation = generation;
        if (generation > 0)
            block.individuals.push_back(
                {.id = 10 * generation,
                 .recipe = generation == 2 ? evolve::Recipe::sample : evolve::Recipe::carry,
                 .origin = 20});
        const std::vector<std::byte> bytes = encode(block);
        log.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    Findings findings;
    const auto told = [&] { return report_page(std::vector{carried}, findings); };
    EXPECT_THAT(told(), HasSubstr(", chosen in generation 7.</p>"));
    EXPECT_THAT(told(), Not(HasSubstr("born in generation")));
    findings.ancestry = Ancestry(directory.write("log.cmb", log));
    EXPECT_THAT(told(), HasSubstr(", born in generation 2, chosen in generation 7.</p>"));
    carried.best->generation = 2;
    carried.best->birth = 20;
    EXPECT_THAT(told(), HasSubstr(", born in generation 2.</p>"));
}

TEST(LossesChart, LeavesOutGenerationsOfAnotherTask) {
    Findings findings;
    findings.losses.push_back({.baselines = {{"mean", 4.0}}});
    RunData changed;
    changed.columns["best"] = {{0, 1, 2, 3, 4}, {-90.0, -80.0, -3.0, -2.0, -1.0}};
    changed.columns["validated"] = {{1, 3}, {-85.0, -2.5}};
    RunData last;
    last.columns["best"] = {{2, 3, 4}, {-3.0, -2.0, -1.0}};
    last.columns["validated"] = {{3}, {-2.5}};
    EXPECT_THAT(losses_html(changed, findings), Not(HasSubstr("another task")));
    changed.columns["task"] = {{0, 1, 2, 3, 4}, {0, 0, 1, 1, 1}};
    const std::string note =
        "<p>Only generations 2 to 4 are drawn: others had another task (task.changes).</p>\n";
    std::string text = losses_html(changed, findings);
    ASSERT_THAT(text, HasSubstr(note));
    EXPECT_EQ(text.erase(text.find(note), note.size()), losses_html(last, findings));
    // Where nobody was valid since, the best network is of the task before, as its baselines are.
    changed.best.emplace().generation = 1;
    EXPECT_THAT(losses_html(changed, findings), HasSubstr("Only generations 0 to 1 are drawn"));
}

}  // namespace
}  // namespace findings_tests
}  // namespace cambrian::launch
