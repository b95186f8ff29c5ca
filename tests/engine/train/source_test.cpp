#include "cambrian/engine/train/source.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/engine/text/tokenizer_json.hpp"

namespace cambrian {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace fs = std::filesystem;

class Source : public testing::Test {
  protected:
    Source() {
        std::string pattern = fs::temp_directory_path() / "cambrian-source-XXXXXX";
        folder_ = mkdtemp(pattern.data());
    }
    ~Source() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    void write(const std::string& name, const std::string& text) const {
        std::ofstream(folder_ / name, std::ios::binary) << text;
    }
    [[nodiscard]] SourceRows read(const json& source) const {
        return read_source(source, "source", {folder_, 1});
    }
    [[nodiscard]] static TokenizerDefinition three_tokens() {
        TokenizerDefinition definition;
        definition.vocabulary = {{"a", 0}, {"b", 1}, {" ", 2}};
        return definition;
    }
    /// A text, with a tokenizer of three_tokens().
    [[nodiscard]] json text_of_tokens() const {
        write("text", "abab ab");
        write("tokenizer.json", tokenizer_json(three_tokens()));
        return {
            {"type", "text"}, {"file", "text"}, {"context", 2}, {"tokenizer", "tokenizer.json"}};
    }
    template <class Error>
    [[nodiscard]] std::string refusal(const json& source) const {
        try {
            (void)read(source);
        } catch (const Error& error) {
            return error.what();
        }
        ADD_FAILURE() << source.dump() << " was accepted";
        return "";
    }

    fs::path folder_;
};

TEST_F(Source, FormulasGiveTheRowsTheySay) {
    const SourceRows sine = read({{"type", "sine"}, {"rows", 5}, {"cycles", 0.5}});
    EXPECT_THAT(sine.inputs.elements, ElementsAre(-1, -0.5, 0, 0.5, 1));
    EXPECT_NEAR(sine.targets.elements[4], 1.0, 1e-6);
    EXPECT_EQ(sine.classes, 0);

    const SourceRows spirals = read({{"type", "spirals"}, {"rows", 100}, {"turns", 1}});
    EXPECT_EQ(spirals.classes, 2);
    for (std::size_t row = 0; row < 100; row += 2) {
        // The arms are opposite of each other.
        EXPECT_NEAR(spirals.inputs.elements[2 * row], -spirals.inputs.elements[2 * row + 2], 1e-5);
        EXPECT_NEAR(
            std::hypot(spirals.inputs.elements[2 * row], spirals.inputs.elements[2 * row + 1]),
            (static_cast<double>(row / 2) + 0.5) / 50, 1e-5);
    }

    const SourceRows blobs =
        read({{"type", "blobs"}, {"rows", 7}, {"classes", 3}, {"features", 4}});
    EXPECT_EQ(blobs.inputs.shape, (Shape{7, 4}));
    EXPECT_THAT(blobs.targets.elements, ElementsAre(0, 1, 2, 0, 1, 2, 0));
    EXPECT_EQ(read({{"type", "blobs"}}).inputs, read({{"type", "blobs"}}).inputs);
    EXPECT_NE(read_source({{"type", "blobs"}}, "source", {folder_, 2}).inputs,
              read({{"type", "blobs"}}).inputs);

    const SourceRows delay = read({{"type", "delay"}, {"rows", 2}, {"steps", 5}, {"delay", 3}});
    for (const std::size_t i : {0U, 1U, 2U, 5U, 6U, 7U}) EXPECT_EQ(delay.targets.elements[i], 0.0);
    for (const std::size_t i : {3U, 4U, 8U, 9U})
        EXPECT_EQ(delay.targets.elements[i], delay.inputs.elements[i - 3]);
    EXPECT_THAT(refusal<ConfigError>({{"type", "delay"}, {"steps", 3}, {"delay", 3}}),
                HasSubstr("source.delay is 3"));
}

TEST_F(Source, ReadsColumnsOfCsvFiles) {
    write("a.csv", "x,class,y\n1,0,2\n3,2,4\n5,1,6\n");
    write("b.csv", "x,class,y\n7,1,8\n9,0,10\n");
    const json files = json::array({"a.csv", "b.csv"});
    const SourceRows rows = read({{"type", "csv"},
                                  {"files", files},
                                  {"targets", {"class"}},
                                  {"classes", true},
                                  {"scale", 0.5}});
    EXPECT_EQ(rows.inputs.shape, (Shape{5, 2}));
    EXPECT_THAT(rows.inputs.elements, ElementsAre(0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5));
    EXPECT_THAT(rows.targets.elements, ElementsAre(0, 2, 1, 1, 0));
    EXPECT_EQ(rows.classes, 3);
    EXPECT_THAT(rows.class_values, testing::IsEmpty());
    EXPECT_THAT(rows.input_names, ElementsAre("x", "y"));
    EXPECT_THAT(rows.target_names, ElementsAre("class"));
    EXPECT_EQ(rows.scale, 0.5);

    const SourceRows steps = read({{"type", "csv"},
                                   {"files", files},
                                   {"inputs", {"x"}},
                                   {"targets", {"y", "class"}},
                                   {"steps", 2}});
    EXPECT_EQ(steps.inputs.shape, (Shape{2, 2, 1}));
    EXPECT_THAT(steps.inputs.elements, ElementsAre(1, 3, 7, 9));
    EXPECT_THAT(steps.targets.elements, ElementsAre(2, 0, 4, 2, 8, 1, 10, 0));

    json bad{{"type", "csv"}, {"files", files}, {"targets", {"z"}}};
    EXPECT_THAT(refusal<InputError>(bad), HasSubstr("a.csv has no column \"z\""));
    bad["targets"] = {"class", "y"};
    bad["classes"] = true;
    EXPECT_THAT(refusal<ConfigError>(bad), HasSubstr("source.targets names several columns"));
    bad["targets"] = json::array();
    EXPECT_THAT(refusal<ConfigError>(bad), HasSubstr("source.targets is empty"));
    write("half.csv", "x,class\n1,0.5\n");
    EXPECT_THAT(
        refusal<InputError>(
            {{"type", "csv"}, {"files", {"half.csv"}}, {"targets", {"class"}}, {"classes", true}}),
        HasSubstr("holds 0.5 (classes are whole numbers"));
    EXPECT_THAT(refusal<InputError>(
                    {{"type", "csv"}, {"files", {"b.csv"}}, {"targets", {"y"}}, {"steps", 3}}),
                HasSubstr("b.csv has 2 rows"));
}

TEST_F(Source, AFileIsReadOnceHoweverItIsWritten) {
    write("a.csv", "x,y\n1,2\n");
    for (const std::string& again :
         {std::string("a.csv"), std::string("./b/../a.csv"), (folder_ / "a.csv").string()})
        EXPECT_THAT(
            refusal<ConfigError>(
                {{"type", "csv"}, {"files", json::array({"a.csv", again})}, {"targets", {"y"}}}),
            testing::AllOf(HasSubstr("source.files names \""),
                           HasSubstr("a.csv\" twice (its rows")));
}

TEST_F(Source, ARowThatLacksAnInputOrATargetIsDroppedOrFilled) {
    write("a.csv", "x,skipped,y\n1,,2\n,0,4\n5,0,6\n7,0,NA\n9,0,10\n");
    json csv{{"type", "csv"}, {"files", {"a.csv"}}, {"inputs", {"x"}}, {"targets", {"y"}}};
    EXPECT_THAT(refusal<InputError>(csv), HasSubstr("a.csv:3: column x has no value"));
    csv["missing_values"] = "drop";
    EXPECT_THAT(read(csv).inputs.elements, ElementsAre(1, 5, 9));
    EXPECT_THAT(read(csv).targets.elements, ElementsAre(2, 6, 10));
    csv["missing_values"] = "previous";
    EXPECT_THAT(read(csv).inputs.elements, ElementsAre(1, 1, 5, 7, 9));
    EXPECT_THAT(read(csv).targets.elements, ElementsAre(2, 4, 6, 6, 10));
    csv["missing_values"] = "skip";
    EXPECT_THAT(refusal<ConfigError>(csv), HasSubstr("source.missing_values is \"skip\""));
}

TEST_F(Source, AFileOfTargetsAloneIsRefused) {
    write("a.csv", "x,y\n1,2\n3,4\n");
    EXPECT_THAT(
        refusal<InputError>({{"type", "csv"}, {"files", {"a.csv"}}, {"targets", {"x", "y"}}}),
        HasSubstr("has no input columns"));
}

TEST_F(Source, ATargetThatTheLossIgnoresIsNoClass) {
    write("a.csv", "x,class\n1,0\n3,-100\n5,1\n");
    write("b.csv", "x,class\n1,0\n3,255\n5,1\n");
    json csv{{"type", "csv"}, {"files", {"a.csv"}}, {"targets", {"class"}}, {"classes", true}};
    // Without a loss that ignores it, it is a label like all others.
    EXPECT_THAT(read(csv).targets.elements, ElementsAre(1, 0, 2));
    EXPECT_THAT(read(csv).class_values, ElementsAre(-100, 0, 1));
    const SourceRows rows = read_source(csv, "source", {folder_, 1, -100});
    EXPECT_EQ(rows.classes, 2);
    EXPECT_THAT(rows.targets.elements, ElementsAre(0, -100, 1));
    csv["files"] = {"b.csv"};
    EXPECT_EQ(read_source(csv, "source", {folder_, 1, 255}).classes, 2);
    EXPECT_EQ(read(csv).classes, 3);
    EXPECT_FALSE(rows.ignored);
    EXPECT_THAT(rows.notes, ElementsAre(HasSubstr("1 of 3 targets in column class")));
}

TEST_F(Source, LabelsOfAColumnAreCountedThrough) {
    json csv{{"type", "csv"}, {"files", {"a.csv"}}, {"targets", {"class"}}, {"classes", true}};
    write("a.csv", "x,class\n1,3\n3,1\n5,2\n6,3\n");
    const SourceRows shifted = read(csv);
    EXPECT_EQ(shifted.classes, 3);
    EXPECT_THAT(shifted.targets.elements, ElementsAre(2, 0, 1, 2));
    EXPECT_THAT(shifted.class_values, ElementsAre(1, 2, 3));
    // What is ignored must not become the index of a class.
    const SourceRows ignoring = read_source(csv, "source", {folder_, 1, 2});
    EXPECT_EQ(ignoring.classes, 2);
    EXPECT_THAT(ignoring.targets.elements, ElementsAre(1, 0, -100, 1));
    EXPECT_EQ(ignoring.ignored, -100);
    write("a.csv", "x,class\n1,4\n3,4\n");
    EXPECT_THAT(refusal<InputError>(csv), HasSubstr("holds 1 classes"));
}

TEST_F(Source, OneClassIsRefusedWhereTheLossIsOfClasses) {
    Safetensors content;
    content.tensors["inputs"] = StoredTensor::of(Tensor(ValueType::real, Shape{2, 1}, {1, 2}));
    content.tensors["targets"] = StoredTensor::of(Tensor(ValueType::integer, Shape{2}, {0, 0}));
    write_safetensors(folder_ / "data.safetensors", content);
    write("images", std::string("\0\0\x08\x02\0\0\0\2\0\0\0\1\1\2", 14));
    write("labels", std::string("\0\0\x08\x01\0\0\0\2\0\0", 10));
    write("text", "aaaaaa");
    for (const json& source : {json{{"type", "safetensors"}, {"file", "data.safetensors"}},
                               json{{"type", "idx"}, {"inputs", "images"}, {"targets", "labels"}},
                               json{{"type", "text"}, {"file", "text"}, {"context", 3}}}) {
        EXPECT_THAT(
            [&] {
                (void)read_source(source, "source", {folder_, 1, -100});
            },
            testing::ThrowsMessage<InputError>(
                HasSubstr("holds 1 classes (2 to 1000000 can be told apart) use")))
            << source;
        EXPECT_EQ(read(source).classes, 1) << source << " is 0 for a loss of numbers";
    }
}

TEST_F(Source, NumbersAreFinite) {
    Safetensors content;
    content.tensors["inputs"] =
        StoredTensor::of(Tensor(ValueType::real, Shape{2, 2}, {1, 2, std::nan(""), 4}));
    content.tensors["targets"] = StoredTensor::of(Tensor(ValueType::real, Shape{2}, {1, 0}));
    content.tensors["huge"] =
        StoredTensor::of(Tensor(ValueType::real, Shape{2}, {1, 1e39}), StoredType::f64);
    write_safetensors(folder_ / "data.safetensors", content);
    json source{{"type", "safetensors"}, {"file", "data.safetensors"}};
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("element 2 of the inputs [2, 2] is nan"));
    source["inputs"] = "targets";
    source["targets"] = "huge";
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("element 1 of the targets [2, 1] is 1e+39"));
}

TEST_F(Source, ReadsIdxFilesAsRows) {
    write("images", std::string("\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\3\0\x33\xff\1\2\3", 22));
    write("labels", std::string("\0\0\x08\x01\0\0\0\2\4\0", 10));
    const json source{{"type", "idx"}, {"inputs", "images"}, {"targets", "labels"}};
    const SourceRows rows = read(source);
    EXPECT_EQ(rows.inputs.shape, (Shape{2, 3}));
    EXPECT_NEAR(rows.inputs.elements[1], 0.2, 1e-12);
    EXPECT_EQ(rows.inputs.elements[2], 1.0);
    EXPECT_THAT(rows.targets.elements, ElementsAre(4, 0));
    EXPECT_EQ(rows.classes, 5);
    EXPECT_EQ(rows.scale, 1.0 / 255.0);
    EXPECT_THAT(rows.notes, ElementsAre(HasSubstr("has labels for 2 of 5 classes")));
    json swapped = source;
    swapped["targets"] = "images";
    EXPECT_THAT(refusal<InputError>(swapped), HasSubstr("one class for each sample is needed"));
    write("labels", std::string("\0\0\x08\x01\0\0\0\1\4", 9));
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("as many rows of each"));
}

TEST_F(Source, ReadsTensorsOfSafetensors) {
    Safetensors content;
    content.tensors["inputs"] =
        StoredTensor::of(Tensor(ValueType::real, Shape{2, 2, 1}, {1, 2, 3, 4}));
    content.tensors["targets"] = StoredTensor::of(Tensor(ValueType::integer, Shape{2}, {1, 0}));
    content.tensors["numbers"] = StoredTensor::of(Tensor(ValueType::real, Shape{2}, {5, 6}));
    write_safetensors(folder_ / "data.safetensors", content);
    const json source{{"type", "safetensors"}, {"file", "data.safetensors"}};
    const SourceRows rows = read(source);
    EXPECT_EQ(rows.inputs.shape, (Shape{2, 2}));
    EXPECT_EQ(rows.classes, 2);
    json other = source;
    other["sequences"] = true;
    EXPECT_EQ(read(other).inputs.shape, (Shape{2, 2, 1}));
    other["targets"] = "numbers";
    EXPECT_EQ(read(other).targets.shape, (Shape{2, 1}));
    other["targets"] = "none";
    EXPECT_THAT(refusal<InputError>(other), HasSubstr("none"));
    content.tensors["steps"] = StoredTensor::of(Tensor(ValueType::real, Shape{2, 0, 3}, {}));
    write_safetensors(folder_ / "data.safetensors", content);
    other["inputs"] = "steps";
    other["targets"] = "numbers";
    EXPECT_THAT(refusal<InputError>(other),
                HasSubstr("data.safetensors holds \"steps\" [2, 0, 3] (an axis of 0"));
}

TEST_F(Source, ATextIsSequencesWithTheNextTokenAsTarget) {
    write("text", "abcab ab\nc");
    const json source{{"type", "text"}, {"file", "text"}, {"context", 3}};
    const SourceRows rows = read(source);
    EXPECT_EQ(rows.inputs.shape, (Shape{3, 3, 1}));
    EXPECT_EQ(rows.targets.shape, (Shape{3, 3}));
    // The characters are \n, space, a, b, c.
    EXPECT_EQ(rows.classes, 5);
    EXPECT_THAT(rows.class_values, ElementsAre(10, 32, 97, 98, 99));
    EXPECT_THAT(rows.inputs.elements, ElementsAre(2, 3, 4, 2, 3, 1, 2, 3, 0));
    EXPECT_THAT(rows.targets.elements, ElementsAre(3, 4, 2, 3, 1, 2, 3, 0, 4));
    EXPECT_THAT(rows.input_names, ElementsAre("character"));
    EXPECT_THAT(rows.notes, ElementsAre("10 characters of 5 kinds: 3 sequences of 3, 0 left out"));

    json bytes = source;
    bytes["tokenizer"] = "bytes";
    bytes["context"] = 4;
    const SourceRows of_bytes = read(bytes);
    EXPECT_EQ(of_bytes.classes, 256);
    EXPECT_EQ(of_bytes.inputs.elements[0], 97.0);
    EXPECT_THAT(of_bytes.input_names, ElementsAre("byte"));
    EXPECT_THAT(of_bytes.notes, ElementsAre(HasSubstr("2 sequences of 4, 1 left out")));
    write("text", "\xff\xfe no text");
    EXPECT_EQ(read(bytes).inputs.elements[0], 255.0);
}

TEST_F(Source, ATextSaysWhichTokenizerItsIdsAreOf) {
    json source = text_of_tokens();
    EXPECT_EQ(read(source).tokenizer, tokenizer_hash(three_tokens()));
    for (const char* plain : {"characters", "bytes"}) {
        source["tokenizer"] = plain;
        EXPECT_FALSE(read(source).tokenizer) << plain;
    }
}

TEST_F(Source, ATextMayHaveMoreClassesThanItsTokenizerTokens) {
    json source = text_of_tokens();
    const auto classes = [&](std::int64_t vocabulary) {
        source["vocabulary"] = vocabulary;
        return read(source).classes;
    };
    EXPECT_EQ(classes(0), 3);
    EXPECT_EQ(classes(3), 3);
    EXPECT_EQ(classes(8), 8);
    EXPECT_THAT(read(source).notes, Contains(HasSubstr("tokens of 3 kinds")));
    source["vocabulary"] = 2;
    EXPECT_THAT(refusal<ConfigError>(source),
                HasSubstr("\"vocabulary\" is 2 (tokenizer.json has 3 tokens)"));
    source["tokenizer"] = "bytes";
    source["vocabulary"] = 300;
    EXPECT_THAT(refusal<ConfigError>(source), HasSubstr("source.vocabulary is 300 (the bytes of"));
    EXPECT_FALSE(source_defaults("text").contains("vocabulary"));
}

TEST_F(Source, TheLossIgnoresTokensOfATextByTheirLabels) {
    write("text", "abcab ab\nc");
    json source{{"type", "text"}, {"file", "text"}, {"context", 3}};
    // The index of "a" is 2, which is the label of no character here.
    for (const std::int64_t ignored : {97, 2}) {
        const SourceRows rows = read_source(source, "source", {folder_, 1, ignored});
        const double a = ignored == 97 ? -100 : 2;
        EXPECT_THAT(rows.targets.elements, ElementsAre(3, 4, a, 3, 1, a, 3, 0, 4)) << ignored;
        EXPECT_EQ(rows.ignored, -100);
        EXPECT_EQ(rows.classes, 5);
        EXPECT_EQ(rows.notes.size(), ignored == 97 ? 2U : 1U);
        if (ignored == 97) {
            EXPECT_THAT(rows.notes[0], testing::EndsWith("text are 97, which the loss leaves out"));
        }
    }
    source["tokenizer"] = "bytes";
    const SourceRows bytes = read_source(source, "source", {folder_, 1, 97});
    EXPECT_THAT(bytes.targets.elements, ElementsAre(98, 99, 97, 98, 32, 97, 98, 10, 99));
    EXPECT_FALSE(bytes.ignored);
    EXPECT_THAT(bytes.notes[0], testing::StartsWith("2 of 9 targets in "));
}

TEST_F(Source, ATextThatIsTooShortOrNoneIsRefused) {
    json source{{"type", "text"}, {"file", "text"}, {"context", 3}};
    for (const char* text : {"", "a", "abc"}) {
        write("text", text);
        EXPECT_THAT(refusal<InputError>(source), HasSubstr("use a longer text")) << text;
    }
    write("text", "abc\xff\xfe def");
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("byte 3 belongs to no character"));
    source["file"] = "none";
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("none"));
    source["file"] = "text";
    source["tokenizer"] = "none.json";
    EXPECT_THAT(refusal<InputError>(source), HasSubstr("none.json"));
}

TEST_F(Source, EveryTypeRefusesWhatItDoesNotKnow) {
    for (const std::string_view type : source_types()) {
        const json defaults(source_defaults(type));
        json unknown = defaults;
        unknown["rosw"] = 1;
        EXPECT_THAT(refusal<ConfigError>(unknown), HasSubstr("source.rosw is not a key")) << type;
        for (const auto& [key, value] : defaults.items()) {
            json bad = defaults;
            bad[key] = json::object();
            EXPECT_THAT(refusal<ConfigError>(bad), HasSubstr("source." + key)) << type;
        }
    }
    EXPECT_THAT(refusal<ConfigError>({{"type", "spiral"}}), HasSubstr("did you mean \"spirals\"?"));
}

TEST(Split, DividesTheRows) {
    SourceRows rows{Tensor(ValueType::real, Shape{10, 1}), Tensor(ValueType::real, Shape{10, 1}),
                    0};
    for (std::size_t i = 0; i < 10; ++i) rows.inputs.elements[i] = static_cast<double>(i);
    const auto split = [&](const Split& parts) {
        return make_data_set(rows, parts, MeanSquaredError{}, 3);
    };
    const DataSet plain = split({.train = 4, .validation = 0.25, .test = 3, .shuffle = false});
    EXPECT_THAT(plain.train.inputs.elements, ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(plain.validation.inputs.elements, ElementsAre(4, 5));
    EXPECT_THAT(plain.test.inputs.elements, ElementsAre(7, 8, 9));

    const DataSet shuffled = split({.validation = 0.2, .test = 1});
    std::vector<double> all = shuffled.train.inputs.elements;
    EXPECT_EQ(all.size(), 7U);
    for (const Samples* part : {&shuffled.validation, &shuffled.test})
        all.insert(all.end(), part->inputs.elements.begin(), part->inputs.elements.end());
    EXPECT_NE(all, rows.inputs.elements);
    std::ranges::sort(all);
    EXPECT_EQ(all, rows.inputs.elements);
    EXPECT_EQ(split({.validation = 0.2, .test = 1}).train.inputs, shuffled.train.inputs);

    EXPECT_THROW((void)split({.train = 8, .test = 3}), ConfigError);
    EXPECT_THROW((void)split({.test = 10}), ConfigError);
    EXPECT_THROW((void)split({.test = 1.5}), ConfigError);
    EXPECT_THAT([&] { (void)split({.validation = 0.05}); },
                testing::ThrowsMessage<ConfigError>(
                    HasSubstr("task.split.validation is 0.05 (of 10 rows that is none)")));
    EXPECT_THROW((void)split_from_json(json{{"tset", 1}}), ConfigError);
    EXPECT_EQ(split_from_json(json(to_json(Split{.train = 3, .shuffle = false}))),
              (Split{.train = 3, .shuffle = false}));
}

TEST(Split, FitsTheTargetsToTheLoss) {
    const SourceRows two = read_source({{"type", "xor"}}, "source", {});
    EXPECT_EQ(make_data_set(two, {}, BinaryCrossEntropy{}, 1).train.targets.shape, (Shape{4, 1}));
    EXPECT_EQ(make_data_set(two, {}, CrossEntropy{}, 1).outputs, 2);
    const SourceRows three = read_source({{"type", "blobs"}}, "source", {});
    EXPECT_THROW((void)make_data_set(three, {}, MeanSquaredError{}, 1), ConfigError);
    const SourceRows numbers = read_source({{"type", "sine"}}, "source", {});
    EXPECT_THROW((void)make_data_set(numbers, {}, CrossEntropy{}, 1), ConfigError);
}

}  // namespace
}  // namespace cambrian
