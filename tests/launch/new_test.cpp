#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cambrian/engine/io/csv/csv.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// The path of a CSV file: a config for it, evolution, what was reached, answers to rows.
namespace cambrian::launch {
namespace {

using nlohmann::json;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

double noise(int row, double frequency) {
    return std::sin(frequency * row);
}

class New : public testing::Test {
  protected:
    /// 150 flowers of three kinds in words, in the order of the kinds; a semicolon file with gaps.
    std::string flowers() const {
        std::string text = "id;sepal length;petal length;petal width;colour;species\r\n";
        const std::array<std::string, 3> kinds{"setosa", "\"versicolor; \"\"blue flag\"\"\"",
                                               "virginica"};
        for (int row = 0; row < 150; ++row) {
            const int kind = row / 50;
            std::string line = fmt::format(
                "{};{:.1f};{};{:.1f};blue;{}\r\n", row + 1,
                5.0 + 0.8 * kind + 0.4 * noise(row, 12.9),
                row % 40 == 7 ? "NA"
                              : fmt::format("{:.1f}", 1.5 + 1.8 * kind + 0.5 * noise(row, 7.8)),
                0.3 + 0.8 * kind + 0.3 * noise(row, 3.7), kinds[static_cast<std::size_t>(kind)]);
            text += line;
        }
        return directory_.write("flowers.csv", text);
    }
    std::string config_of(const std::vector<std::string>& arguments) const {
        std::vector<std::string> command{"new"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        command.insert(command.end(), {"-o", directory_.file("new.json")});
        const Result result = run(command);
        EXPECT_EQ(result.code, 0) << result.err;
        console_ = result.out;
        return directory_.file("new.json");
    }
    /// Evolves, and has the champion judged on the rows that validate.
    json evolved(const std::string& config) const {
        const Result run_of =
            run({"evolve", config, "-q", "--set", "run.directory=" + directory_.file("run")});
        EXPECT_EQ(run_of.code, 0) << run_of.err;
        const Result result = run({"evaluate", best(), "--phase", "validation", "--json"});
        EXPECT_EQ(result.code, 0) << result.err;
        return json::parse(result.out)["networks"][0]["metrics"];
    }
    [[nodiscard]] std::string best() const { return directory_.file("run/best.cmb"); }
    /// What a baseline reaches on the rows that validate, as 'evaluate' prints it.
    [[nodiscard]] double baseline(const std::string& name) const {
        const std::string text = run({"evaluate", best(), "--phase", "validation"}).out;
        EXPECT_THAT(text, HasSubstr(name));
        return std::stod(text.substr(text.find(name) + name.size()));
    }

    TemporaryDirectory directory_;
    mutable std::string console_;
};

TEST_F(New, LabelsInWordsAreClassifiedBetterThanByAnyBaseline) {
    const std::string csv = flowers();
    const std::string config = config_of({"--csv", csv, "--target", "species"});
    EXPECT_THAT(console_,
                AllOf(HasSubstr("classification of species, for the target holds texts, 3 "
                                "different ones"),
                      HasSubstr("left out    id: it counts the rows"),
                      HasSubstr("left out    colour: it holds texts, such as \"blue\""),
                      HasSubstr("next        cambrian evolve ")));
    const json metrics = evolved(config);
    EXPECT_GE(metrics["accuracy"].get<double>(), 0.95);
    EXPECT_GT(metrics["accuracy"].get<double>(), baseline("majority (accuracy)"));

    const std::string text = run({"evaluate", best(), "--phase", "validation", "--metrics"}).out;
    EXPECT_THAT(text, AllOf(HasSubstr("\n  setosa "), HasSubstr("\n  versicolo... ")));
    std::filesystem::rename(csv, directory_.file("moved.csv"));
    const Result answers =
        run({"infer", best(), "--join", "--input", directory_.file("moved.csv")});
    ASSERT_EQ(answers.code, 0) << answers.err;
    EXPECT_THAT(answers.err,
                HasSubstr("missing values are filled as when the network learnt (mean)"));
    const CsvFile table(directory_.write("answers.csv", answers.out));
    EXPECT_EQ(table.header()[6], "class");
    EXPECT_EQ(table.header()[7], "probability");
    CsvRecords rows = table.rows();
    int right = 0;
    while (rows.next()) right += rows.cells()[5] == rows.cells()[6] ? 1 : 0;
    EXPECT_GE(right, 140);
}

TEST_F(New, TheNextCommandIsOfWordsOfAShell) {
    const std::string place = directory_.file("sub dir.json");
    const Result result = run({"new", "--csv", flowers(), "--target", "species", "-o", place});
    EXPECT_THAT(result.out, HasSubstr("next        cambrian evolve '" + place + "'\n"));
}

TEST_F(New, TheSameConfigTrains) {
    const std::string config = config_of({"--csv", flowers(), "--target", "species"});
    const Result trained =
        run({"train", config, "-q", "--set", "run.directory=" + directory_.file("run")});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const Result result = run({"evaluate", best(), "--phase", "validation", "--json"});
    EXPECT_GE(json::parse(result.out)["networks"][0]["metrics"]["accuracy"].get<double>(), 0.95);
}

TEST_F(New, NamesMayLookLikeWhatAConfigReplaces) {
    std::string text = "{seed},${NOT_SET},{name},kind\n";
    for (int row = 0; row < 60; ++row)
        text += fmt::format("{:.2f},{:.2f},{:.2f},{}\n", noise(row, 12.9), noise(row, 7.8),
                            noise(row, 3.7), row % 2 == 0 ? "even" : "odd");
    const std::string csv = directory_.write("{seed} of ${NOT_SET}.csv", text);
    const std::string config = config_of({"--csv", csv, "--target", "kind"});
    const std::string place = directory_.file("run");
    const Result result = run({"evolve", config, "-q", "--set", "run.directory=" + place, "--set",
                               "run.stop.generations=1"});
    EXPECT_EQ(result.code, 0) << result.err;
    const Result resumed = run({"resume", place, "-q", "--set", "run.stop.generations=2"});
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    const Result inspected = run({"inspect", best()});
    for (const char* column : {"{seed}", "${NOT_SET}", "{name}"})
        EXPECT_THAT(inspected.out, HasSubstr(column));
}

TEST_F(New, NumbersArePredictedBetterThanByALine) {
    std::string text = "x,z,y\n";
    for (int row = 0; row < 300; ++row) {
        const double x = 2.0 * noise(row, 1.7);
        const double z = noise(row, 5.3);
        text += fmt::format("{:.3f},{:.3f},{:.3f}\n", x, z, 10.0 + x * x + 3.0 * z);
    }
    const std::string config =
        config_of({"--csv", directory_.write("curve.csv", text), "--target", "y"});
    EXPECT_THAT(console_,
                HasSubstr("regression of y, for the target holds numbers with fractions"));
    const json metrics = evolved(config);
    const double line = baseline("least_squares");
    EXPECT_LT(metrics["mse"].get<double>(), line / 4.0);
    EXPECT_LT(metrics["mse"].get<double>(), baseline("mean"));
}

TEST_F(New, ASeriesIsForecastBetterThanByAnyBaseline) {
    // What a line cannot say: many hares have few young.
    std::string text = "year,hares,rain\n";
    double hares = 0.4;
    for (int row = 0; row < 400; ++row) {
        text += fmt::format("{},{:.4f},{:.2f}\n", 1600 + row, hares, noise(row, 9.1));
        hares = 3.7 * hares * (1.0 - hares);
    }
    const std::string csv = directory_.write("hares.csv", text);
    const std::string config = config_of({"--csv", csv, "--target", "hares", "--time-offset", "1"});
    EXPECT_THAT(console_, HasSubstr("left out    year: it counts the rows"));
    const json metrics = evolved(config);
    const double reached = metrics["mse"].get<double>();
    EXPECT_LT(reached, baseline("persistence") / 10.0);
    EXPECT_LT(reached, baseline("least_squares") / 2.0);
    const Result answers = run({"infer", best(), "--join", "--input", csv});
    EXPECT_THAT(answers.out, testing::StartsWith("year,hares,rain,hares(t+1)\n1600,0.4000,0.00,"));
    // The last row tells of one that is not there yet.
    EXPECT_EQ(std::ranges::count(answers.out, '\n'), 401);
}

TEST_F(New, WhatTheTargetIsDecides) {
    const auto mode = [&](const std::string& values, const std::vector<std::string>& more = {}) {
        std::string text = "a,y\n";
        for (int row = 0; row < 60; ++row)
            text += fmt::format("{},{}\n", (7 * row) % 60,
                                values[static_cast<std::size_t>(row) % values.size()]);
        std::vector<std::string> command{
            "new", "--csv", directory_.write("y.csv", text), "--target", "y", "-o", "-"};
        command.insert(command.end(), more.begin(), more.end());
        const Result result = run(command);
        EXPECT_EQ(result.code, 0) << result.err;
        return result.err.substr(2, result.err.find(" of ") - 2);
    };
    EXPECT_EQ(mode("01"), "classification");
    EXPECT_EQ(mode("ab"), "classification");
    EXPECT_EQ(mode("01", {"--mode", "regression"}), "regression");
    // Each number has to stand in five rows, whatever the others do.
    EXPECT_EQ(mode("000000000112"), "classification");
    EXPECT_EQ(mode("00000000000012"), "regression");
    EXPECT_EQ(mode("01", {"--time-offset", "1"}), "regression");
}

TEST_F(New, WhatCannotBeLearntIsSaid) {
    const auto refused = [&](const std::string& text, const std::vector<std::string>& more,
                             const std::string& why) {
        std::vector<std::string> command{"new", "--csv", directory_.write("rows.csv", text), "-o",
                                         "-"};
        command.insert(command.end(), more.begin(), more.end());
        const Result result = run(command);
        EXPECT_NE(result.code, 0);
        EXPECT_THAT(result.err, HasSubstr(why));
        EXPECT_EQ(result.out, "");
    };
    std::string rows = "a,name,one,y\n";
    for (int row = 0; row < 20; ++row)
        rows += fmt::format("{0}.5,n{0},x,{1}\n", row * row, row % 3);
    refused(rows, {"--target", "z"}, "has no column \"z\"");
    refused(rows, {"--target", "name"}, "has 20 different labels in 20 rows");
    refused(rows, {"--target", "one"}, "has one label only");
    refused(rows, {"--target", "name", "--mode", "regression"},
            "holds \"n0\" (regression predicts");
    refused(rows, {"--target", "y", "--target", "a", "--mode", "classification"},
            "there are 2 targets");
    refused("a,y\n1.5,2\n", {"--target", "y"}, "has 1 rows");
    refused("1,2\n3,4\n", {"--target", "y"}, "only numbers (the first line holds");
    refused("t,y\nx,1\ny,2\nx,1\ny,2\nx,1\ny,2\nx,1\ny,2\nx,1\ny,2\n", {"--target", "y"},
            "has no column to learn from");
    refused("a,y\n1,2\n1,2,3\n", {"--target", "y"}, "rows.csv:3: 3 cells");
    std::string many = "a,y\n";
    for (int row = 0; row < 4000; ++row) many += fmt::format("{},n{}\n", row * row, row % 1500);
    refused(many, {"--target", "y"}, "has more than 1000 different labels");
    // What evolve refuses is refused here, in its words.
    std::string commas = "a;y\n";
    for (int row = 0; row < 20; ++row)
        commas += fmt::format("{},{:03};{}.5\n", row + 1, row, row % 7);
    refused(commas, {"--target", "y"}, "a number has a comma and one in line");
    std::string late = "a,y\n";
    for (int row = 0; row < 50; ++row)
        late +=
            fmt::format("{},{}\n", row * row, row < 45 ? row % 2 == 0 ? "up" : "down" : "still");
    refused(late, {"--target", "y", "--time-offset", "1"}, "still");
    std::string latin = rows;
    latin.replace(0, 1, "\xe9");
    refused(latin, {"--target", "y"}, "rows.csv:1: column \"?\" is not UTF-8");

    const Result named =
        run({"new", "--csv", directory_.write("\xe9.csv", rows), "--target", "y", "-o", "-"});
    EXPECT_EQ(named.code, 2);
    EXPECT_THAT(named.err, HasSubstr("?.csv (not UTF-8"));

    const std::string csv = directory_.write("rows.csv", rows);
    const std::string there = directory_.write("there.json", "mine");
    const Result kept = run({"new", "--csv", csv, "--target", "y", "-o", there});
    EXPECT_EQ(kept.code, 2);
    EXPECT_THAT(kept.err, HasSubstr("is there already"));
    EXPECT_EQ(test::content(there), "mine");
    EXPECT_EQ(run({"new", "--csv", csv, "--target", "y", "-o", there, "--force"}).code, 0);
    EXPECT_EQ(run({"validate", there}).code, 0);
}

}  // namespace
}  // namespace cambrian::launch
