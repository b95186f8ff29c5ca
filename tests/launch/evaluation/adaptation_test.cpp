#include <nlohmann/json.hpp>

#include "cambrian/tests/launch/evaluation/evaluate_support.hpp"

namespace cambrian::launch::evaluate_tests {

TEST_F(Evaluate, AdaptationIsToldFromRunToRun) {
    const std::string config = test::write_xor(directory_);
    const auto evolved = [&](const char* name, const std::vector<std::string>& more) {
        const std::string place = directory_.file(name);
        EXPECT_EQ(
            run(with({"evolve", config, "--quiet", "--set", "run.directory=" + place}, more)).code,
            0);
        return place;
    };
    const std::string first = evolved("first", {});
    const std::string second = evolved("second", {"--set", "run.seed=2"});
    const Result told = run({"adaptation", first, second});
    ASSERT_EQ(told.code, 0) << told.err;
    EXPECT_THAT(told.out, testing::StartsWith("6 generations, best of each, recovery to 95 %\n"));
    EXPECT_THAT(told.out, HasSubstr("  generation 3: "));
    const Result json = run({"adaptation", first, "--change", "1", "--share", "0.01", "--json"});
    ASSERT_EQ(json.code, 0) << json.err;
    const Json found = Json::parse(json.out);
    EXPECT_EQ(found[0]["generation"], 1);
    EXPECT_EQ(found[0]["generations"], 1);
    EXPECT_GT(found[0]["evaluations"], 0);
    EXPECT_LE(found[0]["evaluations"], 12);
    EXPECT_EQ(run({"adaptation", first}).code, 2);
    EXPECT_EQ(run({"adaptation", first, "--change", "9"}).code, 2);
    EXPECT_EQ(run({"adaptation", first, second, "--change", "1"}).code, 2);
    EXPECT_EQ(run({"adaptation", directory_.file("nothing"), "--change", "1"}).code, 3);
}

TEST_F(Evaluate, AdaptationIsToldWithinARun) {
    const std::string place = directory_.file("changing");
    const std::string config = directory_.write(
        "changing.json", R"({"run": {"directory": ")" + place +
                             R"(", "stop": {"generations": 6}}, "population": {"size": 12},
        "network": {"layers": [{"type": "dense"}]},
        "task": {"type": "cart_pole", "episodes": 2, "steps": 60, "changes": [
            {"at": 2, "task": {"force": -10}}, {"at": 4, "task": {}}]}})");
    const Result evolved = run({"evolve", config});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    EXPECT_THAT(evolved.out, HasSubstr("the task changes, from generation 2: {\"force\":-10}; "
                                       "generation 4: {}"));
    EXPECT_THAT(evolved.out, HasSubstr("generation     2  the task changes: {\"force\":-10}"));
    const Result told = run({"adaptation", place, "--share", "0.5"});
    ASSERT_EQ(told.code, 0) << told.err;
    EXPECT_THAT(told.out, HasSubstr("  generation 2: "));
    EXPECT_THAT(told.out, HasSubstr("  generation 4: "));
    const Json found = Json::parse(run({"adaptation", place, "--json"}).out);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[1]["generation"], 4);
    EXPECT_EQ(run({"adaptation", place, "--change", "3"}).code, 2);
    // Of a change before the first validation nothing is known; of the others all the same.
    directory_.write("late/generations.csv",
                     "generation,evaluations,best,validated,task\n0,4,1,,0\n1,8,2,,1\n"
                     "2,12,3,5,1\n3,16,3,2,2\n4,20,4,6,2\n");
    const std::vector<std::string> late{"adaptation", directory_.file("late"), "--measure",
                                        "validated"};
    const Result text = run(late);
    ASSERT_EQ(text.code, 0) << text.err;
    EXPECT_THAT(text.out,
                HasSubstr("  generation 1: not known (nothing is measured of the task before "
                          "it, or of the one from it on)\n  generation 3: 5 before, 2 "));
    const Json rest = Json::parse(run(with(late, {"--json"})).out);
    ASSERT_EQ(rest.size(), 2U);
    EXPECT_EQ(rest[0]["generation"], 1);
    EXPECT_TRUE(rest[0].contains("before") && rest[0]["before"].is_null());
    EXPECT_EQ(rest[1]["evaluations"], 8);
    EXPECT_EQ(run({"resume", place, "--set", "run.stop.generations=7"}).code, 0);
    EXPECT_EQ(run({"resume", place, "--set", "task.changes=[]"}).code, 2);
}

TEST_F(Evaluate, AdaptationRefusesNumbersThatAreNone) {
    const auto refused = [&](const std::string& lines, const std::string& why) {
        directory_.write("bad/generations.csv", "generation,evaluations,best,task\n" + lines);
        const Result told = run({"adaptation", directory_.file("bad")});
        EXPECT_EQ(told.code, 3) << told.out;
        EXPECT_THAT(told.err, HasSubstr(why));
    };
    refused("0,4,1,0\n,8,2,1\n", "holds nan (a whole number is wanted there)");
    refused("0,4,1,0\n1.5,8,2,1\n", "holds 1.5 (a whole number");
    refused("-1,4,1,0\n1,8,2,1\n", "holds -1 (a whole number");
    refused("0,4,1,0\n1,1e300,2,1\n", "holds 1e+300 (a whole number");
    refused("0,-4,1,0\n1,8,2,1\n", "holds -4 (a whole number");
    refused("0,4,1,0\n1,,2,1\n", "holds nan (a whole number");
    refused("0,4,1,0\n1,8,2,\n", "holds nan (a whole number");
    refused("0,4,1,0\n2,8,2,1\n1,12,2,1\n", "holds generation 1 after 2 (generations rise)");
    refused("0,4,1,0\n1,8,2,1\n1,12,2,1\n", "holds generation 1 after 1 (generations rise)");
    refused("0,4,1,0\n1,3,2,1\n", "holds 3 evaluations after 4 (they never fall)");
}

}  // namespace cambrian::launch::evaluate_tests
