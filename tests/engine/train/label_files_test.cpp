#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/train/source.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

// What is said of labels in several files.
namespace cambrian::label_files_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// Labels of a.csv and b.csv, where those of b.csv are given.
class LabelFiles : public testing::Test {
  protected:
    LabelFiles() { directory_.write("a.csv", "x,class\n1,0\n3,-100\n5,1\n"); }
    [[nodiscard]] SourceRows read(const std::string& labels, std::int64_t steps = 0) const {
        directory_.write("b.csv", labels);
        const nlohmann::json source{{"type", "csv"},
                                    {"files", {"a.csv", "b.csv"}},
                                    {"targets", {"class"}},
                                    {"classes", true},
                                    {"steps", steps}};
        return read_source(source, "source", {directory_.path(), 1, -100});
    }
    [[nodiscard]] std::string refusal(const std::string& labels, std::int64_t steps = 0) const {
        try {
            (void)read(labels, steps);
        } catch (const InputError& error) {
            return error.what();
        }
        ADD_FAILURE() << labels << " was accepted";
        return "";
    }

    test::TemporaryDirectory directory_;
};

TEST_F(LabelFiles, WhatTheLossIgnoresIsCountedOverAllOfThem) {
    const std::string first = (directory_.path() / "a.csv").string();
    const std::string note =
        " targets in column class of 2 files from " + first + " on are -100, which the loss";
    EXPECT_THAT(read("x,class\n1,-100\n2,1\n").notes, ElementsAre(HasSubstr("2 of 5" + note)));
    directory_.write("a.csv", "x,class\n1,cat\n3,-100\n");
    EXPECT_THAT(read("x,class\n1,dog\n").notes, ElementsAre(HasSubstr("1 of 3" + note)));
}

TEST_F(LabelFiles, ALabelThatIsNoClassIsNamedWithItsFileAndLine) {
    const std::string second = (directory_.path() / "b.csv").string();
    EXPECT_THAT(refusal("x,class\n1,1\n2,0.5\n"),
                HasSubstr(second + ":3: column class holds 0.5 (classes are whole numbers)"));
    EXPECT_THAT(refusal("x,class\n1,0.5\n2,1\n", 2), HasSubstr(second + ":2: column class"))
        << "after a file whose last row is cut off";
}

}  // namespace
}  // namespace cambrian::label_files_test
