#include "cambrian/engine/core/json/field_json.hpp"

#include <gmock/gmock.h>

#include <array>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/json/kinds.hpp"

namespace cambrian {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using testing::HasSubstr;

enum class Colour : std::uint8_t { red, green };
constexpr std::array<std::string_view, 2> colour_names{"red", "green"};
constexpr std::span<const std::string_view> choice_names(Colour) {
    return colour_names;
}

struct Inner {
    double share = 0.25;
    bool operator==(const Inner&) const = default;

    static constexpr auto fields = FieldTable{
        Field{"share", &Inner::share, below_one, "A share."},
    };
};

struct Rate {
    float rate = 0.5F;
    bool operator==(const Rate&) const = default;

    static constexpr auto fields = FieldTable{Field{"rate", &Rate::rate, below_one, "A rate."}};
};

struct Outer {
    std::int64_t count = 3;
    std::uint64_t seed = 7;
    float rate = 0.1F;
    bool on = true;
    std::string text = "a";
    Colour colour = Colour::green;
    std::vector<Colour> colours{Colour::red};
    std::vector<bool> flags{true, false};
    Inner inner{};
    bool operator==(const Outer&) const = default;

    static constexpr auto fields = FieldTable{
        Field{"count", &Outer::count, FieldRange{1.0, 9.0}, "How many."},
        Field{"seed", &Outer::seed},
        Field{"rate", &Outer::rate},
        Field{"on", &Outer::on},
        Field{"text", &Outer::text},
        Field{"colour", &Outer::colour},
        Field{"colours", &Outer::colours},
        Field{"flags", &Outer::flags},
        Field{"inner", &Outer::inner},
    };
};

template <class Settings = Outer>
std::string refusal(const json& source) {
    try {
        Settings settings;
        field_json::read_fields(settings, source, "path");
    } catch (const ConfigError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(FieldJson, WritesAndReadsEveryField) {
    ordered_json written;
    field_json::write_fields(written, Outer{});
    EXPECT_EQ(written.dump(),
              R"({"count":3,"seed":7,"rate":0.1,"on":true,"text":"a","colour":"green",)"
              R"("colours":["red"],"flags":[true,false],"inner":{"share":0.25}})");
    const Outer other{9, 1, 0.5F, false, "b", Colour::red, {Colour::green}, {false}, {0.5}};
    ordered_json changed;
    field_json::write_fields(changed, other);
    Outer read;
    field_json::read_fields(read, json(changed), "path");
    EXPECT_EQ(read, other);
}

TEST(FieldJson, LeavesWhatAnObjectDoesNotHold) {
    Outer settings;
    field_json::read_fields(settings, json{{"inner", json::object()}}, "path");
    EXPECT_EQ(settings, Outer{});
}

TEST(FieldJson, RefusesOtherKeysTypesAndRanges) {
    EXPECT_THAT(refusal({{"cuont", 3}}), HasSubstr("did you mean \"count\"?"));
    EXPECT_THAT(refusal({{"count", 0}}), HasSubstr("path.count is 0 (a whole number from 1 to 9"));
    EXPECT_THAT(refusal({{"seed", -1}}), HasSubstr("path.seed is -1"));
    EXPECT_THAT(refusal({{"colour", "gren"}}), HasSubstr("did you mean \"green\"?"));
    EXPECT_THAT(refusal({{"colours", {"red", 3}}}), HasSubstr("path.colours[1] is 3"));
    EXPECT_THAT(refusal({{"inner", {{"share", 1}}}}),
                HasSubstr("path.inner.share is 1 (a number of at least 0 and below 1"));
}

TEST(FieldJson, RefusesNumbersThatAFloatCannotTellFromZero) {
    EXPECT_THAT(refusal({{"rate", 1e-60}}), ::testing::HasSubstr("tell from 0"));
    EXPECT_THAT(refusal<Rate>({{"rate", 1e-60}}), ::testing::HasSubstr("tell from 0"));
    EXPECT_THAT(refusal({{"rate", 1e39}}), ::testing::HasSubstr("32-bit float can hold"));
    for (const double rate : {0.0, -0.0, 1e-45, 3e38})
        EXPECT_EQ(refusal({{"rate", rate}}), "accepted") << rate;
}

TEST(FieldJson, DescribesFieldsForASchema) {
    ordered_json properties;
    field_json::describe_fields<Outer>(properties);
    EXPECT_EQ(properties["count"], ordered_json::parse(R"({"type": "integer", "minimum": 1,
        "maximum": 9, "default": 3, "description": "How many.", "x-class": "identity"})"));
    EXPECT_EQ(properties["inner"]["properties"]["share"],
              ordered_json::parse(R"({"type": "number", "minimum": 0.0, "exclusiveMaximum": 1.0,
        "default": 0.25, "description": "A share.", "x-class": "identity"})"));
    EXPECT_EQ(properties["colours"]["items"]["enum"], ordered_json::parse(R"(["red", "green"])"));
    ordered_json schema{{"properties", properties}};
    field_json::require(schema, "text");
    EXPECT_FALSE(schema["properties"]["text"].contains("default"));
    EXPECT_EQ(schema["required"], ordered_json::parse(R"(["text"])"));
}

TEST(FieldJson, ReadsOneOfSeveralKinds) {
    using Either = std::variant<Inner, Outer>;
    const std::vector<field_json::Kind<Either>> kinds{{"inner", Inner{0.75}, "The small one."},
                                                      {"outer", Outer{}, "The large one."}};
    const auto read = [&](const json& source) {
        return field_json::read_kind(source, "path", kinds);
    };
    EXPECT_EQ(read({{"type", "inner"}}), Either(Inner{0.75}));
    EXPECT_EQ(std::get<Outer>(read({{"type", "outer"}, {"count", 4}})).count, 4);
    EXPECT_THROW((void)read({{"type", "iner"}}), ConfigError);
    EXPECT_THROW((void)read({{"count", 4}}), ConfigError);
    ordered_json variants;
    field_json::describe_kinds(variants, kinds);
    EXPECT_EQ(variants["inner"]["properties"]["share"]["default"], 0.75);
    EXPECT_EQ(variants["outer"]["description"], "The large one.");
}

}  // namespace
}  // namespace cambrian
