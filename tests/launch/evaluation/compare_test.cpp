#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/tests/launch/evaluation/evaluate_support.hpp"

namespace cambrian::launch::evaluate_tests {

TEST_F(Evaluate, PopulationsAreGroupedByTheirDistances) {
    const std::string config = test::write_xor(directory_);
    ASSERT_EQ(run({"evolve", config, "--quiet"}).code, 0);
    const std::string place = directory_.file("run-xor");
    for (const std::vector<std::string>& how :
         {std::vector<std::string>{"--cluster", "2"},
          {"--groups", "2"},
          {"--groups", "2", "--linkage", "single", "--measure", "history"}}) {
        const Result text = run(with({"compare", place}, how));
        ASSERT_EQ(text.code, 0) << text.err;
        EXPECT_THAT(text.out, testing::StartsWith("2 groups of "));
        EXPECT_THAT(text.out, HasSubstr("silhouette"));
        const Result csv = run(with({"compare", place, "--csv", "-"}, how));
        EXPECT_THAT(csv.out, testing::StartsWith("network,group,silhouette\nbirth "));
        EXPECT_THAT(csv.out, testing::Not(HasSubstr("groups of")));
        EXPECT_EQ(csv.out, run(with({"compare", place, "--csv", "-"}, how)).out);
    }
    EXPECT_THAT(run({"compare", place, "--group", "2"}).out, testing::StartsWith("1 groups of "));
    EXPECT_THAT(run({"compare", place, "--tree", "newick"}).out, testing::EndsWith(");\n"));
    EXPECT_THAT(run({"compare", place, "--tree", "text"}).out, testing::StartsWith("+ "));
    EXPECT_EQ(run({"compare", place, "--cluster", "999"}).code, 2);
    EXPECT_EQ(run({"compare", place, "--cluster", "2", "--group", "1"}).code, 2);
    EXPECT_EQ(run({"compare", place, "--tree", "text", "--csv", "-"}).code, 2);
    for (const char* standard : {"-", "/dev/stdout"}) {
        const Result beside =
            run({"compare", place, "--cluster", "2", "--tree", "text", "--csv", standard});
        EXPECT_EQ(beside.code, 2);
        EXPECT_THAT(beside.err, HasSubstr("standard output has the table alone"));
    }
    EXPECT_THAT(run({"compare", place, "--cluster", "2", "--tree", "text", "--csv",
                     directory_.file("groups.csv")})
                    .out,
                HasSubstr("\n+ "));
    EXPECT_THAT(run({"compare", place, "--linkage", "single"}).err, HasSubstr("only groups and"));
    EXPECT_THAT(run({"compare", place, "--probes", "8"}).err, HasSubstr("only --measure activat"));
    const std::string best = place + "/best.cmb";
    EXPECT_EQ(run({"compare", best, best, "--measure", "history"}).out,
              "2 networks, mean distance of pairs 0.0000 by default weights\n");
}

TEST_F(Evaluate, GenesAreWeighedAsTheirRunDoes) {
    const std::string config = test::write_xor(directory_);
    const auto evolved = [&](const char* name, const std::string& weight) {
        const std::string place = directory_.file(name);
        EXPECT_EQ(run({"evolve", config, "--quiet", "--set", "run.directory=" + place, "--set",
                       "species.distance={\"excess\":0,\"disjoint\":0,\"weight\":" + weight + "}"})
                      .code,
                  0);
        return place;
    };
    const std::string unweighed = evolved("unweighed", "0");
    const std::string weighed = evolved("weighed", "1");
    const auto compared = [&](const std::vector<std::string>& runs) {
        return run(with(with({"compare"}, runs), {"--measure", "history"}));
    };
    EXPECT_THAT(compared({unweighed}).out, testing::EndsWith("mean distance of pairs 0.0000\n"));
    const Result apart = compared({weighed});
    EXPECT_EQ(apart.code, 0) << apart.err;
    EXPECT_THAT(apart.out, testing::Not(HasSubstr("pairs 0.0000")));
    EXPECT_THAT(compared({weighed, unweighed}).err, HasSubstr("weighs genes otherwise"));
}

TEST_F(Evaluate, NetworksOfSeveralRunsHaveNamesOfTheirOwn) {
    const std::string config = test::write_xor(directory_);
    std::vector<std::string> runs;
    for (const char* seed : {"1", "2"}) {
        runs.push_back(directory_.file(std::string("seed-") + seed));
        ASSERT_EQ(run({"evolve", config, "--quiet", "--set", "run.directory=" + runs.back(),
                       "--set", std::string("run.seed=") + seed})
                      .code,
                  0);
    }
    const auto table = test::cells(run({"compare", runs[0], runs[1], "--csv", "-"}).out);
    const std::set<std::string> names(table.at(0).begin(), table.at(0).end());
    EXPECT_EQ(names.size(), table[0].size());
    for (const std::string& place : runs)
        EXPECT_THAT(table[0], testing::Contains(testing::StartsWith(place + ": birth ")));
    // In quotes: a colon has a meaning there.
    EXPECT_THAT(run({"compare", runs[0], runs[1], "--tree", "newick"}).out,
                testing::AllOf(HasSubstr("'" + runs[0] + ": birth "),
                               HasSubstr("'" + runs[1] + ": birth ")));
    EXPECT_THAT(run({"compare", runs[0], "--csv", "-"}).out, testing::StartsWith("network,birth "));
}

TEST_F(Evaluate, TwoNetworksOfARunHaveOneDistance) {
    const std::string config = test::write_xor(directory_);
    ASSERT_EQ(run({"evolve", config, "--quiet", "--set", "population.elite_fraction=0.1", "--set",
                   "species.distance.weight=50"})
                  .code,
              0);
    const std::string place = directory_.file("run-xor");
    const auto number_after = [](const std::string& text, const std::string& words) {
        return std::stod(text.substr(text.find(words) + words.size()));
    };
    const std::string layers = run({"compare", place}).out;
    const std::string pairs = run({"compare", place, "--measure", "history"}).out;
    ASSERT_THAT(layers, testing::AllOf(testing::StartsWith("overall "), HasSubstr("  distance ")));
    ASSERT_THAT(pairs, testing::StartsWith("2 networks, mean distance of pairs "));
    EXPECT_GT(number_after(pairs, "pairs "), 0.0);
    EXPECT_EQ(number_after(layers, "  distance "), number_after(pairs, "pairs "));
    EXPECT_THAT(layers, testing::Not(HasSubstr("by default weights")));
    const std::string best = place + "/best.cmb";
    EXPECT_THAT(run({"compare", best, best}).out, HasSubstr("distance 0.0000 by default weights"));
}

}  // namespace cambrian::launch::evaluate_tests
