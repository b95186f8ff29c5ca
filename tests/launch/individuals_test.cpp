#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using test::content;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::StartsWith;

const std::string header =
    "generation,id,recipe,parents,status,fitness,evaluations,env_steps,parameters,redrawn,origin";

std::vector<std::vector<std::string>> rows_of(const std::string& csv) {
    std::istringstream lines(csv);
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(lines, line);) {
        std::vector<std::string>& row = rows.emplace_back();
        std::istringstream values(line + ",");
        for (std::string value; std::getline(values, value, ',');) row.push_back(value);
    }
    return rows;
}

class IndividualsCommand : public testing::Test {
  protected:
    /// A run of three generations of 12.
    std::string evolved(const std::vector<std::string>& settings) const {
        std::vector<std::string> arguments{"evolve", test::write_xor(directory_), "--quiet",
                                           "--set", "engine.backend=cpu"};
        for (const std::string& setting : settings) {
            arguments.emplace_back("--set");
            arguments.push_back(setting);
        }
        EXPECT_EQ(run(arguments).code, 0);
        return directory_.file("run-xor");
    }

    TemporaryDirectory directory_;
};

TEST_F(IndividualsCommand, PrintsARowForEach) {
    const std::string place = evolved({"log.individuals=all"});
    const Result result = run({"individuals", place});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, StartsWith(header + "\n0,0,sample,,ok,"));
    const auto rows = rows_of(result.out);
    ASSERT_EQ(rows.size(), 1U + 3 * 12);
    for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::vector<std::string>& row = rows[i];
        ASSERT_EQ(row.size(), rows[0].size()) << i;
        EXPECT_EQ(row[0], std::to_string((i - 1) / 12));
        EXPECT_EQ(row[1], std::to_string(i - 1));
        const bool carried = row[2] == "carry";
        EXPECT_EQ(row[6], carried ? "0" : "1");
        EXPECT_EQ(row[8].empty(), carried);
        EXPECT_EQ(row[10] == row[1], !carried);
    }
    const Result same = run({"individuals", place, "--csv", "-"});
    EXPECT_EQ(same.out, result.out);
    const std::string file = directory_.file("rows.csv");
    EXPECT_EQ(run({"individuals", place, "--csv", file}).code, 0);
    EXPECT_EQ(content(file), result.out);
}

TEST_F(IndividualsCommand, StatusSaysWhatAGenerationWrites) {
    const Result some = run({"status", evolved({})});
    EXPECT_THAT(some.out, testing::ContainsRegex("writes [0-9]+ B a generation to the journal, "
                                                 "[0-9]+ B to individuals.cmb\n"));
    fs::remove_all(directory_.file("run-xor"));
    const Result none = run({"status", evolved({"log.individuals=none"})});
    EXPECT_THAT(none.out, testing::ContainsRegex("writes [0-9]+ B a generation to the journal\n"));
    const Result json = run({"status", directory_.file("run-xor"), "--json"});
    EXPECT_THAT(json.out, HasSubstr("\"individuals_bytes_per_generation\": 0.0"));
}

TEST_F(IndividualsCommand, SurvivorsAreLoggedUnlessOthersAreAskedFor) {
    const auto rows = rows_of(run({"individuals", evolved({})}).out);
    // A quarter of twelve in each generation.
    EXPECT_EQ(rows.size(), 1U + 3 * 3);
}

TEST_F(IndividualsCommand, PrintsTheGenerationsThatAreAskedFor) {
    const std::string place = evolved({"log.individuals=all"});
    const auto generations = [&](const std::string& asked) {
        std::vector<std::string> found;
        for (const auto& row : rows_of(run({"individuals", place, "--generation", asked}).out))
            if (found.empty() || found.back() != row[0]) found.push_back(row[0]);
        return found;
    };
    EXPECT_THAT(generations("1"), testing::ElementsAre("generation", "1"));
    EXPECT_THAT(generations("1-2"), testing::ElementsAre("generation", "1", "2"));
    EXPECT_THAT(generations("7-9"), testing::ElementsAre("generation"));
    for (const char* bad : {"x", "2-1", "-1", "1-", "1-2-3", " 1", "99999999999999999999"}) {
        const Result result = run({"individuals", place, std::string("--generation=") + bad});
        EXPECT_EQ(result.code, 2) << bad;
        EXPECT_THAT(result.err, HasSubstr("give it as 7, or 7-9")) << bad;
    }
    const Result none = run({"individuals", place, "--generation="});
    EXPECT_EQ(none.code, 2);
    EXPECT_THAT(none.err, HasSubstr("--generation: 1 required"));
}

TEST_F(IndividualsCommand, IslandsHaveAColumn) {
    const std::string place = evolved({"islands.count=2", "log.individuals=all"});
    const auto rows = rows_of(run({"individuals", place}).out);
    ASSERT_EQ(rows.size(), 1U + 3 * 12);
    EXPECT_EQ(rows[0].back(), "island");
    EXPECT_EQ(rows[1].back(), "0");
    EXPECT_EQ(rows[12].back(), "1");
}

TEST_F(IndividualsCommand, SpeciesHaveAColumn) {
    const std::string place =
        evolved({"strategy.type=species", "islands.count=2", "log.individuals=all"});
    const auto rows = rows_of(run({"individuals", place}).out);
    ASSERT_EQ(rows.size(), 1U + 3 * 12);
    EXPECT_EQ(rows[0].back(), "species");
    EXPECT_EQ(rows[1].back(), "1");
}

TEST_F(IndividualsCommand, AnEndThatIsCutShortIsLeftOutAndSaid) {
    const std::string place = evolved({});
    const fs::path file = fs::path(place) / distributed::individuals_name;
    const std::string whole = run({"individuals", place}).out;
    fs::resize_file(file, fs::file_size(file) - 1);
    const Result result = run({"individuals", place});
    EXPECT_EQ(result.code, 0);
    EXPECT_THAT(result.err, HasSubstr("ends within a generation"));
    EXPECT_THAT(whole, StartsWith(result.out));
    EXPECT_EQ(rows_of(result.out).size(), 1U + 2 * 3);
    // The remedy helps.
    EXPECT_EQ(run({"resume", place, "--quiet"}).code, 0);
    const Result mended = run({"individuals", place});
    EXPECT_EQ(mended.err, "");
    EXPECT_EQ(mended.out, whole);
}

TEST_F(IndividualsCommand, DamageIsAnErrorAfterWhatIsBefore) {
    const std::string place = evolved({});
    const fs::path file = fs::path(place) / distributed::individuals_name;
    const std::string whole = run({"individuals", place}).out;
    {
        std::fstream damaged(file, std::ios::in | std::ios::out | std::ios::binary);
        damaged.seekp(static_cast<std::streamoff>(fs::file_size(file) - 1));
        damaged << 'x';
    }
    const Result result = run({"individuals", place});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("section \"columns\" is damaged"));
    EXPECT_THAT(whole, StartsWith(result.out));
    EXPECT_EQ(rows_of(result.out).size(), 1U + 2 * 3);
}

TEST_F(IndividualsCommand, WhatCannotBeReadOrWrittenIsAnError) {
    const std::string place = evolved({"log.individuals=none"});
    const Result none = run({"individuals", place});
    EXPECT_EQ(none.code, 3);
    EXPECT_THAT(none.err, HasSubstr("set log.individuals to survivors or all"));
    EXPECT_EQ(run({"individuals"}).code, 2);
    fs::remove_all(place);
    const std::string file = evolved({}) + "/" + distributed::individuals_name;
    const std::string before = content(file);
    EXPECT_EQ(run({"individuals", place, "--csv", file}).code, 2);
    EXPECT_EQ(content(file), before);
    const Result full = run({"individuals", place, "--csv", "/dev/full"});
    EXPECT_EQ(full.code, 3);
    EXPECT_THAT(full.err, HasSubstr("/dev/full cannot be written"));
}

}  // namespace
}  // namespace cambrian::launch
