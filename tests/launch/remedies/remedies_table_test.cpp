#include <gtest/gtest.h>

#include "cambrian/tests/launch/remedies/remedies_support.hpp"

// Remedies of the readers of tables: CSV files as data sets, the task "table", and rows for infer.
namespace cambrian::launch::remedies_table_test {
namespace {

using test::csv_config;
using test::RemedyRow;
using test::table_config;

const std::string config = "config.json";
constexpr std::string_view gap = "a,b,y\n1,2,3\n4,,6\n7,8,9\n3,1,2\n";
constexpr std::string_view first_gap = "a,b,y\n1,,3\n4,2,6\n7,8,9\n";
constexpr std::string_view labels = "a,kind\n1,cat\n2,dog\n3,cat\n4,dog\n";

std::map<std::string, std::string> rows(std::string_view text) {
    return {{"rows.csv", std::string(text)}};
}

const std::vector<RemedyRow>& csv_rows() {
    static const std::vector<RemedyRow> table{
        {"TableGapDrop",
         table_config(R"("targets": ["y"], "missing_values": "error")"),
         "rows.csv:3: column b has no value",
         R"(set "missing_values" to "drop")",
         {{config, "error", "drop"}},
         rows(gap)},
        {"TableGapPrevious",
         table_config(R"("targets": ["y"], "missing_values": "error")"),
         "rows.csv:3: column b has no value",
         R"(to "previous")",
         {{config, "error", "previous"}},
         rows(gap)},
        {"TableGapFill",
         table_config(R"("targets": ["y"])"),
         "column b has no value",
         "fill it in",
         {{"rows.csv", "4,,6", "4,5,6"}},
         rows(gap)},
        {"TableFirstGap",
         table_config(R"("targets": ["y"], "missing_values": "previous")"),
         "no row comes before it",
         R"(set "missing_values" to "drop")",
         {{config, "previous", "drop"}},
         rows(first_gap)},
        {"DatasetGapDrop",
         csv_config(R"("targets": ["y"])"),
         "rows.csv:3: column b has no value",
         R"(set "missing_values" to "drop")",
         {{config, R"("targets")", R"("missing_values": "drop", "targets")"}},
         rows(gap)},
        {"DatasetGapPrevious",
         csv_config(R"("targets": ["y"])"),
         "column b has no value",
         R"(to "previous")",
         {{config, R"("targets")", R"("missing_values": "previous", "targets")"}},
         rows(gap)},
        {"DatasetFirstGap",
         csv_config(R"("targets": ["y"], "missing_values": "previous")"),
         "no row comes before it",
         R"(set "missing_values" to "drop")",
         {{config, "previous", "drop"}},
         rows(first_gap)},
        {"TableGapMean",
         table_config(R"("targets": ["y"], "missing_values": "error")"),
         "column b has no value",
         R"(or to "mean" or "median")",
         {{config, "error", "mean"}},
         rows(gap)},
        {"DatasetGapMedian",
         csv_config(R"("targets": ["y"])"),
         "column b has no value",
         R"(or to "mean" or "median")",
         {{config, R"("targets")", R"("missing_values": "median", "targets")"}},
         rows(gap)},
        {"TableEmptyColumn",
         table_config(R"("targets": ["y"], "missing_values": "mean")"),
         "column b has no value in the rows that train",
         R"(list the other columns as "inputs")",
         {{config, R"("targets")", R"("inputs": ["a"], "targets")"}},
         rows("a,b,y\n1,,3\n4,?,6\n7,NA,9\n")},
        {"DatasetEmptyColumn",
         csv_config(R"("targets": ["y"], "missing_values": "median")"),
         "column b has no value in the rows that train",
         R"(list the other columns as "inputs")",
         {{config, R"("targets")", R"("inputs": ["a"], "targets")"}},
         rows("a,b,y\n1,,3\n4,?,6\n7,NA,9\n")},
        {"TableLabels",
         table_config(R"("targets": ["kind"])"),
         R"(column kind holds "cat")",
         R"(say that the targets are classes ("mode": "classification")",
         {{config, R"("targets")", R"("mode": "classification", "targets")"}},
         rows(labels)},
        {"DatasetLabels",
         csv_config(R"("targets": ["kind"])"),
         R"(column kind holds "cat")",
         R"("classes": true of a source csv)",
         {{config, R"("targets")", R"("classes": true, "targets")"},
          {config, R"("source")", R"("loss": {"type": "cross_entropy"}, "source")"}},
         rows(labels)},
        {"DecimalSigns",
         table_config(R"("targets": ["y"])"),
         "rows.csv:2: a number has a comma and one in line 3 has a point",
         "write one decimal sign throughout the file",
         {{"rows.csv", "4.5", "4,5"}},
         rows("a;y\n1,5;2\n4.5;6\n7;9\n")},
        {"CommasOfThousands",
         table_config(R"("targets": ["y"])"),
         "a comma stands before three digits in every number that has one",
         "and nothing for the others",
         {{"rows.csv", "1,500", "1500"}},
         rows("a;y\n1,500;2\n4;6\n7;9\n")},
        {"TextAfterAQuote",
         csv_config(R"("inputs": ["a"], "targets": ["y"])"),
         "rows.csv:3: text follows a closing quote",
         "double it",
         {{"rows.csv", R"(say "x" twice)", R"(say ""x"" twice)"}},
         rows("a,y,t\n1,2,x\n3,4,\"say \"x\" twice\"\n")},
        {"LineEndsOfOld",
         csv_config(R"("targets": ["y"])"),
         "a carriage return stands alone",
         "save the file with such line ends",
         {{"rows.csv", "", "a,y\r\n1,2\r\n3,4\r\n"}},
         rows("a,y\r1,2\r3,4\r")},
        {"ANulByte",
         csv_config(R"("targets": ["y"])"),
         "rows.csv:2: a NUL byte",
         "save the file as UTF-8 without such bytes",
         {{"rows.csv", "", "a,y\n1,2\n3,4\n"}},
         rows(std::string_view("a,y\n1\0,2\n3,4\n", 14))},
        {"WideCharacters",
         csv_config(R"("targets": ["y"])"),
         "rows.csv is UTF-16",
         "save it as UTF-8",
         {{"rows.csv", "", "a,y\n1,2\n3,4\n"}},
         rows(std::string_view("\xFF\xFE"
                               "a\0,\0y\0",
                               8))},
        {"AWorkbook",
         csv_config(R"("targets": ["y"])"),
         "is an archive or a workbook",
         "save it as CSV",
         {{"rows.csv", "", "a,y\n1,2\n3,4\n"}},
         rows("PK\x03\x04...")},
        {"TableTextInput",
         table_config(R"("targets": ["y"])"),
         R"(column t holds "word")",
         R"(list the other columns as "inputs")",
         {{config, R"("targets")", R"("inputs": ["a", "b", "k"], "targets")"}}},
        {"DatasetTextInput",
         csv_config(R"("inputs": ["a", "t"], "targets": ["y"])"),
         R"(column t holds "word")",
         R"(list the other columns as "inputs")",
         {{config, R"(["a", "t"])", R"(["a"])"}}},
        {"NoSuchColumn",
         csv_config(R"("inputs": ["aa"], "targets": ["y"])"),
         R"(has no column "aa")",
         R"(did you mean "a"?)",
         {{config, R"(["aa"])", R"(["a"])"}}},
        {"NoColumnLikeIt",
         csv_config(R"("inputs": ["temperature"], "targets": ["y"])"),
         R"(has no column "temperature" (it has: a, b, y, k, t))",
         "use one of these",
         {{config, "temperature", "b"}}},
        {"NoSuchFile",
         R"({"task": {"type": "table", "train": ["row.csv"], "inputs": ["a"], "targets": ["y"]}})",
         "cannot read the data file",
         "check the path",
         {{config, "row.csv", "rows.csv"}}},
        {"EmptyFile",
         table_config(R"("targets": ["y"])"),
         "rows.csv is empty",
         "check the file",
         {{"rows.csv", "", "a,b,y\n1,2,3\n4,5,6\n"}},
         rows("")},
        {"OnlyAHeader",
         csv_config(R"("targets": ["y"])"),
         "has no rows of data",
         "check the file",
         {{"rows.csv", "", "a,y\n1,2\n3,4\n"}},
         rows("a,y\n")},
        {"NamelessColumn",
         csv_config(R"("targets": ["y"])"),
         "column 1 has no name",
         "name it",
         {{"rows.csv", ",a,y", "id,a,y"}},
         rows(",a,y\n0,1,2\n1,3,4\n")},
        {"TwoColumnsOfAName",
         csv_config(R"("targets": ["y"])"),
         "two columns are named a",
         "rename one",
         {{"rows.csv", "a,a,y", "a,b,y"}},
         rows("a,a,y\n0,1,2\n1,3,4\n")},
        {"RaggedRow",
         csv_config(R"("targets": ["y"])"),
         "rows.csv:3: 3 cells",
         "correct the row",
         {{"rows.csv", "3,4,5", "3,4"}},
         rows("a,y\n1,2\n3,4,5\n")},
        {"OpenQuote",
         csv_config(R"("targets": ["y"])"),
         "a quote is never closed",
         "add the closing quote",
         {{"rows.csv", "\"3", "\"3\""}},
         rows("a,y\n1,2\n\"3,4\n")},
    };
    return table;
}

const std::vector<RemedyRow>& table_rows() {
    const auto table_of = [](const std::string& keys, const std::string& more = "") {
        return table_config(R"("inputs": ["a", "b"], )" + keys, more);
    };
    static const std::vector<RemedyRow> table{
        {"NeitherTailNorFiles",
         table_of(R"("targets": ["y"], "validation": {"every": 2})"),
         R"(fraction or "tail_fraction" or "files" is needed)",
         "give one of them",
         {{config, R"("every": 2)", R"("tail_fraction": 0.5)"}}},
        {"FractionOfNothing",
         table_of(R"("targets": ["y"], "validation": {"fraction": 0.01})"),
         "task.validation.fraction is 0.01 (of 12 rows that is none)",
         "use a larger share",
         {{config, "0.01", "0.25"}}},
        {"SeedOfNothing",
         table_of(R"("targets": ["y"], "validation": {"tail_fraction": 0.5, "seed": 2})"),
         R"(rows are drawn for "fraction" alone)",
         "leave it out",
         {{config, R"(, "seed": 2)", ""}}},
        {"BothTailAndFiles",
         table_of(
             R"("targets": ["y"], "validation": {"tail_fraction": 0.5, "files": ["rows.csv"]})"),
         R"(fraction or "tail_fraction" or "files" is needed)",
         "give one of them",
         {{config, R"("tail_fraction": 0.5, )", ""}}},
        {"TargetAsInputLeftOut",
         table_of(R"("targets": ["b"])"),
         R"(holds the target "b")",
         "leave it out",
         {{config, R"(["a", "b"])", R"(["a"])"}}},
        {"TargetAsInputLater",
         table_of(R"("targets": ["b"])"),
         R"(holds the target "b")",
         R"(set a "time_offset")",
         {{config, R"("inputs")", R"("time_offset": 1, "inputs")"}}},
        {"TwoClassColumns",
         table_of(R"("targets": ["k", "y"], "mode": "classification")"),
         "names 2 columns (classification has one)",
         "name one",
         {{config, R"(["k", "y"])", R"(["k"])"}}},
        {"ColumnTwice",
         table_of(R"("targets": ["y", "y"])"),
         R"(names "y" twice)",
         "leave one of the two out",
         {{config, R"(["y", "y"])", R"(["y"])"}}},
        {"DifferenceOfClasses",
         table_of(R"("targets": ["k"], "mode": "classification", "difference": true)"),
         "classes have no differences: regression only",
         "leave it out",
         {{config, "true", "false"}}},
        {"DifferenceNow",
         table_of(R"("targets": ["y"], "difference": true)"),
         R"(a change needs a "time_offset" of at least 1)",
         "set one, or leave it out",
         {{config, R"("difference")", R"("time_offset": 1, "difference")"}}},
        {"PersistenceNow",
         table_of(R"("targets": ["y"], "baselines": ["persistence"])"),
         R"(it needs a "time_offset" of at least 1)",
         "set one, or leave it out",
         {{config, R"("baselines")", R"("time_offset": 1, "baselines")"}}},
        {"LongWarmUp",
         table_of(R"("targets": ["y"], "sequence_length": 4, "warm_up": 4)"),
         R"(it is less than "sequence_length", 4)",
         "change one of the two",
         {{config, R"("warm_up": 4)", R"("warm_up": 3)"}}},
        {"FewRowsForASequence",
         table_of(R"("targets": ["y"], "sequence_length": 4, "rows_per_evaluation": 3)"),
         "a sequence has 4 rows",
         "at least one sequence of 4",
         {{config, R"("rows_per_evaluation": 3)", R"("rows_per_evaluation": 8)"}}},
        {"LossOfNumbersForClasses",
         table_of(R"("targets": ["k"], "mode": "classification", "loss": "mse")"),
         "known: cross_entropy",
         "use one of these",
         {{config, R"("mse")", R"("cross_entropy")"}}},
        {"BaselineOfClasses",
         table_of(R"("targets": ["y"], "baselines": ["majority"])"),
         R"(holds "majority" (known: )",
         "use one of these",
         {{config, "majority", "least_squares"}}},
        {"ClassesWithFractions",
         table_of(R"("targets": ["y"], "mode": "classification")"),
         "holds 0.5 (classes are whole numbers)",
         R"(use mode "regression")",
         {{config, "classification", "regression"}}},
        {"OneClass",
         table_of(R"("targets": ["c"], "mode": "classification")"),
         "column c has one class only",
         "use another target",
         {{config, R"(["c"])", R"(["k"])"}},
         rows("a,b,c,k\n1,2,1,0\n3,4,1,1\n")},
        {"ClassOfTheTestAlone",
         table_of(R"("targets": ["k"], "mode": "classification", "test": ["test.csv"])"),
         "holds class 2 (no train row has it)",
         "leave these rows out",
         {{"test.csv", "1,1,2\n", ""}},
         {{"test.csv", "a,b,k\n1,1,2\n1,1,0\n"}}},
        {"ShortFileForAnOffset",
         table_of(R"("targets": ["y"], "time_offset": 12)"),
         "time_offset 12 needs at least 13",
         "use a longer file",
         {{"rows.csv", "a,b,y,k,t\n", "a,b,y,k,t\n1,1,1,1,w\n1,2,1,0,w\n"}}},
        {"EmptyTail",
         table_of(R"("targets": ["y"], "validation": {"tail_fraction": 0.01})"),
         "has 0 rows for validation",
         "another split",
         {{config, "0.01", "0.25"}}},
        {"EveryColumnATarget",
         table_config(R"("targets": ["a", "y"])"),
         "every column is a target",
         R"(add columns or a "time_offset")",
         {{config, R"("targets")", R"("time_offset": 1, "targets")"}},
         rows("a,y\n1,2\n3,4\n5,6\n")},
        {"LongSequences",
         table_of(R"("targets": ["y"], "sequence_length": 13)", R"("training": {})"),
         "task.sequence_length is 13",
         "use shorter sequences",
         {{config, "13", "4"}}},
        {"WarmUpOfTraining",
         table_of(R"("targets": ["y"], "sequence_length": 4, "warm_up": 2)", R"("training": {})"),
         "task.warm_up is 2",
         "leave it out",
         {{config, R"(, "warm_up": 2)", ""}}},
        {"WarmUpOfEvolution",
         table_of(R"("targets": ["y"], "sequence_length": 4, "warm_up": 2)", R"("training": {})"),
         "task.warm_up is 2",
         "evolve without learning",
         {{config, R"(, "training": {})", ""}}},
    };
    return table;
}

class TableRemedies : public testing::TestWithParam<RemedyRow> {};

TEST_P(TableRemedies, Work) {
    test::expect_remedy_works(GetParam());
}

const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Csv, TableRemedies, testing::ValuesIn(csv_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Table, TableRemedies, testing::ValuesIn(table_rows()), name_of);

/// What 'infer' says of a file, given to a network that was trained on columns a and b.
class InferRemedy : public testing::Test {
  protected:
    InferRemedy() {
        directory_.write("rows.csv", test::rows_csv());
        directory_.write(config, csv_config(R"("inputs": ["a", "b"], "targets": ["y"])", "",
                                            R"("training": {"epochs": 1}, "run": {"directory": ")" +
                                                directory_.file("run") + R"("})"));
        EXPECT_EQ(test::run({"train", directory_.file(config)}).code, 0);
    }
    [[nodiscard]] test::Result infer(const std::string& path) const {
        return test::run({"infer", directory_.file("run/best.cmb"), "--input", path});
    }
    /// The error of a file, which another one has no more.
    void expect_remedy(const std::string& text, const std::string& remedy,
                       const std::string& mended) const {
        const test::Result refused = infer(directory_.write("wrong.csv", text));
        EXPECT_EQ(refused.code, 3);
        EXPECT_THAT(refused.err, testing::HasSubstr(remedy));
        const test::Result read = infer(directory_.write("mended.csv", mended));
        EXPECT_EQ(read.code, 0) << read.err;
    }

    test::TemporaryDirectory directory_;
};

TEST_F(InferRemedy, OfAGapNamesNoKeyOfAConfig) {
    expect_remedy("a,b\n1,\n3,4\n", "fill it in", "a,b\n1,2\n3,4\n");
    expect_remedy("a,b\n1,\n3,4\n", "or remove the row", "a,b\n3,4\n");
    EXPECT_THAT(infer(directory_.write("wrong.csv", "a,b\n1,\n")).err,
                testing::Not(testing::HasSubstr("missing_values")));
}

TEST_F(InferRemedy, OfATextNamesNoKeyOfAConfig) {
    expect_remedy("a,b\n1,x\n3,4\n", "correct it", "a,b\n1,2\n3,4\n");
    expect_remedy("a,b\n1,x\n3,4\n", "or remove the row", "a,b\n3,4\n");
    EXPECT_THAT(infer(directory_.write("wrong.csv", "a,b\n1,x\n")).err,
                testing::Not(testing::HasSubstr("\"inputs\"")));
}

}  // namespace
}  // namespace cambrian::launch::remedies_table_test
