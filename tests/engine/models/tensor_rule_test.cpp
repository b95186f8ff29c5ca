#include "cambrian/engine/models/tensor_rule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::models {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// A dense layer [2, 3] with a bias, and a head [1, 2] without one.
Network two_layers() {
    return Network(blueprint_from_json(nlohmann::json::parse(
        R"({"input": [3], "layers": [{"type": "dense", "out": 2}, {"type": "dense", "out": 1, "bias": false}]})")));
}

class TensorRules : public testing::Test {
  protected:
    [[nodiscard]] TensorFiles files(
        const std::map<std::string, std::pair<Shape, std::vector<double>>>& tensors) const {
        Safetensors content;
        for (const auto& [name, tensor] : tensors)
            content.tensors.emplace(
                name, StoredTensor::of(Tensor(ValueType::real, tensor.first, tensor.second)));
        write_safetensors(folder_ / "x.safetensors", content);
        return TensorFiles(folder_ / "x.safetensors");
    }

    test::TemporaryDirectory directory_;
    fs::path folder_ = directory_.path();
    Network network_ = two_layers();
    NamedRanges ranges_{network_};
    ModelPlan plan_{.blueprint = {},
                    .rules = {{"w", {"slot.0.weight"}, Form::transposed},
                              {"b1", {"slot.0.bias"}},
                              {"b2", {"slot.0.bias"}, Form::added},
                              {"", {"head.weight"}}},
                    .buffers = {"h.#.mask"},
                    .copies = {},
                    .notes = {}};
};

TEST_F(TensorRules, TransposeAddAndLeaveZeros) {
    const std::vector<float> weights = read_weights(plan_, network_,
                                                    files({{"w", {{3, 2}, {1, 2, 3, 4, 5, 6}}},
                                                           {"b1", {{2}, {10, 20}}},
                                                           {"b2", {{2}, {1, 2}}},
                                                           {"h.12.mask", {{1}, {7}}}}));
    EXPECT_THAT(weights, ElementsAre(1, 3, 5, 2, 4, 6, 11, 22, 0, 0));

    // Back: the sum is the first of the two, and what they have no tensor for must be zero.
    const std::vector<PlannedTensor> planned = planned_tensors(plan_, ranges_);
    ASSERT_EQ(planned.size(), 3U);
    const auto written = [&](std::size_t i) {
        return write_tensor(planned[i], ranges_, weights, StoredType::f32).tensor().elements;
    };
    EXPECT_THAT(written(0), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_THAT(written(1), ElementsAre(11, 22));
    EXPECT_THAT(written(2), ElementsAre(0, 0));
    check_zeros(plan_, ranges_, weights);
    std::vector<float> others = weights;
    others.back() = 1;
    EXPECT_THAT([&] { check_zeros(plan_, ranges_, others); },
                ThrowsMessage<ConfigError>(HasSubstr("head.weight cannot be written")));
}

TEST_F(TensorRules, JoinParametersAlongTheirFirstAxis) {
    plan_.rules = {{"all", {"slot.0.bias", "slot.0.bias"}}, {"w", {"slot.0.weight"}}};
    const std::vector<PlannedTensor> planned = planned_tensors(plan_, ranges_);
    EXPECT_EQ(planned[0].shape, Shape({4}));
    EXPECT_EQ(planned[1].shape, Shape({2, 3}));
}

TEST_F(TensorRules, CopiesMustBeEqual) {
    plan_.rules = {{"t", {"slot.0.bias"}}, {"t", {"head.weight"}}};
    const Network square(blueprint_from_json(nlohmann::json::parse(
        R"({"input": [2], "layers": [{"type": "dense", "out": 2, "bias": false}, {"type": "dense", "out": 2, "bias": false}]})")));
    plan_.rules = {{"t", {"slot.0.weight"}}, {"t", {"head.weight"}}};
    const NamedRanges ranges(square);
    const std::vector<PlannedTensor> planned = planned_tensors(plan_, ranges);
    ASSERT_EQ(planned.size(), 1U);
    const std::vector<float> equal{1, 2, 3, 4, 1, 2, 3, 4};
    EXPECT_THAT(write_tensor(planned[0], ranges, equal, StoredType::f32).tensor().elements,
                ElementsAre(1, 2, 3, 4));
    const std::vector<float> other{1, 2, 3, 4, 1, 2, 3, 5};
    EXPECT_THAT(
        [&] { static_cast<void>(write_tensor(planned[0], ranges, other, StoredType::f32)); },
        ThrowsMessage<ConfigError>(HasSubstr("cannot both be the tensor \"t\"")));
}

TEST_F(TensorRules, EveryTensorIsAccountedFor) {
    const auto error = [&](const TensorFiles& given) {
        try {
            static_cast<void>(read_weights(plan_, network_, given));
        } catch (const InputError& caught) {
            return std::string(caught.what());
        }
        return std::string("no error");
    };
    const std::pair<Shape, std::vector<double>> w{{3, 2}, {1, 2, 3, 4, 5, 6}};
    const std::pair<Shape, std::vector<double>> b{{2}, {1, 2}};
    EXPECT_THAT(error(files({{"w", w}, {"b1", b}, {"x", b}, {"h.mask", b}})),
                HasSubstr("(missing: \"b2\"; left over: \"h.mask\", \"x\")"));
    EXPECT_THAT(error(files({{"w", {{2, 3}, w.second}}, {"b1", b}, {"b2", b}})),
                HasSubstr("tensor \"w\" is [2, 3] (the network needs [3, 2])"));
}

TEST(Pattern, TakesNumbersForItsSigns) {
    EXPECT_TRUE(fits_pattern("h.12.attn.bias", "h.#.attn.bias"));
    EXPECT_TRUE(fits_pattern("a", "a"));
    for (const char* name : {"h..attn.bias", "h.x.attn.bias", "h.1.attn.biases", "h.1.attn", ""})
        EXPECT_FALSE(fits_pattern(name, "h.#.attn.bias")) << name;
}

}  // namespace
}  // namespace cambrian::models
