#include "cambrian/launch/report/page.hpp"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/report/chart.hpp"
#include "cambrian/launch/report/run_charts.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::run;
using test::TemporaryDirectory;
using ::testing::HasSubstr;
using ::testing::Not;

void expect_nothing_loaded(const std::string& page) {
    for (const char* part : {"http:", "https:", "src=", "href=", "url(", "@import", "import("})
        EXPECT_THAT(page, Not(HasSubstr(part)));
}

TEST(Report, ShowsARunOnOnePage) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const test::Result result = run({"report", directory.file("run-xor")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("report.html: 1 run, "));
    const std::string page = test::content(directory.file("run-xor/report.html"));
    for (const char* part :
         {"<!DOCTYPE html>", "<h1>small</h1>", "Fitness", "<svg viewBox", "Seconds of each rank",
          "The best network", "How to reproduce it", "&quot;population&quot;", "</html>",
          "Where it comes from", "Ancestors of the best network", "founder",
          "Fitness and weights of the last generation", "Seconds of evaluation in each generation",
          "No replay: task xor has no episodes and does not draw itself."})
        EXPECT_THAT(page, HasSubstr(part));
    expect_nothing_loaded(page);
    EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(Report, PlaysTheBestEpisodeThatEvaluateHas) {
    const TemporaryDirectory directory;
    const std::string place = directory.file("run");
    ASSERT_EQ(run({"evolve", CAMBRIAN_SOURCE_DIR "/configs/cart_pole.json", "-q", "--set",
                   "run.directory=" + place, "--set", "run.stop.generations=2", "--set",
                   "population.size=20"})
                  .code,
              0);
    ASSERT_EQ(run({"report", place}).code, 0);
    const std::string page = test::content(place + "/report.html");
    expect_nothing_loaded(page);
    EXPECT_THAT(page, HasSubstr("<svg id='replay'"));
    EXPECT_THAT(page, HasSubstr("the best of them: score "));
    EXPECT_THAT(page, HasSubstr("validation, run.seed "));
    // Its score is the largest of the episodes of the command that the page names.
    const test::Result evaluated = run({"evaluate", place + "/best.cmb", "--episodes", "5"});
    ASSERT_EQ(evaluated.code, 0) << evaluated.err;
    EXPECT_THAT(page, HasSubstr("best.cmb --episodes 5"));
    const auto number_after = [](const std::string& text, const std::string& words) {
        const std::size_t at = text.find(words);
        EXPECT_NE(at, std::string::npos) << words;
        return at == std::string::npos
                   ? std::string()
                   : text.substr(at + words.size(),
                                 text.find_first_of(" \n", at + words.size()) - at - words.size());
    };
    const std::string samples = evaluated.out.substr(evaluated.out.find("5 samples"));
    EXPECT_EQ(number_after(page, "the best of them: score "), number_after(samples, " to "));
}

TEST(Report, SetsLossesBesideBaselines) {
    const TemporaryDirectory directory;
    std::string rows = "a,b,y\n";
    for (int i = 0; i < 60; ++i)
        rows += std::to_string(i % 7) + "," + std::to_string(i % 5) + "," +
                std::to_string(2 * (i % 7) - i % 5) + "\n";
    directory.write("rows.csv", rows);
    const std::string config = directory.write(
        "table.json", R"({"run": {"directory": ")" + directory.file("run") +
                          R"(", "stop": {"generations": 6}}, "population": {"size": 12},
            "task": {"type": "table", "train": ["rows.csv"], "inputs": ["a", "b"], "targets": ["y"],
                     "validation": {"fraction": 0.25, "every": 2}},
            "network": {"layers": [{"type": "dense"}]}})");
    const test::Result evolved = run({"evolve", config, "-q"});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    ASSERT_EQ(run({"report", directory.file("run")}).code, 0);
    const std::string page = test::content(directory.file("run/report.html"));
    for (const char* part :
         {"Loss of the best network beside simple predictors", "validated", "mean (validation)",
          "stroke-dasharray='5 4'", "the best network (loss)", "<th>validation</th>"})
        EXPECT_THAT(page, HasSubstr(part));
    // Without its data the page says what is missing and shows the rest.
    std::filesystem::remove(directory.path() / "rows.csv");
    ASSERT_EQ(run({"report", directory.file("run")}).code, 0);
    const std::string without = test::content(directory.file("run/report.html"));
    EXPECT_THAT(without, HasSubstr("What is not here"));
    EXPECT_THAT(without, HasSubstr("rows.csv"));
    EXPECT_THAT(without, HasSubstr("Ancestors of the best network"));
}

TEST(Report, EscapesNamesAndRefusesToLoad) {
    const TemporaryDirectory directory;
    const std::string evil = "<img src=x onerror=alert(1)>'\"&";
    const std::string columns = "\"</script><b>a\",b,y\n";
    std::string rows = columns;
    for (int i = 0; i < 20; ++i)
        rows += std::to_string(i % 3) + "," + std::to_string(i % 4) + "," +
                std::to_string(i % 3 + i % 4) + "\n";
    directory.write("rows.csv", rows);
    nlohmann::json config = {
        {"run",
         {{"name", evil}, {"directory", directory.file("<i>run")}, {"stop", {{"generations", 2}}}}},
        {"population", {{"size", 6}}},
        {"task",
         {{"type", "table"},
          {"train", nlohmann::json::array({"rows.csv"})},
          {"inputs", nlohmann::json::array({"</script><b>a", "b"})},
          {"targets", nlohmann::json::array({"y"})}}},
        {"network", nlohmann::json::parse(R"({"layers": [{"type": "neurons"}]})")},
        {"genome", {{"type", "neat"}}}};
    const test::Result evolved = run({"evolve", directory.write("evil.json", config.dump()), "-q"});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    ASSERT_EQ(run({"report", directory.file("<i>run")}).code, 0);
    const std::string page = test::content(directory.file("<i>run/report.html"));
    EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=alert(1)&gt;&#39;&quot;&amp;"));
    EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;b&gt;a"));
    for (const char* part : {"<img", "<b>", "<i>run"}) EXPECT_THAT(page, Not(HasSubstr(part)));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Report, StartsNoProgramOfARun) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    const std::string place = directory.file("run-xor");
    const std::string mark = directory.file("started");
    nlohmann::json config = nlohmann::json::parse(test::content(place + "/config.json"));
    config["task"] = {{"type", "external"}, {"command", {"touch", mark}}};
    directory.write("run-xor/config.json", config.dump());
    ASSERT_EQ(run({"report", place}).code, 0);
    EXPECT_FALSE(std::filesystem::exists(mark));
    EXPECT_THAT(test::content(place + "/report.html"), HasSubstr("the task is a program"));
}

TEST(Report, ShowsTrialsWithBands) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"trials", test::write_xor(directory), "--runs", "3", "-q", "--directory",
                   directory.file("trials")})
                  .code,
              0);
    const std::string file = directory.file("page.html");
    ASSERT_EQ(run({"report", directory.file("trials"), "-o", file}).code, 0);
    const std::string page = test::content(file);
    EXPECT_THAT(page, HasSubstr("Best fitness of 3 runs"));
    EXPECT_THAT(page, HasSubstr("The run with the best network"));
    EXPECT_THAT(page, HasSubstr("<polygon"));
}

TEST(Report, DrawsNeuronsAndSpecies) {
    const TemporaryDirectory directory;
    const std::string configs = CAMBRIAN_SOURCE_DIR "/configs/";
    const auto page_of = [&](const std::string& config) {
        const std::string run_directory = directory.file(config);
        EXPECT_EQ(run({"evolve", configs + config, "-q", "--set", "run.directory=" + run_directory,
                       "--set", "run.stop.solved=null", "--set", "run.stop.generations=8"})
                      .code,
                  0);
        EXPECT_EQ(run({"report", run_directory}).code, 0);
        return test::content(run_directory + "/report.html");
    };
    EXPECT_THAT(page_of("xor_neat.json"), HasSubstr("class='node'"));
    const std::string species = page_of("xor_species.json");
    EXPECT_THAT(species, HasSubstr("Individuals of each species"));
    EXPECT_THAT(species, HasSubstr("</i>species 1</span>"));
}

TEST(Report, RefusesWhatIsNoRun) {
    const TemporaryDirectory directory;
    const test::Result result = run({"report", directory.path().string()});
    EXPECT_EQ(result.code, 3);
    EXPECT_THAT(result.err, HasSubstr("there is no run in"));
    directory.write("trained/epochs.csv", "epoch\n");
    EXPECT_THAT(run({"report", directory.file("trained")}).err,
                HasSubstr("is the directory of a training"));
    directory.write("bad/generations.csv", "generation,evaluations,best\n0,1,x\n");
    EXPECT_EQ(run({"report", directory.file("bad")}).code, 3);
}

TEST(Report, TakesWhatARunMayHaveWritten) {
    const TemporaryDirectory directory;
    // A generation in which nobody had a fitness, and a line that is being written.
    directory.write("odd/generations.csv",
                    "generation,evaluations,best,mean,worst,validated\n0,4,-inf,-inf,-inf,\n"
                    "1,8,0.1,0.09999999999999999,-3e+40,\n2,12,0.1,0.1");
    directory.write("odd/config.json", R"({"run": {"name": 5}, "fingerprint": []})");
    ASSERT_EQ(run({"report", directory.file("odd")}).code, 0);
    EXPECT_THAT(test::content(directory.file("odd/report.html")), HasSubstr("Fitness"));
    directory.write("begun/generations.csv", "generation,evaluations,best\n");
    EXPECT_EQ(run({"report", directory.file("begun")}).code, 0);
    directory.write("short/generations.csv", "generation,evaluations,best\n0,1\n");
    EXPECT_THAT(run({"report", directory.file("short")}).err, HasSubstr("line 2 has 2 cells"));
}

TEST(Report, NamesWhatIsDamaged) {
    const TemporaryDirectory directory;
    directory.write("twice/generations.csv", "generation,best,generation\n0,0.5,1\n1,0.5,2\n");
    const test::Result twice = run({"report", directory.file("twice")});
    EXPECT_EQ(twice.code, 3);
    EXPECT_THAT(twice.err, HasSubstr("generations.csv:1: two columns are named generation"));
    directory.write("cut/generations.csv", "generation,best\n0,0.5\n");
    directory.write("cut/config.json", R"({"run": {"name")");
    const test::Result cut = run({"report", directory.file("cut")});
    EXPECT_EQ(cut.code, 2);
    EXPECT_THAT(cut.err, HasSubstr("cut/config.json:1:"));
}

TEST(Report, HasAConfigWithoutATask) {
    const TemporaryDirectory directory;
    ASSERT_EQ(run({"evolve", test::write_xor(directory), "-q"}).code, 0);
    directory.write("run-xor/config.json", "{}");
    const test::Result result = run({"report", directory.file("run-xor")});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(test::content(directory.file("run-xor/report.html")),
                HasSubstr("No prices of the networks in the checkpoint"));
}

TEST(Report, JudgesTheBestOnAllRowsAndItsLossHasNoPrice) {
    const TemporaryDirectory directory;
    std::string rows = "a,y\n";
    for (int i = 0; i < 40; ++i)
        rows += std::to_string(i % 7) + "," + std::to_string(i % 7 * (i % 5)) + "\n";
    directory.write("rows.csv", rows);
    const std::string config = directory.write(
        "table.json", R"({"run": {"directory": ")" + directory.file("run") +
                          R"(", "stop": {"generations": 3}}, "population": {"size": 8},
            "task": {"type": "table", "train": ["rows.csv"], "targets": ["y"]},
            "network": {"layers": [{"type": "dense"}]},
            "selection": {"bytes_weight": 0.5, "products_weight": 0.25}})");
    const test::Result evolved = run({"evolve", config});
    ASSERT_EQ(evolved.code, 0) << evolved.err;
    const std::string best = directory.file("run/best.cmb");
    const std::string text = run({"evaluate", best}).out;
    const std::size_t begin = text.find("  loss ") + 7;
    const std::string loss = text.substr(begin, text.find(' ', begin) - begin);
    EXPECT_THAT(evolved.out, testing::ContainsRegex("network +" + loss + " "));
    EXPECT_EQ(read_run(directory.file("run")).prices,
              (std::map<std::string, double>{{"bytes", 0.5}, {"products", 0.25}}));

    const auto table_of = [&](const std::string& name, const std::string& drawn) {
        const std::string place = directory.file(name);
        EXPECT_EQ(run({"evolve", config, "-q", "--set", "run.directory=" + place, "--set",
                       "task.rows_per_evaluation=" + drawn})
                      .code,
                  0);
        EXPECT_EQ(run({"report", place}).code, 0);
        const std::string judged = run({"evaluate", place + "/best.cmb"}).out;
        const std::size_t at = judged.find("  loss ") + 7;
        EXPECT_THAT(test::content(place + "/report.html"),
                    HasSubstr("the best network (loss)</td><td>" +
                              judged.substr(at, judged.find(' ', at) - at) + "</td>"));
    };
    table_of("all", "0");
    table_of("drawn", "4");
}

std::size_t times_in(const std::string& text, std::string_view part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// A run whose best is near 1 from generation 3 on.
RunData saturated() {
    RunData run;
    for (int i = 0; i < 60; ++i)
        for (const auto& [name, value] :
             std::initializer_list<std::pair<const char*, double>>{{"best", i < 3 ? 0.25 * (i + 1)
                                                                            : i < 10 ? 0.999
                                                                                     : 1.0},
                                                                   {"mean", i < 3 ? 0.1 * i : 0.8},
                                                                   {"worst", -0.5}}) {
            run.columns[name].generation.push_back(i);
            run.columns[name].value.push_back(value);
        }
    run.sampled_mean = run.columns["mean"];
    return run;
}

TEST(FitnessChart, DrawsAllOfARunThatSaturates) {
    const std::string text = fitness_html(saturated());
    for (const char* name : {"best", "mean", "worst"})
        EXPECT_THAT(text, HasSubstr(std::string("</i>") + name));
    EXPECT_THAT(text, Not(HasSubstr("not drawn")));
    EXPECT_EQ(times_in(text, "fill='none'"), 3U);
    // Nor does one hide that has its best from the first generation on.
    RunData solved = saturated();
    for (double& value : solved.columns["best"].value) value = std::max(value, 0.999);
    EXPECT_THAT(fitness_html(solved), Not(HasSubstr("not drawn")));
}

TEST(FitnessChart, CutsHugeMeansButNeverTheBest) {
    RunData run = saturated();
    run.columns["mean"].value[7] = -1e12;
    run.columns["worst"].value[7] = -3e30;
    run.columns["best"].value[0] = -40.0;
    run.columns["validated"] = {{0.0, 59.0}, {-50.0, 1.0}};
    const std::string text = fitness_html(run);
    EXPECT_THAT(text, HasSubstr("<p>Numbers below -254 are not drawn.</p>"));
    EXPECT_THAT(text, HasSubstr(">-40</text>"));
    EXPECT_EQ(times_in(text, "<circle"), 2U);
}

TEST(LossesChart, HasThePriceOfNothing) {
    Findings findings;
    findings.losses.push_back({.baselines = {{"mean", 4.0}}});
    RunData run;
    run.columns["best"] = {{0, 2, 3}, {-9.0, -5.0, -2.0}};  // Nobody was valid in generation 1.
    const std::string plain = losses_html(run, findings);
    RunData priced = run;
    priced.prices = {{"bytes", 0.5}, {"products", 0.25}};
    EXPECT_THAT(losses_html(priced, findings), HasSubstr("has the price of its bytes"));
    priced.unpriced = priced.columns["best"];
    priced.columns["best"].value = {-14.0, -10.0, -4.5};
    EXPECT_EQ(losses_html(priced, findings), plain);
}

TEST(Chart, TellsTicksApart) {
    const auto texts = [](double low, double high) {
        const std::string text = svg({"near", "x", {}, {{"y", "#000", {0, 1}, {low, high}}}});
        std::set<std::string> found;
        constexpr std::string_view before = "text-anchor='end'>";
        for (std::size_t at = text.find(before); at != std::string::npos;
             at = text.find(before, at + 1))
            found.insert(text.substr(at + before.size(), text.find('<', at) - at - before.size()));
        EXPECT_EQ(found.size(), times_in(text, before)) << low;
        EXPECT_GE(found.size(), 4U) << low;
        return found;
    };
    EXPECT_THAT(texts(0.99999, 1.0), testing::Contains("0.999996"));
    EXPECT_THAT(texts(12'345'678.0, 12'345'679.0), testing::Contains("12345678.4"));
    EXPECT_THAT(texts(0.0, 1.0), testing::Contains("0.2"));
    texts(-1e-9, 2e-9);
    EXPECT_EQ(number_text(0.0, 1.0), "0");
    EXPECT_EQ(number_text(-253.96, 10.0), "-253.96");
    // The longest numbers do not begin outside the picture.
    EXPECT_THAT(svg({"near", "x", {}, {{"y", "#000", {0, 1}, {-12345678.125, -12345678.0}}}}),
                Not(HasSubstr("d='M64 ")));
}

TEST(Chart, ShowsNumbersThatDifferByRoundingAsOne) {
    EXPECT_LT(svg({"flat", "x", {}, {{"y", "#000", {0, 1}, {0.1, 0.09999999999999999}}}}).size(),
              5000U);
}

TEST(Chart, HasGapsWhereNumbersAreMissing) {
    const std::string text =
        svg({"a <b>", "x", {}, {{"y", "#000", {0, 1, 2, 3, 4}, {1, 2, std::nan(""), 3, 4}}}});
    EXPECT_THAT(text, HasSubstr("a &lt;b&gt;"));
    const std::string path = text.substr(text.rfind("<path d='M"));
    EXPECT_EQ(std::count(path.begin(), path.begin() + 60, 'M'), 2);
    EXPECT_EQ(svg({"empty", "x", {}, {{"y", "#000", {0}, {std::nan("")}}}}), "");
}

TEST(Chart, MarksAPointBetweenTwoGaps) {
    const double none = std::nan("");
    const std::string text =
        svg({"lone", "x", {}, {{"y", "#000", {0, 1, 2, 3, 4, 5}, {1, none, 2, none, 3, 4}}}});
    EXPECT_EQ(times_in(text, "<circle"), 2U);
    const std::string path = text.substr(text.rfind("<path d='M"));
    EXPECT_EQ(std::count(path.begin(), path.begin() + 60, 'M'), 1);
    // Nor is there an empty path where all are alone.
    const std::string alone = svg({"lone", "x", {}, {{"y", "#000", {0, 1, 2}, {1, none, 2}}}});
    EXPECT_EQ(times_in(alone, "<circle"), 2U);
    EXPECT_THAT(alone, Not(HasSubstr("<path d=''")));
}

TEST(Chart, ThinsLongLinesAndKeepsTheirExtremes) {
    Line line{"y", "#000", {}, {}};
    for (int i = 0; i < 200'000; ++i) {
        line.x.push_back(i);
        line.y.push_back(i == 123'456 ? 100.0 : 0.0);
    }
    line.y[0] = 0.5;  // Neither the lowest nor the highest of its column.
    line.y[1] = 1.0;
    const std::string text = svg({"long", "x", {}, {line}});
    EXPECT_THAT(text, Not(HasSubstr("<path d='L")));
    EXPECT_LT(text.size(), 100'000U);
    // The one high point is 3 % below the top of the picture.
    EXPECT_THAT(text, HasSubstr(" 14.6"));
}

}  // namespace
}  // namespace cambrian::launch
