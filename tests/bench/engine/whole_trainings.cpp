#include "cambrian/tests/bench/engine/whole_trainings.hpp"

#include "cambrian/engine/core/random.hpp"

namespace cambrian {
namespace {

using nlohmann::json;

constexpr std::int64_t targets = 8;
constexpr std::int64_t batches = 8;

json dense(std::int64_t width) {
    return {{"type", "dense"}, {"out", width}, {"activation", "tanh"}};
}

/// Convolutions of kernel 3 with as many elements as before, then the head.
json convolutions(const char* type, const json& input, const std::vector<int>& channels) {
    json layers = json::array();
    for (const int count : channels)
        layers.push_back({{"type", type},
                          {"out_channels", count},
                          {"kernel", 3},
                          {"padding", 1},
                          {"activation", "relu"}});
    layers.push_back({{"type", "dense"}});
    return {{"input", input}, {"layers", layers}};
}

}  // namespace

Network WholeTraining::network() const {
    return Network(blueprint_from_json(layers, features, targets));
}

DataSet WholeTraining::data() const {
    const std::int64_t rows = batches * batch;
    DataSet data;
    data.train.inputs = Tensor(ValueType::real, Shape{rows, features});
    data.train.targets = Tensor(ValueType::real, Shape{rows, targets});
    RandomStream stream(random_key(1, "bench"), 0);
    for (Tensor* tensor : {&data.train.inputs, &data.train.targets})
        for (double& value : tensor->elements) value = static_cast<double>(stream.uniform());
    data.outputs = targets;
    return data;
}

TrainingSettings WholeTraining::settings() const {
    return {.epochs = 20, .batch = batch, .optimizer = Sgd{}, .learning_rates = {0.01}};
}

std::vector<WholeTraining> whole_trainings() {
    const json head{{"type", "dense"}};
    const json norm{{"type", "rms_norm"}};
    return {
        {"dense", {{"layers", {dense(512), dense(512), head}}}, 64, 128},
        {"deep", {{"layers", {dense(512), dense(512), dense(512), dense(512), head}}}, 64, 128},
        {"rms_norm", {{"layers", {dense(512), norm, dense(512), head}}}, 64, 128},
        {"conv1d", convolutions("conv1d", {3, 128}, {32, 64}), 32, 3 * 128},
        {"conv2d", convolutions("conv2d", {3, 32, 32}, {16, 32}), 16, 3 * 32 * 32},
        {"conv3d", convolutions("conv3d", {2, 8, 8, 8}, {8}), 8, 2 * 8 * 8 * 8},
    };
}

}  // namespace cambrian
