#include "cambrian/evolve/genome/preparation.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::HasSubstr;

Blueprint widths(std::int64_t inputs, std::int64_t outputs) {
    Blueprint blueprint;
    blueprint.input_features = inputs;
    blueprint.output_features = outputs;
    return blueprint;
}

Preparation sample() {
    return {.inputs = {{.column = "a", .scaling = {0.1, 3.0}},
                       {.column = "b, \"c\"\n", .scaling = {}, .factor = 1.0 / 255.0}},
            .outputs = {{.name = "y", .scaling = {-2.5, 1e-300}, .current = "a"}, {}, {}},
            .classes = {-3.0, 0.0, 9007199254740991.0},
            .sequence_rows = 7};
}

/// With all that the second format brought.
Preparation labelled() {
    Preparation preparation = sample();
    preparation.classes = {0, 1, 2};
    preparation.labels = {"Iris, \"setosa\"", "b\n", "\xff"};
    preparation.missing_values = MissingValues::median;
    preparation.inputs[0].fill = -0.25;
    preparation.inputs[1].fill = 1e-300;
    preparation.ahead = 3;
    return preparation;
}

TEST(Preparation, IsRefusedWhereNoFileCouldHoldIt) {
    Preparation preparation = plain_preparation(widths(1, 1));
    preparation.outputs[0].name.assign(longest_preparation, 'y');
    EXPECT_THAT(preparation_fault(preparation, widths(1, 1)), HasSubstr("67108864 are the most"));
    preparation.outputs[0].name.resize(longest_preparation / 2);
    EXPECT_EQ(preparation_fault(preparation, widths(1, 1)), "");
}

TEST(Preparation, ReadsBackAsItWasWritten) {
    for (const Preparation& preparation : {sample(), plain_preparation(widths(3, 2)), {}}) {
        EXPECT_EQ(decode_preparation(encode(preparation), "file"), preparation);
        const std::string text = to_json(preparation).dump();
        EXPECT_EQ(preparation_from_json(nlohmann::json::parse(text)), preparation);
    }
    Preparation preparation = labelled();
    EXPECT_EQ(decode_preparation(encode(preparation), "file"), preparation);
    preparation.labels[2] = "c";  // JSON is UTF-8.
    EXPECT_EQ(preparation_from_json(nlohmann::json::parse(to_json(preparation).dump())),
              preparation);
    Preparation shares = plain_preparation(widths(1, 2));
    const std::vector<std::byte> before = encode(shares);
    shares.logits = true;
    EXPECT_NE(encode(shares), before);
    EXPECT_EQ(decode_preparation(encode(shares), "file"), shares);
    EXPECT_EQ(preparation_from_json(nlohmann::json::parse(to_json(shares).dump())), shares);
    EXPECT_NE(other_meaning(shares, plain_preparation(widths(1, 2))), "");
    shares.classes = {0, 1};
    EXPECT_THAT(preparation_fault(shares, widths(1, 2)), HasSubstr("shares and classes"));
    for (const MissingValues missing : {MissingValues::drop, MissingValues::previous}) {
        Preparation other = sample();
        other.missing_values = missing;
        EXPECT_EQ(decode_preparation(encode(other), "file"), other);
    }
}

TEST(Preparation, SaysThatEachRowIsShownForSomeSteps) {
    Preparation shown = plain_preparation(widths(1, 2));
    shown.sequence_rows = 4;
    const Preparation sequences = shown;
    shown.shown = true;
    EXPECT_EQ(encode(sequences)[1], std::byte{2}) << "other files keep their bytes";
    EXPECT_EQ(encode(shown)[1], std::byte{4});
    for (const bool logits : {false, true}) {
        shown.logits = logits;
        EXPECT_EQ(decode_preparation(encode(shown), "file"), shown);
        EXPECT_EQ(preparation_from_json(nlohmann::json::parse(to_json(shown).dump())), shown);
    }
    EXPECT_FALSE(to_json(sequences).contains("shown"));
    EXPECT_EQ(shown.shown_steps(), 4);
    EXPECT_EQ(sequences.shown_steps(), 1);
    EXPECT_EQ(preparation_fault(shown, widths(1, 2)), "");
    shown.sequence_rows = 1;
    EXPECT_THAT(preparation_fault(shown, widths(1, 2)), HasSubstr("shown for no steps"));
}

TEST(Preparation, SaysWhichTokenizerItsIdsAreOf) {
    Preparation ids = plain_preparation(widths(1, 2));
    const std::vector<std::byte> before = encode(ids);
    EXPECT_EQ(before[1], std::byte{2}) << "other files keep their bytes";
    EXPECT_FALSE(to_json(ids).contains("tokenizer"));
    ids.tokenizer = Hash128{1, 0xfedcba9876543210U};
    EXPECT_EQ(encode(ids)[1], std::byte{4});
    for (const bool shown : {false, true})
        for (const bool logits : {false, true}) {
            ids.shown = shown;
            ids.logits = logits;
            EXPECT_EQ(decode_preparation(encode(ids), "file"), ids);
            EXPECT_EQ(preparation_from_json(nlohmann::json::parse(to_json(ids).dump())), ids);
        }
    EXPECT_EQ(to_json(ids).at("tokenizer"), "0000000000000001fedcba9876543210");
}

TEST(Preparation, FlagsThatAreNotKnownAreRefused) {
    Preparation shown = plain_preparation(widths(1, 2));
    shown.sequence_rows = 4;
    shown.shown = true;
    std::vector<std::byte> bytes = encode(shown);
    ASSERT_EQ(bytes.back(), std::byte{2});  // The flags end it.
    bytes.back() = std::byte{2 + 8};
    EXPECT_THAT(testing::message_of<InputError>([&] { (void)decode_preparation(bytes, "file"); }),
                HasSubstr("flags that are not known"));
}

TEST(Preparation, IdsOfOtherTokenizersMeanOtherData) {
    Preparation first = plain_preparation(widths(1, 2));
    Preparation other = first;
    first.tokenizer = Hash128{1, 2};
    EXPECT_EQ(other_meaning(first, other), "") << "a file of before does not say";
    EXPECT_EQ(other_meaning(other, first), "");
    other.tokenizer = Hash128{1, 3};
    EXPECT_EQ(other_meaning(first, other), "their tokenizers are others");
    other.tokenizer = first.tokenizer;
    EXPECT_EQ(other_meaning(first, other), "");
}

TEST(Preparation, RowsShownForOtherStepsMeanOtherData) {
    Preparation shown = plain_preparation(widths(1, 2));
    shown.sequence_rows = 4;
    Preparation other = shown;
    shown.shown = true;
    EXPECT_EQ(other_meaning(shown, other),
              "the one sees each row for some steps and the other takes rows for steps");
    EXPECT_EQ(other_meaning(other, shown), other_meaning(shown, other));
    other.sequence_rows = 5;
    other.shown = true;
    EXPECT_EQ(other_meaning(shown, other), "sequences have 4 steps of one row and 5");
    shown.shown = other.shown = false;
    EXPECT_EQ(other_meaning(shown, other), "sequences have 4 rows and 5");
}

TEST(Preparation, NamesOfOtherDataAreFitForATerminal) {
    const Preparation first = sample();
    Preparation other = first;
    other.inputs[1].column = "\x1b[31m\n" + std::string(1000, 'c');
    const std::string columns = other_meaning(first, other);
    EXPECT_THAT(columns, HasSubstr("input 1 is column \"b, \"c\"?\" of the one and \"?[31m?cc"));
    EXPECT_LT(columns.size(), 400U);
    EXPECT_EQ(other_meaning(other, first).find('\x1b'), std::string::npos);
    other = first;
    other.outputs[0].name = "\x1b\n";
    EXPECT_EQ(other_meaning(first, other), "output 0 is \"y\" of the one and \"??\" of the other");
    EXPECT_EQ(other_meaning(other, first), "output 0 is \"??\" of the one and \"y\" of the other");
}

TEST(Preparation, ForecastsOfOtherRowsMeanOtherData) {
    Preparation next = plain_preparation(widths(1, 2));
    Preparation later = next;
    next.ahead = 1;
    later.ahead = 5;
    EXPECT_EQ(other_meaning(next, later), "the one answers for t+1 and the other for t+5");
    EXPECT_EQ(other_meaning(next, next), "");
    next.ahead = 0;
    EXPECT_EQ(other_meaning(next, later), "the one answers for t+0 and the other for t+5");
    next.ahead.reset();  // Of a file of the first format it may be anything.
    EXPECT_EQ(other_meaning(next, later), "");
    EXPECT_EQ(other_meaning(later, next), "");
}

TEST(Preparation, OfTheFirstFormatDoesNotSayHowFarItForecasts) {
    Preparation first = sample();
    first.ahead.reset();
    EXPECT_EQ(encode(first)[1], std::byte{1});
    EXPECT_EQ(encode(sample())[1], std::byte{2});
    EXPECT_EQ(encode(labelled())[1], std::byte{2});
    EXPECT_EQ(decode_preparation(encode(first), "file"), first);
    nlohmann::json json = nlohmann::json::parse(to_json(first).dump());
    EXPECT_FALSE(json.contains("labels"));
    EXPECT_FALSE(json.contains("ahead"));
    EXPECT_EQ(preparation_from_json(json), first);
    EXPECT_EQ(preparation_fault(first, widths(2, 3)), "");
    EXPECT_EQ(first.answer_name(0), "y");
    // Who knew labels, fills or logits knew 0, and left it out.
    json["logits"] = true;
    EXPECT_EQ(preparation_from_json(json).ahead, 0);
    json.erase("logits");
    json["missing_values"] = "drop";
    EXPECT_EQ(preparation_from_json(json).ahead, 0);
}

TEST(Preparation, HasTheBitsOfTheTaskThatPrepared) {
    // x / 255 and x · (1 / 255) are not the same doubles for 5; each must stay what it was.
    const double factor = 1.0 / 255.0;
    const PreparedInput product{.column = "", .scaling = {}, .factor = factor};
    const PreparedInput quotient{.column = "", .scaling = {.shift = 0.0, .scale = 255.0}};
    bool differ = false;
    for (int x = 0; x < 256; ++x) {
        EXPECT_EQ(product.of(x), x * factor);
        EXPECT_EQ(quotient.of(x), x / 255.0);
        differ = differ || product.of(x) != quotient.of(x);
    }
    EXPECT_TRUE(differ);
}

TEST(Preparation, OfAnotherNetworkOrOfNoNumbersIsAFault) {
    const Blueprint blueprint = widths(2, 3);
    EXPECT_EQ(preparation_fault(sample(), blueprint), "");
    EXPECT_EQ(preparation_fault(plain_preparation(blueprint), blueprint), "");
    EXPECT_THAT(preparation_fault(sample(), widths(3, 3)),
                HasSubstr("has 2 inputs and 3 outputs, the network has 3 and 3"));
    EXPECT_THAT(preparation_fault(sample(), widths(2, 2)), HasSubstr("the network has 2 and 2"));
    const auto fault = [&](const std::function<void(Preparation&)>& spoil) {
        Preparation preparation = sample();
        spoil(preparation);
        return preparation_fault(preparation, blueprint);
    };
    constexpr double infinite = std::numeric_limits<double>::infinity();
    for (const double wrong : {0.0, infinite, std::nan("")}) {
        EXPECT_NE(fault([&](auto& p) { p.inputs[1].scaling.scale = wrong; }), "") << wrong;
        EXPECT_NE(fault([&](auto& p) { p.inputs[1].factor = wrong; }), "") << wrong;
        EXPECT_NE(fault([&](auto& p) { p.outputs[2].scaling.scale = wrong; }), "") << wrong;
    }
    EXPECT_NE(fault([&](auto& p) { p.inputs[0].scaling.shift = infinite; }), "");
    EXPECT_NE(fault([&](auto& p) { p.outputs[0].scaling.shift = std::nan(""); }), "");
    EXPECT_NE(fault([](auto& p) { p.inputs[1].column = "a"; }), "");
    EXPECT_NE(fault([](auto& p) { p.inputs[1].column = ""; }), "");
    EXPECT_NE(fault([](auto& p) { p.inputs[0].column = p.inputs[1].column = ""; }), "");
    EXPECT_NE(fault([](auto& p) { p.classes = {1, 2}; }), "");
    Preparation one = plain_preparation(widths(1, 1));
    one.classes = {0};
    EXPECT_EQ(preparation_fault(one, widths(1, 1)), "") << "of data with one class";
    EXPECT_NE(fault([](auto& p) { p.classes = {1, 1, 2}; }), "");
    EXPECT_NE(fault([](auto& p) { p.classes[2] = std::nan(""); }), "");
    EXPECT_NE(fault([](auto& p) { p.sequence_rows = -1; }), "");
    EXPECT_EQ(fault([](auto& p) { p = labelled(); }), "");
    const auto labels_fault = [&](const std::function<void(Preparation&)>& spoil) {
        return fault([&](auto& p) {
            p = labelled();
            spoil(p);
        });
    };
    EXPECT_NE(labels_fault([](auto& p) { p.labels.pop_back(); }), "");
    EXPECT_NE(labels_fault([](auto& p) { p.labels[1] = p.labels[0]; }), "");
    EXPECT_NE(labels_fault([](auto& p) { p.classes[2] = 4; }), "");
    EXPECT_NE(labels_fault([](auto& p) { p.inputs[1].fill.reset(); }), "");
    EXPECT_NE(labels_fault([&](auto& p) { p.inputs[1].fill = infinite; }), "");
    EXPECT_NE(labels_fault([](auto& p) { p.missing_values = MissingValues::drop; }), "");
    EXPECT_NE(labels_fault([](auto& p) { p.ahead = -1; }), "");
}

/// Whatever is cut off, added or changed.
void expect_input_errors(const std::vector<std::byte>& good) {
    for (std::size_t length = 0; length < good.size(); ++length)
        EXPECT_THROW((void)decode_preparation(std::span(good).first(length), "file"), InputError)
            << length;
    std::vector<std::byte> longer = good;
    longer.push_back(std::byte{0});
    EXPECT_THROW((void)decode_preparation(longer, "file"), InputError);
    // After the archive's first byte and the format: the number of inputs.
    for (std::size_t byte = 5; byte < 13; ++byte) {
        std::vector<std::byte> huge = good;
        huge[byte] = std::byte{0xff};
        EXPECT_THROW((void)decode_preparation(huge, "file"), InputError) << byte;
    }
    std::vector<std::byte> newer = good;
    newer[1] = std::byte{5};
    EXPECT_THAT(testing::message_of<InputError>([&] { (void)decode_preparation(newer, "file"); }),
                HasSubstr("format 5"));
    // Whatever else is changed is an error or another preparation, never a crash.
    std::mt19937 draw(5);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::byte> bytes = good;
        bytes[draw() % bytes.size()] = static_cast<std::byte>(draw());
        try {
            const Preparation other = decode_preparation(bytes, "file");
            (void)preparation_fault(other, widths(2, 3));
        } catch (const InputError&) {
        }
    }
}

TEST(Preparation, DamagedBytesAreInputErrors) {
    Preparation first = sample();
    first.ahead.reset();
    expect_input_errors(encode(first));
    expect_input_errors(encode(sample()));
    expect_input_errors(encode(labelled()));
    Preparation shown = labelled();
    shown.shown = true;
    expect_input_errors(encode(shown));
    shown.tokenizer = Hash128{3, 4};
    expect_input_errors(encode(shown));
}

TEST(Preparation, OddJsonIsRefused) {
    const nlohmann::json good = nlohmann::json::parse(to_json(sample()).dump());
    for (const auto& [pointer, value] : std::vector<std::pair<std::string, nlohmann::json>>{
             {"/inputs", 3},
             {"/inputs", {{"a", 1}}},
             {"/inputs/0/shift", nullptr},
             {"/inputs/0/scale", true},
             {"/inputs/1/factor", "1"},
             {"/inputs/0/column", 1},
             {"/outputs/0", nlohmann::json::array()},
             {"/outputs/0/current", nullptr},
             {"/classes", {1, "2"}},
             {"/sequence_rows", -1},
             {"/sequence_rows", 1.5},
             {"/shown", 1},
             {"/tokenizer", 1},
             {"/tokenizer", "0000000000000001fedcba987654321"},
             {"/tokenizer", "0000000000000001fedcba987654321g"},
             {"/ahead", -1},
             {"/ahead", nullptr}}) {
        nlohmann::json bad = good;
        bad[nlohmann::json::json_pointer(pointer)] = value;
        EXPECT_ANY_THROW((void)preparation_from_json(bad)) << pointer << ' ' << value;
    }
    nlohmann::json huge = good;
    huge["sequence_rows"] = UINT64_MAX;
    EXPECT_NE(preparation_fault(preparation_from_json(huge), widths(2, 3)), "");
}

TEST(Preparation, ClassesAreSaidWhereTheyAreNotTheirIndices) {
    const auto text = [](const std::vector<double>& classes, std::size_t outputs) {
        return classes_text(class_names(classes, {}), outputs);
    };
    EXPECT_EQ(text({0, 1, 2}, 3), "");
    EXPECT_EQ(text({}, 1), "");
    EXPECT_EQ(text({1, 2, 3}, 3), "classes 1, 2, 3 are outputs 0 to 2");
    EXPECT_EQ(text({-1, 1}, 1), "classes -1, 1 are targets 0 and 1");
    const std::vector<std::string> labels{"cat", "d\to\tg"};
    EXPECT_EQ(classes_text(class_names({}, labels), 2), "classes cat, d?o?g are outputs 0 to 1");
    std::vector<double> many;
    for (int i = 0; i < 99; ++i) many.push_back(10 * i);
    EXPECT_EQ(text(many, 99),
              "classes 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, .., 980 are outputs 0 to 98");
}

TEST(Preparation, ForecastsAreNamedByWhatTheyTellOf) {
    Preparation preparation = sample();
    EXPECT_EQ(preparation.answer_name(0), "y");
    preparation.ahead = 12;
    EXPECT_EQ(preparation.answer_name(0), "y(t+12)");
    EXPECT_EQ(preparation.answer_name(1), "output_1(t+12)");
}

}  // namespace
}  // namespace cambrian::evolve
