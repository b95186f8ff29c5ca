#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch::test {
namespace lineage_tests {
namespace {

using testing::HasSubstr;

std::vector<std::string> parts_of(const std::string& text, char between) {
    std::vector<std::string> parts;
    std::istringstream lines(text);
    for (std::string part; std::getline(lines, part, between);) parts.push_back(part);
    return parts;
}

/// A run of xor whose individuals are all logged.
std::string evolved(const TemporaryDirectory& directory, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"evolve", write_xor(directory),
                                       "--set",  "run.stop.generations=6",
                                       "--set",  "splice.rate=0.6"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run(arguments).code, 0);
    return directory.file("run-xor");
}

TEST(Lineage, LeadsFromTheFoundersToTheBest) {
    for (const char* logged : {"all", "survivors"}) {
        const TemporaryDirectory directory;
        const std::string place =
            evolved(directory, {"--set", std::string("log.individuals=") + logged});
        const Result result = run({"lineage", place});
        ASSERT_EQ(result.code, 0) << result.err;
        EXPECT_EQ(result.err, "");
        const std::vector<std::string> rows = parts_of(result.out, '\n');
        EXPECT_EQ(rows[0], "id,generation,recipe,parents,fitness,parameters,depth");
        std::map<std::string, std::vector<std::string>> by_id;
        for (std::size_t i = 1; i < rows.size(); ++i)
            by_id[parts_of(rows[i], ',')[0]] = parts_of(rows[i], ',');
        ASSERT_EQ(by_id.size(), rows.size() - 1) << "an ancestor has one row";
        // The last row is the best; everybody else is a parent of somebody below, one birth deeper.
        const std::vector<std::string> best = parts_of(rows.back(), ',');
        EXPECT_EQ(best[6], "0");
        EXPECT_NEAR(std::stod(best[4]),
                    distributed::read_network(std::filesystem::path(place) / "best.cmb").fitness,
                    1e-12);
        std::map<std::string, int> depth{{best[0], 0}};
        for (auto at = by_id.rbegin(); at != by_id.rend(); ++at) EXPECT_NE(at->second[2], "carry");
        for (std::size_t i = rows.size() - 1; i > 0; --i) {
            const std::vector<std::string> row = parts_of(rows[i], ',');
            ASSERT_TRUE(depth.contains(row[0])) << row[0] << " is nobody's parent";
            EXPECT_EQ(depth[row[0]], std::stoi(row[6]));
            const std::vector<std::string> parents = parts_of(row[3], ';');
            EXPECT_EQ(parents.empty(), row[2] == "sample");
            for (const std::string& parent : parents) {
                ASSERT_TRUE(by_id.contains(parent));
                EXPECT_LT(std::stoi(parent), std::stoi(row[0]));
                const int own = depth[row[0]] + 1;
                depth[parent] = depth.contains(parent) ? std::min(depth[parent], own) : own;
            }
        }
        EXPECT_EQ(depth.size(), by_id.size());
        EXPECT_EQ(run({"lineage", place, "--csv", directory.file("lineage.csv")}).out, "");
        EXPECT_TRUE(std::filesystem::exists(directory.path() / "lineage.csv"));
    }
}

TEST(Lineage, UnknownBirthsAreRefused) {
    const TemporaryDirectory directory;
    const std::string place = evolved(directory, {});
    const Result unknown = run({"lineage", place, "--birth", "99999"});
    EXPECT_EQ(unknown.code, 3);
    EXPECT_THAT(unknown.err, HasSubstr("birth 99999 is not in"));
    const Result nothing = run({"lineage", directory.file("nothing")});
    EXPECT_EQ(nothing.code, 3);
    EXPECT_THAT(nothing.err, HasSubstr("there is no run in"));
}

TEST(Extract, WritesTheFittestOfACheckpoint) {
    const TemporaryDirectory directory;
    const std::string place = evolved(directory, {"--set", "run.stop.generations=4"});
    ASSERT_EQ(run({"resume", place, "--set", "run.stop.generations=6"}).code, 0);
    const Result result = run({"extract", place, "--elite", "2"});
    ASSERT_EQ(result.code, 0) << result.err;
    const auto read = [&](const std::string& file) {
        return distributed::read_network(std::filesystem::path(place) / file);
    };
    const auto first = read("elites/elite-1.cmb");
    EXPECT_EQ(first.fitness, read("best.cmb").fitness);
    EXPECT_EQ(first.genome.weights, read("best.cmb").genome.weights);
    EXPECT_LE(read("elites/elite-2.cmb").fitness, first.fitness);
    EXPECT_NE(read("elites/elite-2.cmb").genome.weights, first.genome.weights);
    const Result evaluated = run({"evaluate", place + "/elites/elite-2.cmb", "--phase", "train"});
    EXPECT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(evaluated.out,
                HasSubstr(fmt::format("fitness {:.6g}", read("elites/elite-2.cmb").fitness)));
    const std::string older = place + "/checkpoint-4.cmb";
    ASSERT_TRUE(std::filesystem::exists(older));
    ASSERT_EQ(run({"extract", older, "-o", directory.file("older")}).code, 0);
    EXPECT_EQ(distributed::read_network(directory.path() / "older/elite-1.cmb").generation, 3U);
    const Result many = run({"extract", place, "--elite", "99"});
    EXPECT_EQ(many.code, 2);
    EXPECT_THAT(many.err, HasSubstr("--elite is 99"));
    EXPECT_THAT(many.err, HasSubstr(" keeps "));
    EXPECT_EQ(run({"extract", directory.file("nothing")}).code, 3);
}

TEST(Extract, WritesTheChampionsOfSpecies) {
    const TemporaryDirectory directory;
    const std::string place =
        evolved(directory, {"--set", "strategy.type=species", "--set", "species.threshold=0.15"});
    const Result result = run({"extract", place, "--species-champions"});
    ASSERT_EQ(result.code, 0) << result.err;
    // As many as the last generation has species that live on, each with the best of its row.
    std::map<std::string, std::string> best;
    std::ifstream table(place + "/species.csv");
    for (std::string line; std::getline(table, line);) {
        const std::vector<std::string> cells = parts_of(line, ',');
        if (cells[0] == "5" && cells[7] != "0") best[cells[1]] = cells[3];
    }
    EXPECT_GT(best.size(), 1U);
    EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(result.out, '\n')), best.size());
    for (const auto& [id, fitness] : best)
        EXPECT_EQ(fmt::format("{}", distributed::read_network(std::filesystem::path(place) /
                                                              ("species/species-" + id + ".cmb"))
                                        .fitness),
                  fitness);
    const std::string other = directory.file("other");
    ASSERT_EQ(run({"evolve", write_xor(directory), "--set", "run.stop.generations=2", "--set",
                   "run.directory=" + other})
                  .code,
              0);
    const Result none = run({"extract", other, "--species-champions"});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("strategy.type is \"elite\", which has no species"));
}

}  // namespace
}  // namespace lineage_tests
}  // namespace cambrian::launch::test
