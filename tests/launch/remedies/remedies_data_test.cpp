#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/tests/launch/remedies/remedies_support.hpp"

// Remedies of the readers of data sets in files other than tables.
namespace cambrian::launch::remedies_data_test {
namespace {

using test::csv_config;
using test::RemedyRow;

const std::string config = "config.json";
const std::string entropy = R"({"type": "cross_entropy"})";

std::map<std::string, std::string> rows(std::string_view text) {
    return {{"rows.csv", std::string(text)}};
}

/// IDX files: the samples [2, 1] and labels as bytes or as floats 0.5 and 1.
std::string idx_samples() {
    return {"\0\0\x08\x02\0\0\0\x02\0\0\0\x01\x05\x07", 14};
}
std::string idx_labels() {
    return {"\0\0\x08\x01\0\0\0\x02\0\x01", 10};
}
std::string idx_float_labels() {
    return {"\0\0\x0D\x01\0\0\0\x02\x3F\0\0\0\x3F\x80\0\0", 16};
}
const std::string idx_config = test::task_config(
    "dataset",
    R"("source": {"type": "idx", "inputs": "x.idx", "targets": "y.idx"}, "loss": )" + entropy);

const std::vector<RemedyRow>& source_rows() {
    const std::string inputs = R"("inputs": ["a", "b"], )";
    const std::string split = R"("source": {"type": "sine", "rows": 10}, "split": )";
    static const std::vector<RemedyRow> table{
        {"EntropyOfNumbersOtherLoss",
         csv_config(inputs + R"("targets": ["k"])", entropy),
         "cross_entropy needs classes",
         "use a loss of numbers such as mse",
         {{config, "cross_entropy", "mse"}}},
        {"EntropyOfNumbersAsClasses",
         csv_config(inputs + R"("targets": ["k"])", entropy),
         "cross_entropy needs classes",
         R"("classes": true in a csv source)",
         {{config, R"("targets")", R"("classes": true, "targets")"}}},
        {"ManyClassesAsNumbers",
         csv_config(R"("inputs": ["b"], "targets": ["a"], "classes": true)"),
         "mse needs numbers (the source has 5 classes)",
         "use cross_entropy",
         {{config, R"("source")", R"("loss": {"type": "cross_entropy"}, "source")"}}},
        {"FractionsAsClassesNumbered",
         csv_config(inputs + R"("targets": ["c"], "classes": true)", entropy),
         "holds 0.5 (classes are whole numbers)",
         "number the classes in the file",
         {{"rows.csv", "1,2,0.5", "1,2,2"}},
         rows("a,b,c\n1,2,0.5\n3,4,1\n")},
        {"FractionsAsClassesMeasured",
         csv_config(inputs + R"("targets": ["c"], "classes": true)", entropy),
         "holds 0.5 (classes are whole numbers)",
         R"(set "classes" to false and use a loss of numbers such as mse)",
         {{config, R"("classes": true)", R"("classes": false)"}, {config, "cross_entropy", "mse"}},
         rows("a,b,c\n1,2,0.5\n3,4,1\n")},
        {"OneClassOfASource",
         csv_config(inputs + R"("targets": ["c"], "classes": true)", entropy),
         "holds 1 classes",
         "use another target column",
         {{config, R"(["c"])", R"(["k"])"}},
         rows("a,b,c,k\n1,2,1,0\n3,4,1,1\n")},
        {"ClassesInTwoColumns",
         csv_config(inputs + R"("targets": ["k", "y"], "classes": true)"),
         "names several columns (classes are in one)",
         "name one",
         {{config, R"(["k", "y"])", R"(["k"])"}}},
        {"EveryColumnATargetOfASource",
         csv_config(R"("targets": ["a", "y"])"),
         "every column is a target",
         "predict fewer",
         {{config, R"(["a", "y"])", R"(["y"])"}},
         rows("a,y\n1,2\n3,4\n")},
        {"EveryColumnATargetAndOneMore",
         csv_config(R"("targets": ["a", "y"])"),
         "every column is a target",
         "add a column to the file",
         {{"rows.csv", "", "a,y,x\n1,2,3\n3,4,5\n"}},
         rows("a,y\n1,2\n3,4\n")},
        {"ShortFileForSteps",
         csv_config(inputs + R"("targets": ["y"], "steps": 13)"),
         "has 12 rows (a sequence takes 13)",
         R"(fewer "steps")",
         {{config, "13", "4"}}},
        {"InfiniteInputs",
         csv_config(inputs + R"("targets": ["y"], "scale": 1e30)", ""),
         "finite numbers are needed",
         R"(its "scale")",
         {{config, "1e30", "1e3"}},
         rows("a,b,y\n1e20,2,3\n3,4,5\n")},
        {"FractionsAsIdxLabels",
         idx_config,
         "holds 0.5 (classes are whole numbers)",
         "number the classes in the file from 0 on",
         {{"y.idx", "", idx_labels()}},
         {{"x.idx", idx_samples()}, {"y.idx", idx_float_labels()}}},
        {"SamplesAsIdxLabels",
         idx_config,
         "one class for each sample is needed",
         "use a file of labels",
         {{"y.idx", "", idx_labels()}},
         {{"x.idx", idx_samples()}, {"y.idx", idx_samples()}}},
        {"DamagedIdx",
         idx_config,
         "cannot be read as IDX",
         "get the file again",
         {{"x.idx", "", idx_samples()}},
         {{"x.idx", "text"}, {"y.idx", idx_labels()}}},
        {"LongDelay",
         test::task_config("dataset", R"("source": {"type": "delay", "steps": 3, "delay": 3})"),
         "task.source.delay is 3 (a sequence has 3 steps)",
         "use a shorter one",
         {{config, R"("delay": 3)", R"("delay": 2)"}}},
        {"StratifiedInOrder",
         test::task_config("dataset",
                           R"("source": {"type": "blobs"}, "loss": {"type": "cross_entropy"},
                              "split": {"test": 0.1, "stratify": true, "shuffle": false})"),
         "rows in their order are no share of every class",
         "leave one of the two out",
         {{config, R"(, "shuffle": false)", ""}}},
        {"StratifiedNumbers",
         test::task_config("dataset", split + R"({"test": 0.1, "stratify": true})"),
         "rows have a class each where a loss of classes is used",
         "leave it out",
         {{config, R"(, "stratify": true)", ""}}},
        {"SmallShareOfRows",
         test::task_config("dataset", split + R"({"validation": 0.05})"),
         "task.split.validation is 0.05 (of 10 rows that is none)",
         "use a larger share",
         {{config, "0.05", "0.2"}}},
        {"NoShareOfRows",
         test::task_config("dataset", split + R"({"validation": 0.05})"),
         "task.split.validation is 0.05 (of 10 rows that is none)",
         "or 0",
         {{config, "0.05", "0"}}},
        {"FractionOfRows",
         test::task_config("dataset", split + R"({"test": 2.5})"),
         "task.split.test is 2.5",
         "change it",
         {{config, "2.5", "2"}}},
        {"MoreRowsThanThere",
         test::task_config("dataset", split + R"({"train": 8, "test": 4})"),
         "the split takes 8 rows to train",
         "use smaller parts",
         {{config, R"("test": 4)", R"("test": 2)"}}},
    };
    return table;
}

/// A file of two samples of as many extents, and their targets.
std::string safetensors(const Tensor& targets, const Shape& samples = {2, 2}) {
    Safetensors content;
    content.tensors.emplace(
        "inputs", StoredTensor::of(Tensor(
                      ValueType::real, samples,
                      std::vector<double>(static_cast<std::size_t>(samples.elements()), 0.5))));
    content.tensors.emplace("targets", StoredTensor::of(targets));
    const test::TemporaryDirectory directory;
    write_safetensors(directory.path() / "x.safetensors", content);
    std::ifstream file(directory.path() / "x.safetensors", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::string safetensors_config(const std::string& keys) {
    return test::task_config("dataset",
                             R"("source": {"type": "safetensors", "file": "x.safetensors")" + keys +
                                 R"(}, "loss": )" + entropy);
}

const std::vector<RemedyRow>& safetensors_rows() {
    const std::string name = "x.safetensors";
    const std::string good = safetensors(Tensor(ValueType::integer, Shape{2}, {0, 1}));
    const std::string negative = safetensors(Tensor(ValueType::integer, Shape{2}, {-1, 1}));
    const std::string real = safetensors(Tensor(ValueType::real, Shape{2}, {0, 1}));
    const std::string three = safetensors(Tensor(ValueType::integer, Shape{3}, {0, 1, 1}));
    const std::string flat = safetensors(Tensor(ValueType::integer, Shape{2}, {0, 1}), {2});
    static const std::vector<RemedyRow> table{
        {"NegativeClass",
         safetensors_config(""),
         "holds -1 (classes are whole numbers from 0 to",
         "number the classes in the file from 0 on",
         {{name, "", good}},
         {{name, negative}}},
        {"NumbersAsClasses",
         safetensors_config(""),
         "cross_entropy needs classes",
         "integers in a safetensors file",
         {{name, "", good}},
         {{name, real}}},
        {"OtherRows",
         safetensors_config(""),
         "as many rows of each",
         "use files that belong together",
         {{name, "", good}},
         {{name, three}}},
        {"SequencesWithoutTime",
         safetensors_config(R"(, "sequences": true)"),
         "sequences have an axis of time",
         R"(leave "sequences" out)",
         {{config, R"(, "sequences": true)", ""}},
         {{name, flat}}},
        {"NoSuchTensor",
         safetensors_config(R"(, "inputs": "x")"),
         R"(there is no tensor "x")",
         "name one of them",
         {{config, R"("inputs": "x")", R"("inputs": "inputs")"}},
         {{name, good}}},
        {"DamagedSafetensors",
         safetensors_config(""),
         "cannot be read as safetensors",
         "write it again",
         {{name, "", good}},
         {{name, "text"}}},
    };
    return table;
}

std::string text_config(const std::string& keys) {
    return test::task_config("dataset", R"("source": {"type": "text", "file": "x.txt")" + keys +
                                            R"(}, "loss": )" + entropy);
}

const std::vector<RemedyRow>& text_rows() {
    const std::string name = "x.txt";
    static const std::vector<RemedyRow> table{
        {"ShortText",
         text_config(R"(, "context": 8)"),
         "has 6 characters (a sequence has 8 and one to predict)",
         R"(a shorter "context")",
         {{config, R"("context": 8)", R"("context": 4)"}},
         {{name, "abcabc"}}},
        {"NoUtf8",
         text_config(R"(, "context": 4)"),
         "byte 3 belongs to no character of UTF-8",
         R"(use the tokenizer "bytes")",
         {{config, R"("context": 4)", R"("context": 4, "tokenizer": "bytes")"}},
         {{name, "abc\xff abc"}}},
        {"NoTokenizer",
         text_config(R"(, "context": 4, "tokenizer": "")"),
         R"(task.source.tokenizer is "")",
         "a text that is not empty",
         {{config, R"("tokenizer": "")", R"("tokenizer": "characters")"}},
         {{name, "abcabc"}}},
    };
    return table;
}

class DataRemedies : public testing::TestWithParam<RemedyRow> {};

TEST_P(DataRemedies, Work) {
    test::expect_remedy_works(GetParam());
}

const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Source, DataRemedies, testing::ValuesIn(source_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Safetensors, DataRemedies, testing::ValuesIn(safetensors_rows()), name_of);
INSTANTIATE_TEST_SUITE_P(Text, DataRemedies, testing::ValuesIn(text_rows()), name_of);

}  // namespace
}  // namespace cambrian::launch::remedies_data_test
