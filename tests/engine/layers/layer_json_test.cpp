#include "cambrian/engine/layers/layer_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::layer_json_test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

AnyLayer read(const std::string& text) {
    return layer_from_json(nlohmann::json::parse(text), "network.layers[2]");
}

void refuses(const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* part : parts)
        EXPECT_THAT([&text] { static_cast<void>(read(text)); },
                    ThrowsMessage<ConfigError>(HasSubstr(part)))
            << text;
}

TEST(LayerJson, HoldsEveryFieldInOrder) {
    EXPECT_EQ(to_json(Dense{.in = 4, .out = 2, .activation = Activation::silu}).dump(),
              R"({"type":"dense","in":4,"out":2,"bias":true,"activation":"silu"})");
    EXPECT_EQ(to_json(RmsNorm{.features = 4}).dump(),
              R"({"type":"rms_norm","features":4,"epsilon":1e-06})");
}

TEST(LayerJson, FieldsLeftOutKeepTheirDefaults) {
    EXPECT_EQ(read(R"({"type": "dense", "out": 3})"), AnyLayer(Dense{.out = 3}));
    EXPECT_EQ(read(R"({"type": "layer_norm"})"), AnyLayer(LayerNorm{}));
}

TEST(LayerJson, RefusesUnknownNames) {
    refuses(R"({"type": "dence"})",
            {"network.layers[2].type", "dense, rms_norm", "did you mean \"dense\"?"});
    refuses(R"({"type": "zebra"})", {"use one of these"});
    refuses(R"({"type": "dense", "biass": true})",
            {"network.layers[2].biass", "type, init, init_scale, decay, in, out, bias, activation",
             "\"bias\""});
    refuses(R"({"type": "dense", "activation": "tahn"})",
            {"network.layers[2].activation", "linear, relu", "did you mean \"tanh\"?"});
    refuses(R"({"type": "softmax", "variant": "sparsest"})", {"network.layers[2]", "\"standard\""});
}

TEST(LayerJson, RefusesWrongTypesAndRanges) {
    refuses(R"(7)", {"network.layers[2]", "is not a layer"});
    refuses(R"({"in": 7})", {"network.layers[2]", "\"type\""});
    refuses(R"({"type": 7})", {"network.layers[2].type", "is 7", "a text"});
    refuses(R"({"type": "dense", "out": "3"})", {"network.layers[2].out", "\"3\"", "whole number"});
    refuses(R"({"type": "dense", "out": 3.0})", {"network.layers[2].out", "is 3.0"});
    refuses(R"({"type": "dense", "out": -1})", {"is -1", "0 to 16777216"});
    refuses(R"({"type": "dense", "out": 18446744073709551615})", {"is 18446744073709551615"});
    refuses(R"({"type": "dense", "bias": 1})", {"network.layers[2].bias", "true or false"});
    refuses(R"({"type": "rms_norm", "epsilon": 0})", {"network.layers[2]", "epsilon"});
    refuses(R"({"type": "rms_norm", "epsilon": 1e60})", {"network.layers[2].epsilon", "32-bit"});
    refuses(R"({"type": "residual", "layers": {}})", {"network.layers[2].layers", "a list"});
    refuses(R"({"type": "residual", "layers": [{"type": "dense", "outt": 1}]})",
            {"network.layers[2].layers[0].outt"});
}

TEST(LayerJson, RefusesDeepNesting) {
    const auto nested = [](int containers) {
        std::string text = R"({"type": "dense", "out": 2})";
        for (int i = 0; i < containers; ++i)
            text = R"({"type": "sequential", "layers": [)" + text + "]}";
        return text;
    };
    EXPECT_EQ(read(nested(15)).type(), "sequential");
    refuses(nested(16), {"nested too deeply", "16"});
}

}  // namespace
}  // namespace cambrian::layer_json_test
