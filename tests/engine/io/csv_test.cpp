#include "cambrian/engine/io/csv/csv.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/csv/class_labels.hpp"
#include "cambrian/engine/io/csv/fill.hpp"

namespace cambrian {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CsvFile file_of(const std::string& text) {
    std::istringstream stream(text);
    return {stream, "data.csv"};
}

NumberTable read(const std::string& text, std::vector<std::string> columns = {"a", "b"},
                 MissingValues missing = MissingValues::error, CsvUse use = {}) {
    return file_of(text).numbers(columns, missing, use);
}

std::string error(const std::string& text, std::vector<std::string> columns = {"a", "b"}) {
    try {
        (void)read(text, std::move(columns));
    } catch (const InputError& failure) {
        return failure.what();
    }
    ADD_FAILURE() << "was read: " << text.substr(0, 100);
    return "";
}

std::vector<std::vector<std::string>> records_of(const std::string& text, char separator) {
    const std::string name = "data.csv";
    CsvRecords records(text, name, separator);
    std::vector<std::vector<std::string>> result;
    while (records.next()) result.emplace_back(records.cells().begin(), records.cells().end());
    return result;
}

TEST(CsvRecords, AreThoseOfTheRfc) {
    EXPECT_THAT(
        records_of("a,b\r\n\"x,\"\"y\"\"\r\nz\", 2 \r\n\"\",\n", ','),
        ElementsAre(ElementsAre("a", "b"), ElementsAre("x,\"y\"\r\nz", "2"), ElementsAre("", "")));
    EXPECT_THAT(records_of("a\tb\n\t\n1\t2", '\t'),
                ElementsAre(ElementsAre("a", "b"), ElementsAre("", ""), ElementsAre("1", "2")));
    EXPECT_THAT(records_of("5\" pipe;x\n", ';'), ElementsAre(ElementsAre("5\" pipe", "x")));
}

TEST(CsvRecords, CellsAreWrittenSoThatTheyAreReadBack) {
    for (const std::string text :
         {"a", "a,b", "\"", "a\"b", "two\nlines", "a;b", "\r", " a", "b\t", " ",
          "\xEF\xBB\xBF"
          "a"})
        EXPECT_THAT(records_of(csv_cell(text) + ",1\n", ','), ElementsAre(ElementsAre(text, "1")));
}

TEST(CsvSeparator, IsTheOneThatDividesEveryRow) {
    const auto separator = [](const std::string& text) { return file_of(text).separator(); };
    EXPECT_EQ(separator("a,b\n1,2\n"), ',');
    EXPECT_EQ(separator("a;b\n1;2\n"), ';');
    EXPECT_EQ(separator("a\tb\n1\t2\n"), '\t');
    EXPECT_EQ(separator("a\n1\n"), ',');
    EXPECT_EQ(separator("a;b\n1,5;2,5\n"), ';');
    EXPECT_EQ(separator("\"a;b\",c\n1,2\n"), ',');
    EXPECT_EQ(separator("\"a,b\";c\n1;2\n"), ';');
    EXPECT_EQ(separator("size;mm,b\n1,2\n3,4\n"), ',');
    // Ragged rows leave what the header says.
    EXPECT_EQ(separator("a,b\n1,2\n3\n"), ',');
    EXPECT_EQ(separator("\xEF\xBB\xBF"
                        "a;b;c\n1;2;3\n"),
              ';');
}

TEST(CsvNumbers, HaveDecimalCommasWhereNoCommaSeparates) {
    const NumberTable table = read("a;b\n1,5;2\n-0,25;+3,125e1\n");
    EXPECT_THAT(table.values, ElementsAre(1.5, 2, -0.25, 31.25));
    EXPECT_THAT(csv_notes(table),
                ElementsAre("data.csv: columns are separated by \";\", decimals by commas"));
    EXPECT_THAT(csv_notes(read("a\tb\n1.5\t2\n")),
                ElementsAre("data.csv: columns are separated by tabs"));
    EXPECT_THAT(csv_notes(read("a,b\n1,2\n")), IsEmpty());
    // One that cannot divide thousands decides for all.
    EXPECT_THAT(read("a;b\n1,500;2\n0,250;3\n").values, ElementsAre(1.5, 2, 0.25, 3));
    EXPECT_THAT(error("a;b\n1,500;2\n"), HasSubstr("data.csv:2: a comma stands before three"));
    EXPECT_THAT(error("a;b\n1,5;2\n1.5;2\n"),
                HasSubstr("data.csv:2: a number has a comma and one in line 3"));
    EXPECT_THAT(error("a;b\n1.234,5;2\n"), HasSubstr("\"1.234,5\""));
    EXPECT_THAT(error("a;b\n1,234,567;2\n"), HasSubstr("\"1,234,567\""));
}

TEST(CsvNumbers, LabelsAreTexts) {
    const CsvUse labels{.targets = 1, .config = true, .labels = true};
    const NumberTable table =
        read("a,b\n1,cat\n2, dog \n3,\"cat\"\n4,?\n", {"a", "b"}, MissingValues::drop, labels);
    EXPECT_THAT(table.labels, ElementsAre("cat", "dog", "cat"));
    EXPECT_THAT(table.left_out, ElementsAre(5));
    EXPECT_THAT(csv_notes(table), ElementsAre("data.csv: 1 of 4 rows lack a value and are left out "
                                              "(line 5)"));
    EXPECT_THAT(read("a,b\n1,cat\n2,\n", {"a", "b"}, MissingValues::previous, labels).labels,
                ElementsAre("cat", "cat"));
}

TEST(CsvNumbers, MissingInputsAreLeftToBeFilledAndRowsWithoutATargetLeftOut) {
    const NumberTable table = read("a,b\nn/a,1\n2,\n3,4\n", {"a", "b"}, MissingValues::mean,
                                   {.targets = 1, .config = true});
    ASSERT_EQ(table.rows, 2);
    EXPECT_TRUE(std::isnan(table.at(0, 0)));
    EXPECT_EQ(table.at(1, 0), 3);
    EXPECT_EQ(table.missing, 1);
    EXPECT_THAT(table.left_out, ElementsAre(3));
    EXPECT_EQ(fill_value({1, 5, 3}, MissingValues::mean), 3);
    EXPECT_EQ(fill_value({1, 50, 3}, MissingValues::median), 3);
    EXPECT_EQ(fill_value({4, 1, 50, 3}, MissingValues::median), 3.5);
    EXPECT_EQ(fill_value({}, MissingValues::median), std::nullopt);
}

TEST(CsvLabels, AreNumbersWhereAllAreElseTexts) {
    const std::vector<std::string> numbers{"10", "2", "2.0", "-1"};
    const ClassLabels counted = class_labels(numbers);
    EXPECT_THAT(counted.numbers, ElementsAre(-1, 2, 10));
    EXPECT_THAT(counted.texts, IsEmpty());
    EXPECT_EQ(counted.find("+2"), 1U);
    EXPECT_EQ(counted.find("3"), std::nullopt);
    EXPECT_EQ(counted.name(2), "10");
    const std::vector<std::string> texts{"b", "10", "a", "b"};
    const ClassLabels named = class_labels(texts);
    EXPECT_THAT(named.texts, ElementsAre("10", "a", "b"));
    EXPECT_THAT(named.numbers, ElementsAre(0, 1, 2));
    EXPECT_EQ(named.find("b"), 2U);
    EXPECT_EQ(class_labels(numbers, 2.0).size(), 2U);
    const std::vector<std::string> codes{"7", "007", "7"};
    EXPECT_THAT(class_labels(codes).texts, ElementsAre("007", "7"));
    const std::vector<std::string> long_ones{"9007199254740993", "9007199254740992", "0"};
    EXPECT_EQ(class_labels(long_ones).size(), 3U);
    const std::vector<std::string> fractions{"0.50", "0", "-0"};
    EXPECT_THAT(class_labels(fractions).numbers, ElementsAre(0, 0.5));
}

// What is no table, or a broken one, is told by what to do, whatever its size.
TEST(HostileCsv, IsAClearError) {
    EXPECT_THAT(error(std::string("a,b\n1,2\n3,\0", 11)), HasSubstr("data.csv:3: a NUL byte"));
    EXPECT_THAT(error(std::string("\xFF\xFE"
                                  "a\0",
                                  4)),
                HasSubstr("is UTF-16"));
    EXPECT_THAT(error("PK\x03\x04"), HasSubstr("workbook"));
    EXPECT_THAT(error("\x1F\x8B\x08"), HasSubstr("gunzip"));
    EXPECT_THAT(error("a,b\r1,2\r"), HasSubstr("a carriage return stands alone"));
    EXPECT_THAT(error("a,b\n1,\"2\"3\n"), HasSubstr("data.csv:2: text follows a closing quote"));
    EXPECT_THAT(error("a,b\n1,2\n\"3\n4,5\n"), HasSubstr("data.csv:3: a quote is never closed"));
    EXPECT_THAT(error("1,2\n3,4\n"), HasSubstr("only numbers (the first line holds the column"));
    EXPECT_THAT(error("1,1\n3,4\n"), HasSubstr("only numbers"));
    EXPECT_THAT(error("a;b\n1;2;3\n"),
                AllOf(HasSubstr("data.csv:2: 3 cells"), HasSubstr("2 columns")));
    EXPECT_THAT(error(""), HasSubstr("is empty"));
    EXPECT_THAT(error("\xEF\xBB\xBF\r\n"), HasSubstr("is empty"));
}

TEST(HostileCsv, IsReadInTimeAndMemoryOfItsBytes) {
    constexpr std::size_t huge = 20'000'000;
    EXPECT_THAT(error(std::string(huge, 'x')), HasSubstr("a cell has more than 1 MiB"));
    EXPECT_THAT(error("a,b\n1," + std::string(huge, '1')),
                HasSubstr("data.csv:2: a cell has more"));
    EXPECT_THAT(error("a,b\n1,\"" + std::string(huge, '\n')), HasSubstr("a quoted cell has more"));
    EXPECT_THAT(error(std::string(huge, ',')), HasSubstr("more than 1000000 cells"));
    EXPECT_THAT(error("a,b\n" + std::string(huge, ',')),
                HasSubstr("data.csv:2: the line has more"));
    EXPECT_THAT(error(std::string(huge, ' ')), HasSubstr("is empty"));
    // A line of blanks is looked at once, not once for each line before it.
    const std::string blanks = "a\n" + std::string(1'000'000, '\n') + "1\n";
    EXPECT_EQ(records_of(blanks, ',').size(), 1'000'002U);
    EXPECT_EQ(records_of(blanks + std::string(huge, '\n'), ',').size(), 1'000'002U);
}

}  // namespace
}  // namespace cambrian
