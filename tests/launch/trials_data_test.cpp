#include <fmt/format.h>

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cambrian/launch/trials/trial_content.hpp"
#include "cambrian/launch/trials/trial_runner.hpp"
#include "cambrian/tests/launch/trials_support.hpp"

// Trials whose runs have data of their own.
namespace cambrian::launch::test {
namespace trials_tests {
namespace {

using testing::HasSubstr;

void write_table(const TemporaryDirectory& directory, const std::string& name, int factor) {
    std::string rows = "a,y\n";
    // Not a multiple: columns are scaled.
    for (int i = 0; i < 12; ++i) rows += fmt::format("{},{}\n", i, factor * i % 11);
    directory.write(name, rows);
}

/// @param run_keys more of the section run.
Result table_trials(const TemporaryDirectory& directory, const std::string& file,
                    const std::string& run_keys, const std::vector<std::string>& more) {
    const std::string config = directory.write(
        "table.json",
        fmt::format(R"({{"run": {{"stop": {{"generations": 2}}{}}}, "population": {{"size": 6}},
            "task": {{"type": "table", "train": ["{}"], "targets": ["y"]}},
            "network": {{"layers": [{{"type": "dense"}}]}}}})",
                    run_keys, file));
    std::vector<std::string> arguments{"trials", config, "--directory", directory.file("set")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
}

nlohmann::json content_of_set(const TemporaryDirectory& directory) {
    return nlohmann::json::parse(content(directory.path() / "set/content.json"));
}

/// The hashes of runs by their seeds.
std::map<int, nlohmann::json> hashes_of_seeds(const TemporaryDirectory& directory) {
    std::istringstream lines(content(directory.path() / "set/seeds.jsonl"));
    std::map<int, nlohmann::json> hashes;
    for (std::string line; std::getline(lines, line);) {
        const auto entry = nlohmann::json::parse(line);
        hashes[entry.at("seed").get<int>()] = entry.at("content");
    }
    return hashes;
}

TEST(TrialsData, IsThatOfEachSeed) {
    const TemporaryDirectory directory;
    for (int seed = 1; seed <= 4; ++seed)
        write_table(directory, fmt::format("rows-{}.csv", seed), seed);
    const auto trials_of = [&](const std::vector<std::string>& more) {
        return table_trials(directory, "rows-{seed}.csv", "", more);
    };
    ASSERT_EQ(trials_of({"--runs", "3"}).code, 0);
    // Any seeds belong to the set.
    const Result later = trials_of({"--runs", "3", "--first-seed", "2"});
    ASSERT_EQ(later.code, 0) << later.err;
    EXPECT_THAT(later.out, HasSubstr("seeds 2 to 4 (2 are done)"));
    std::set<std::string> data;
    for (const auto& [seed, hashes] : hashes_of_seeds(directory))
        data.insert(hashes.at("data").get<std::string>());
    EXPECT_EQ(data.size(), 4U);
    EXPECT_FALSE(content_of_set(directory).contains("data"));
    // One whose data were replaced is not.
    write_table(directory, "rows-2.csv", 7);
    const Result replaced = trials_of({"--runs", "3"});
    EXPECT_EQ(replaced.code, 2) << replaced.out;
    EXPECT_THAT(replaced.err, HasSubstr("holds trials with another data of seed 2 (it was "));
    // Nor is one whose data are gone, which does not matter to those of others.
    std::filesystem::remove(directory.path() / "rows-2.csv");
    const Result gone = trials_of({"--runs", "3"});
    EXPECT_EQ(gone.code, 3) << gone.out;
    EXPECT_THAT(gone.err, HasSubstr("seed 2 has ended, and what it was made with cannot be read"));
    EXPECT_EQ(trials_of({"--runs", "2", "--first-seed", "3"}).code, 0);
    write_table(directory, "rows-2.csv", 2);
    const Result restored = trials_of({"--runs", "4"});
    EXPECT_EQ(restored.code, 0) << restored.err;
    EXPECT_THAT(restored.out, HasSubstr("(4 are done)"));
}

TEST(TrialsData, MayLieInAFolderOfEachSeed) {
    const TemporaryDirectory directory;
    for (int seed = 1; seed <= 2; ++seed)
        write_table(directory, fmt::format("of-{}/rows.csv", seed), seed);
    const auto trials_of = [&](const std::string& seed) {
        return table_trials(directory, "rows.csv", R"(, "base_directory": "of-{seed}")",
                            {"--runs", "1", "--first-seed", seed});
    };
    ASSERT_EQ(trials_of("2").code, 0);
    ASSERT_EQ(trials_of("1").code, 0);
    write_table(directory, "of-2/rows.csv", 7);
    EXPECT_EQ(trials_of("1").code, 0);
    EXPECT_THAT(trials_of("2").err, HasSubstr("another data of seed 2"));
}

TEST(TrialsData, IsOneWhereSeedsNameNone) {
    const TemporaryDirectory directory;
    write_table(directory, "rows.csv", 1);
    const std::string names = R"(, "name": "run-{seed}")";
    ASSERT_EQ(table_trials(directory, "rows.csv", names, {"--runs", "2"}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "set/seeds.jsonl"));
    EXPECT_EQ(table_trials(directory, "rows.csv", names, {"--runs", "2", "--first-seed", "2"}).code,
              0);
    write_table(directory, "rows.csv", 2);
    EXPECT_THAT(table_trials(directory, "rows.csv", names, {"--runs", "4"}).err,
                HasSubstr("holds trials with another data (it was "));
}

TEST(TrialsData, OfAllAreNotMixedWithThoseOfSeeds) {
    for (const bool of_all_first : {true, false}) {
        const TemporaryDirectory directory;
        for (const char* file : {"rows.csv", "of-1/rows.csv", "of-2/rows.csv"})
            write_table(directory, file, 1);
        const auto trials_of = [&](bool of_all, const std::string& seed) {
            return table_trials(directory, "rows.csv",
                                of_all ? "" : R"(, "base_directory": "of-{seed}")",
                                {"--runs", "1", "--first-seed", seed});
        };
        ASSERT_EQ(trials_of(of_all_first, "1").code, 0);
        const Result other = trials_of(!of_all_first, "2");
        EXPECT_EQ(other.code, 2) << other.out;
        EXPECT_THAT(other.err, HasSubstr("holds trials with another data (it was "));
        EXPECT_THAT(other.err, HasSubstr(of_all_first ? "now it is that of each seed)"
                                                      : "it was that of each seed, "));
        EXPECT_EQ(trials_of(of_all_first, "2").code, 0);
    }
}

TEST(TrialsData, IsNoPlaceWithASeed) {
    const TemporaryDirectory directory;
    write_table(directory, "rows.csv", 1);
    const std::string cache = "engine.cache_directory=" + directory.file("cache-{seed}");
    ASSERT_EQ(table_trials(directory, "rows.csv", "", {"--runs", "1"}).code, 0);
    const Result placed = table_trials(directory, "rows.csv", "", {"--runs", "2", "--set", cache});
    EXPECT_EQ(placed.code, 0) << placed.err;
    EXPECT_TRUE(content_of_set(directory).contains("data"));
}

TEST(TrialsData, IsWhatASeedNames) {
    const Schema schema;
    const auto named = [&](const char* config, const std::string& base_directory = "") {
        return seed_names_data(schema, Json::parse(config), base_directory);
    };
    EXPECT_TRUE(named(R"({"task": {"type": "table", "train": ["{seed}.csv"]}})"));
    EXPECT_TRUE(named(R"({"task": {"type": "xor"}, "network": {"initial": "{seed}.cmb"}})"));
    EXPECT_TRUE(named(R"({"task": {"type": "xor"}})", "of-{seed}"));
    EXPECT_FALSE(named(R"({"run": {"name": "{seed}", "directory": "{seed}"},
        "task": {"type": "xor"}})"));
    EXPECT_FALSE(named(R"({"task": {"type": "external", "command": ["a", "{seed}"],
        "settings": {"at": "{seed}"},
        "changes": [{"at": 2, "task": {"settings": {"at": "{seed} "}}}]}})"));
    EXPECT_TRUE(named(R"({"task": {"type": "of_mine", "settings": "{seed}"}})"));
}

TEST(TrialsData, ThatIsNotKnownIsComparedByTheRun) {
    const TemporaryDirectory directory;
    for (int seed = 1; seed <= 3; ++seed)
        write_table(directory, fmt::format("rows-{}.csv", seed), seed);
    const auto three = [&] {
        return table_trials(directory, "rows-{seed}.csv", "", {"--runs", "3", "--jobs", "1"});
    };
    const auto path = directory.path() / "set/seeds.jsonl";
    ASSERT_EQ(three().code, 0);
    const auto before = hashes_of_seeds(directory);
    const std::vector<std::string> rows = rows_of(directory.path() / "set/trials.csv");
    // A host that went down lost a line, and a part of one.
    const std::string first = content(path).substr(0, content(path).find('\n') + 1);
    const auto lose = [&] { directory.write("set/seeds.jsonl", first + R"({"seed":2,"con)"); };
    lose();
    const Result again = three();
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_THAT(again.out, HasSubstr("(1 are done)"));
    EXPECT_EQ(rows_of(directory.path() / "set/trials.csv"), rows);
    EXPECT_EQ(hashes_of_seeds(directory), before);
    EXPECT_FALSE(std::filesystem::exists(directory.path() / "set/seed-2.damaged"));
    lose();
    write_table(directory, "rows-2.csv", 7);
    const Result replaced = three();
    EXPECT_EQ(replaced.code, 2) << replaced.out;
    EXPECT_THAT(replaced.err, HasSubstr("the run of seed 2 failed"));
    EXPECT_THAT(replaced.err, HasSubstr("another content.data"));
}

TEST(TrialsData, IsReadOnceWhereOnlyNetworksAreOfSeeds) {
    const TemporaryDirectory directory;
    for (const int seed : {1, 2, 3})
        directory.write(fmt::format("{}.json", seed),
                        R"({"network": {"layers": [{"type": "dense"}]}})");
    int made = 0;
    evolve::TaskRegistry tasks;
    tasks.add("counted", [&](const nlohmann::json&, const evolve::TaskContext&) {
        ++made;
        return evolve::standard_tasks().make({{"type", "xor"}}, {});
    });
    const auto strategies = evolve::standard_strategies();
    const auto genomes = evolve::standard_genomes();
    const TrialsOptions options{
        .config =
            directory.write("counted.json",
                            R"({"run": {"stop": {"generations": 1}}, "population": {"size": 4},
                "task": {"type": "counted"},
                "network": {"initial": "{seed}.json", "initial_weights": "fresh"}})"),
        .runs = 3,
        .directory = directory.file("set"),
        .quiet = true,
        .overrides = {}};
    std::ostringstream out;
    const std::atomic<int> interrupt{0};
    const auto done = [&] {
        made = 0;
        return run_trials({tasks, strategies, genomes, out, out}, Schema(tasks, genomes), options,
                          interrupt)
            .trials.size();
    };
    EXPECT_EQ(done(), 3U);
    EXPECT_EQ(done(), 3U);
    EXPECT_EQ(made, 1) << "those of seeds that ended are compared with it";
}

TEST(TrialsData, IsNotReadOnAfterAnInterrupt) {
    const TemporaryDirectory directory;
    for (int seed = 1; seed <= 2; ++seed)
        write_table(directory, fmt::format("rows-{}.csv", seed), seed);
    ASSERT_EQ(table_trials(directory, "rows-{seed}.csv", "", {"--runs", "2"}).code, 0);
    std::filesystem::remove(directory.path() / "rows-2.csv");
    const auto tasks = evolve::standard_tasks();
    const auto strategies = evolve::standard_strategies();
    const auto genomes = evolve::standard_genomes();
    std::ostringstream out;
    const TrialsOptions options{.config = directory.file("table.json"),
                                .runs = 2,
                                .directory = directory.file("set"),
                                .overrides = {}};
    const std::atomic<int> interrupt{1};
    const TrialsDone done = run_trials({tasks, strategies, genomes, out, out},
                                       Schema(tasks, genomes), options, interrupt);
    EXPECT_TRUE(done.interrupted);
    EXPECT_EQ(done.trials.size(), 2U);
}

}  // namespace
}  // namespace trials_tests
}  // namespace cambrian::launch::test
