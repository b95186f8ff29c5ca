#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// Networks of earlier versions, and what files say of their preparation.
namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

using distributed::read_network;
using test::cells;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// Files that the format's first version wrote, without a preparation.
class InferFirstVersion : public testing::Test {
  protected:
    static std::string golden(const std::string& name) {
        return fs::path(CAMBRIAN_SOURCE_DIR) / "tests/golden/files" / name;
    }
    TemporaryDirectory directory_;
    std::string table_ = golden("network_1_table.cmb");
    std::string dataset_ = golden("network_1_dataset.cmb");
    std::string rows_ =
        directory_.write("rows.csv", "a,b,y\n1,0,1\n2,1,3\n3,0,2\n4,1,6\n5,0,4\n7,1,5\n");
    std::string labels_ =
        directory_.write("labels.csv", "p,q,label\n0,4,0\n2,8,1\n4,16,2\n16,4,2\n8,2,1\n0,0,0\n");
};

TEST_F(InferFirstVersion, NeedsItsDataOrASayingThatItNeedsNone) {
    for (const std::string& path : {table_, dataset_}) {
        EXPECT_FALSE(read_network(path).preparation);
        EXPECT_EQ(run({"inspect", path}).code, 0);
        const Result result = run({"infer", path, "--input", path == table_ ? rows_ : labels_});
        EXPECT_EQ(result.code, 3);
        EXPECT_THAT(result.err,
                    testing::AllOf(HasSubstr("does not say how its rows are prepared (an older "
                                             "version wrote it, and its task cannot be made again"),
                                   HasSubstr("cannot read the data file"), HasSubstr("add --raw")));
    }
    const std::string two = directory_.write("two.csv", "x,y\n1,0\n2,1\n");
    EXPECT_EQ(run({"infer", table_, "--raw", "--input", two}).code, 0);
    EXPECT_EQ(run({"infer", dataset_, "--raw", "--input", two}).code, 0);
}

TEST_F(InferFirstVersion, IsPreparedAgainWithItsData) {
    const Result table =
        run({"infer", table_, "--input", rows_, "--set", R"(task.train=[")" + rows_ + R"("])"});
    ASSERT_EQ(table.code, 0) << table.err;
    // What the version that wrote it answered, on a processor that rounds a product and its sum
    // once.
    std::istringstream answers(table.out);
    std::string head;
    std::getline(answers, head);
    EXPECT_EQ(head, "y(t+1)");
    for (const double expected :
         {3.93238421, 1.75297926, 4.23379599, 4.05439092, 5.53520777, 2.00650859}) {
        double answer = 0.0;
        answers >> answer;
        EXPECT_NEAR(answer, expected, 1e-6);
    }
    const Result dataset = run({"infer", dataset_, "--input", labels_, "--set",
                                R"(task.source.files=[")" + labels_ + R"("])"});
    ASSERT_EQ(dataset.code, 0) << dataset.err;
    EXPECT_EQ(dataset.err, "columns ignored: label\n");
    // What it answered to rows that were scaled by hand.
    const auto rows = cells(dataset.out);
    EXPECT_EQ(rows[0], (std::vector<std::string>{"class", "probability", "p(0)", "p(1)", "p(2)"}));
    const std::vector<std::array<double, 3>> scores{{0.468682766, 0.0734361559, -0.747860193},
                                                    {-0.561204791, -0.115196019, -0.295358777},
                                                    {-2.32363653, -0.457019627, 0.492119789}};
    for (std::size_t i = 0; i < scores.size(); ++i) {
        EXPECT_EQ(rows[i + 1][0], std::to_string(i));
        double sum = 0.0;
        for (const double score : scores[i]) sum += std::exp(score);
        for (std::size_t k = 0; k < 3; ++k)
            EXPECT_NEAR(std::stod(rows[i + 1][k + 2]), std::exp(scores[i][k]) / sum, 1e-6);
    }
}

TEST(InspectedPreparation, OfManyColumnsIsCutAndListedAsJson) {
    const TemporaryDirectory directory;
    std::string header;
    std::string low;
    std::string high;
    for (int i = 0; i < 40; ++i) {
        header += fmt::format("c{},", i);
        low += "0,";
        high += fmt::format("{},", i + 2);
    }
    directory.write("rows.csv", header + "y\n" + low + "1\n" + high + "2\n" + low + "3\n");
    const std::string config =
        directory.write("train.json", R"({"run": {"directory": ")" + directory.file("run") +
                                          R"("}, "task": {"type": "table", "train": ["rows.csv"],
                          "targets": ["y"], "normalise": "min_max"}, "network": {"layers":
                          [{"type": "dense"}]}, "training": {"epochs": 1}})");
    ASSERT_EQ(run({"train", config, "-q"}).code, 0);
    const std::string best = directory.file("run/best.cmb");
    const std::string text = run({"inspect", best}).out;
    EXPECT_THAT(text, HasSubstr("c23                        x / 25\n"));
    EXPECT_THAT(text, HasSubstr("and 16 more, which --json lists\n"));
    EXPECT_THAT(text, Not(HasSubstr("c24")));
    const auto json = nlohmann::json::parse(run({"inspect", best, "--json"}).out);
    EXPECT_EQ(json["preparation"]["inputs"][39]["column"], "c39");
    EXPECT_EQ(json["preparation"]["inputs"][39]["scale"], 41.0);
}

TEST(InferNames, ThatAreOddStayWhatTheyAre) {
    const TemporaryDirectory directory;
    std::string rows =
        "\"a,b\",\"say \"\"x\"\"\",gr\xf6\xdf"
        "e\n";
    for (int i = 0; i < 12; ++i) rows += fmt::format("{},{},{}\n", i, i % 3, 2 * i);
    const std::string data = directory.write("rows.csv", rows);
    const std::string config =
        directory.write("train.json", R"({"run": {"directory": ")" + directory.file("run") +
                                          R"("}, "task": {"type": "table", "train": ["rows.csv"],
                          "targets": ["a,b"]}, "network": {"layers": [{"type": "dense"}]},
                          "training": {"epochs": 1}})");
    ASSERT_EQ(run({"train", config, "-q"}).code, 0);
    const std::string best = directory.file("run/best.cmb");
    const Result result = run({"infer", best, "--input", data});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, StartsWith("\"a,b\"\n"));
    EXPECT_EQ(run({"inspect", best}).code, 0);
    EXPECT_TRUE(nlohmann::json::accept(run({"inspect", best, "--json"}).out));
    // Metadata are UTF-8, this name is none.
    const Result converted = run({"convert", best, directory.file("a.safetensors")});
    EXPECT_EQ(converted.code, 3);
    EXPECT_THAT(converted.err, HasSubstr("no name in UTF-8"));
}

}  // namespace
}  // namespace cambrian::launch
