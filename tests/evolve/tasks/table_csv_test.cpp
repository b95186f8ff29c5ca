#include "cambrian/engine/io/csv/csv.hpp"

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/tasks/table/table.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Csv : public ::testing::Test {
  protected:
    NumberTable read(std::string_view text, std::vector<std::string> columns = {"a", "b"},
                     MissingValues missing = MissingValues::error) {
        return read_csv(folder_.write("data.csv", text), columns, missing);
    }
    std::string error(std::string_view text, std::vector<std::string> columns = {"a", "b"},
                      MissingValues missing = MissingValues::error) {
        return testing::message_of<InputError>([&] { (void)read(text, columns, missing); });
    }

    testing::TemporaryFolder folder_;
};

TEST_F(Csv, ReadsChosenColumnsByName) {
    const NumberTable table = read("a,skipped,b\n1,x,2\n-3.5,y,4e2\n", {"b", "a"});
    EXPECT_EQ(table.rows, 2);
    EXPECT_THAT(table.values, ElementsAre(2, 1, 400, -3.5));
    EXPECT_THAT(table.lines, ElementsAre(2, 3));
    EXPECT_EQ(table.at(1, 1), -3.5);
}

TEST_F(Csv, RowsThatAreLeftOutAreNoStepsOfTime) {
    const std::string rows = "a,b\n?,0\n1,1\n2,2\n?,3\n4,4\n5,5\n6,6\n";
    const NumberTable table = read(rows, {"a", "b"}, MissingValues::drop);
    ASSERT_EQ(table.rows, 5);
    EXPECT_EQ(table.place(0), 1);
    EXPECT_EQ(table.place(1), 2);
    EXPECT_EQ(table.place(2), 4);
    EXPECT_EQ(table.place(4), 6);
    EXPECT_THAT(testing::message_of<InputError>([&] { require_consecutive(table); }),
                HasSubstr(":5: the row is left out"));

    TableSettings settings;
    settings.train = {table.path};
    settings.targets = {"a"};
    settings.missing = MissingValues::drop;
    settings.time_offset = 1;
    const TableData data = load_table(settings);
    EXPECT_THAT(data.train.front().current, ElementsAre(1, 4, 5));
    EXPECT_THAT(data.train.front().answers, ElementsAre(2, 5, 6));
    settings.sequence_length = 2;
    EXPECT_THAT(testing::message_of<InputError>([&] { (void)load_table(settings); }),
                HasSubstr("the row is left out"));
    // Before the first one and after the last one nothing is torn apart.
    require_consecutive(read("a,b\n?,0\n1,1\n2,2\n?,3\n", {"a", "b"}, MissingValues::drop));
}

TEST_F(Csv, ToleratesQuotesSpacesLineEndsAndByteOrderMarks) {
    const NumberTable table = read("\xEF\xBB\xBF\"a\", b \r\n\"1\", +2 \r\n 3,\"4\"\r\n\r\n");
    EXPECT_THAT(table.values, ElementsAre(1, 2, 3, 4));
}

TEST_F(Csv, QuotedCellsHoldCommasLineEndsAndQuotes) {
    const std::string path =
        folder_.write("data.csv", "\"a,\"\"1\"\"\",b,text\n1,2,\"two\nlines\"\n3,4,one\n");
    EXPECT_THAT(read_csv_header(path), ElementsAre("a,\"1\"", "b", "text"));
    EXPECT_THAT(read_csv(path, std::vector<std::string>{"b"}, MissingValues::error).lines,
                ElementsAre(2, 4));
}

TEST_F(Csv, LastLineNeedsNoLineEnd) {
    EXPECT_EQ(read("a,b\n1,2").rows, 1);
}

TEST_F(Csv, RaggedRowIsRefusedWithLineAndCounts) {
    EXPECT_THAT(error("a,b\n1,2\n3\n"), HasSubstr("data.csv:3: 1 cells (the header has 2 columns"));
    EXPECT_THAT(error("a,b\n1,2,3\n"), HasSubstr("data.csv:2: 3 cells"));
    EXPECT_THAT(error("a,b\n\n1,2\n"), HasSubstr("data.csv:2: 1 cells"));
}

TEST_F(Csv, CellThatIsNoNumberIsRefusedWithLineAndColumn) {
    EXPECT_THAT(error("a,b\n1,2\n3,north\n"),
                AllOf(HasSubstr("data.csv:3: column b"), HasSubstr("\"north\"")));
    EXPECT_THAT(error("a,b\n1,2x\n"), HasSubstr("\"2x\""));
    EXPECT_THAT(error("a,b\n1,inf\n"), HasSubstr("finite"));
    EXPECT_THAT(error("a,b\n1,1e999\n"), HasSubstr("finite"));
    EXPECT_THAT(error("a,b\n1,-1e39\n"), HasSubstr("finite in f32"));
    EXPECT_THAT(read("a,b\n1,3e38\n").values, ElementsAre(1, 3e38));
}

TEST_F(Csv, MissingCellsAreRefusedDroppedOrFilled) {
    const std::string_view text = "a,b\n1,2\nNaN,3\n4,\n5,6\n";
    EXPECT_THAT(error(text), AllOf(HasSubstr("data.csv:3: column a has no value"),
                                   HasSubstr("\"missing_values\"")));
    EXPECT_THAT(read(text, {"a", "b"}, MissingValues::drop).values, ElementsAre(1, 2, 5, 6));
    EXPECT_THAT(read(text, {"a", "b"}, MissingValues::drop).lines, ElementsAre(2, 5));
    EXPECT_THAT(read(text, {"a", "b"}, MissingValues::previous).values,
                ElementsAre(1, 2, 1, 3, 4, 3, 5, 6));
    EXPECT_THAT(error("a,b\n?,2\n", {"a"}, MissingValues::previous), HasSubstr("no row comes"));
    EXPECT_THAT(error("a,b\nna,2\n", {"a"}, MissingValues::drop), HasSubstr("lacks a value"));
}

TEST_F(Csv, MissingColumnNamesTheNearest) {
    EXPECT_THAT(error("speed,time\n1,2\n", {"sped"}),
                AllOf(HasSubstr("no column \"sped\""), HasSubstr("did you mean \"speed\"?")));
}

TEST_F(Csv, MissingFileSaysWhatToCheck) {
    const auto message = testing::message_of<InputError>(
        [&] { (void)read_csv_header(folder_.path() + "/absent.csv"); });
    EXPECT_THAT(message, AllOf(HasSubstr("absent.csv"), HasSubstr("variable")));
    EXPECT_THAT(testing::message_of<InputError>([&] { (void)read_csv_header(folder_.path()); }),
                HasSubstr("cannot read"));
}

TEST_F(Csv, FilesWithoutDataAreRefused) {
    EXPECT_THAT(error(""), HasSubstr("is empty"));
    EXPECT_THAT(error("a,b\n"), HasSubstr("no rows"));
    EXPECT_THAT(error("a,a\n1,2\n"), HasSubstr("two columns are named a"));
    EXPECT_THAT(error("a,\n1,2\n"), HasSubstr("column 2 has no name"));
    EXPECT_THAT(error("a,b\n1,\"2\n"), HasSubstr("data.csv:2: a quote is never closed"));
}

/// Reads all columns of a file with so many of them.
void read_columns(const testing::TemporaryFolder& folder, int count) {
    std::string header;
    std::string row;
    std::vector<std::string> columns;
    for (int i = 0; i < count; ++i) {
        columns.push_back("column" + std::to_string(i));
        header += (i == 0 ? "" : ",") + columns.back();
        row += i == 0 ? "1" : ",1";
    }
    const std::string path = folder.write("wide.csv", header + "\n" + row + "\n");
    EXPECT_EQ(read_csv_header(path).size(), columns.size());
    EXPECT_EQ(read_csv(path, columns, MissingValues::error).rows, 1);
}

TEST_F(Csv, ReadsAHeaderOfVeryManyColumns) {
    // Compared one by one, these names take longer than a test may.
    read_columns(folder_, 300'000);
}

TEST_F(Csv, AnAbsentColumnOfVeryManyIsRefusedBriefly) {
    std::string header;
    for (int i = 0; i < 300'000; ++i)
        header += (i == 0 ? "" : ",") + std::string(200, 'x') + std::to_string(i);
    const std::string text = error(header + "\n", {std::string(205, 'x')});
    EXPECT_THAT(text, HasSubstr("has no column"));
    EXPECT_LT(text.size(), 1500U);
}

}  // namespace
}  // namespace cambrian::evolve
