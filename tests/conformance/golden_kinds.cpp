#include "cambrian/tests/conformance/golden_kinds.hpp"

#include <algorithm>
#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/layers/layer_json.hpp"
#include "cambrian/engine/layers/support/width.hpp"
#include "cambrian/engine/train/optimizer.hpp"

namespace cambrian::test {

namespace {

using nlohmann::json;

[[noreturn]] void unknown(std::string_view what, std::string_view name) {
    throw InputError("a golden case has the " + std::string(what) + " \"" + std::string(name) +
                     "\" (this test does not know it) teach it");
}

/// The row of a layer's input: as few last axes as the layer takes. A batch norm takes all axes
/// after the batch, a layer with a state leaves an axis of time.
Shape row_of(AnyLayer& layer, const Shape& input) {
    const bool all = layer.type() == BatchNorm::name;
    for (int axes = all ? input.rank() - 1 : 1;; ++axes) {
        const Shape row(input.extents().last(static_cast<std::size_t>(axes)));
        try {
            AnyLayer resolved = layer;
            resolved.resolve(row);
            layer = resolved;
            return row;
        } catch (const ShapeError&) {
            if (axes == input.rank() - 1) throw;
        }
    }
}

void layer_case(GoldenReader& reader, const json& entry) {
    only_keys(entry, {"name", "kind", "layer", "tolerance"});
    const Var x = reader.input("input");
    json described = entry.at("layer");
    // A case has no window: each position sees all before it, however long the input is.
    if (described.at("type") == MultiHeadAttention::name && described.value("causal", true))
        described["window"] = x.shape()[-2];
    AnyLayer layer = layer_from_json(described, "layer");
    const Shape row = row_of(layer, x.shape());
    std::vector<std::pair<std::string, Var>> wanted;
    if (x.info().type == ValueType::real) wanted.emplace_back("input", x);
    std::vector<Var> parameters;
    for (const ParameterSpec& spec : layer.parameters()) {
        const std::string name = "param." + spec.name;
        parameters.push_back(reader.input(name));
        if (parameters.back().shape() != spec.shape)
            throw ShapeError(name + " is " + parameters.back().shape().text() +
                             " in the file (the "
                             "layer takes " +
                             spec.shape.text() + ") mend one of them");
        if (!spec.buffer) wanted.emplace_back(name, parameters.back());
    }
    std::vector<Var> codes;
    for (const Activation activation : std::as_const(layer).activations())
        codes.push_back(
            constant(reader.graph(), static_cast<double>(activation), ValueType::integer));
    const LayerOperands operands{.parameters = parameters, .activations = codes, .row = row};
    const Var output = layer.sequence(x, operands);
    reader.output(output, "output");
    reader.gradients(output, wanted);
}

SelectiveScanOperands scan_operands(GoldenReader& reader) {
    const auto operand = [&](const char* name) {
        return reader.input("operand." + std::string(name));
    };
    SelectiveScanOperands result{.u = reader.input("input"),
                                 .raw_delta = operand("raw_delta"),
                                 .log_decay = operand("a_log"),
                                 .b = operand("b"),
                                 .c = operand("c"),
                                 .skip = operand("skip"),
                                 .state = {}};
    if (reader.has("operand.state")) {
        result.state = operand("state");
        return result;
    }
    const Shape& decay = result.log_decay.shape();
    const std::int64_t batch = result.u.shape()[0];
    result.state = broadcast(constant(reader.graph(), 0.0), {batch, decay[0], decay[1]});
    return result;
}

void selective_scan_case(GoldenReader& reader, const json& attributes) {
    only_keys(attributes, {"discretization"});
    const std::string how = attributes.at("discretization");
    if (how != "zoh" && how != "euler") unknown("discretization", how);
    const SelectiveScanOperands operands = scan_operands(reader);
    const SelectiveScan scanned = selective_scan(
        operands, how == "zoh" ? Discretization::zero_order_hold : Discretization::euler);
    reader.output(scanned.y, "output");
    std::vector<std::pair<std::string, Var>> wanted{{"input", operands.u},
                                                    {"operand.raw_delta", operands.raw_delta},
                                                    {"operand.a_log", operands.log_decay},
                                                    {"operand.b", operands.b},
                                                    {"operand.c", operands.c},
                                                    {"operand.skip", operands.skip}};
    if (reader.has("operand.state")) wanted.emplace_back("operand.state", operands.state);
    reader.gradients(scanned.y, wanted);
}

void op_case(GoldenReader& reader, const json& entry) {
    only_keys(entry, {"name", "kind", "op", "attributes", "tolerance"});
    const std::string op = entry.at("op");
    if (op != "selective_scan") unknown("op", op);
    selective_scan_case(reader, entry.at("attributes"));
}

Var loss_of(Var prediction, Var target, const json& loss) {
    const std::string type = loss.at("type");
    only_keys(loss, {"type", type == "huber" ? "delta" : "type",
                     type == "cross_entropy" ? "ignore_index" : "type"});
    if (type == "mse") return mse(prediction, target);
    if (type == "mae") return mae(prediction, target);
    if (type == "huber") return huber(prediction, target, loss.value("delta", 1.0));
    if (type == "bce_with_logits") return bce_with_logits(prediction, target);
    if (type != "cross_entropy") unknown("loss", type);
    LossOptions options;
    if (loss.contains("ignore_index")) options.ignored = loss["ignore_index"].get<std::int32_t>();
    return cross_entropy(prediction, target, options);
}

void loss_case(GoldenReader& reader, const json& entry) {
    only_keys(entry, {"name", "kind", "loss", "tolerance"});
    const Var prediction = reader.input("prediction");
    const Var loss = loss_of(prediction, reader.input("target"), entry.at("loss"));
    reader.output(loss, "loss");
    reader.gradients(loss, {{"prediction", prediction}});
}

Optimizer optimizer_of(const json& source) {
    const std::string type = source.at("type");
    const double decay = source.value("weight_decay", 0.0);
    if (type == "sgd") {
        only_keys(source,
                  {"type", "learning_rate", "clip_norm", "weight_decay", "momentum", "nesterov"});
        return Sgd{source.value("momentum", 0.0), source.value("nesterov", false), decay};
    }
    if (type == "rmsprop") {
        only_keys(source,
                  {"type", "learning_rate", "clip_norm", "weight_decay", "alpha", "epsilon"});
        return RmsProp{source.value("alpha", 0.99), source.value("epsilon", 1e-8), decay};
    }
    if (type != "adam" && type != "adamw") unknown("optimizer", type);
    only_keys(source,
              {"type", "learning_rate", "clip_norm", "weight_decay", "beta1", "beta2", "epsilon"});
    return Adam{.beta1 = source.value("beta1", 0.9),
                .beta2 = source.value("beta2", 0.999),
                .epsilon = source.value("epsilon", 1e-8),
                .weight_decay = decay,
                .decoupled = type == "adamw"};
}

void optimizer_case(GoldenReader& reader, const json& entry) {
    only_keys(entry, {"name", "kind", "optimizer", "tolerance"});
    const json& source = entry.at("optimizer");
    const Optimizer optimizer = optimizer_of(source);
    Graph& graph = reader.graph();
    const Var rate = constant(graph, source.at("learning_rate"));
    UpdatedParameter parameter{.value = reader.input("initial"), .moments = {}};
    const Shape shape = parameter.value.shape();
    const Var gradients = reader.input("gradients");
    for (std::size_t i = 0; i < moment_count(optimizer); ++i)
        parameter.moments.push_back(broadcast(constant(graph, 0.0), shape));
    std::vector<Var> trajectory;
    for (std::int64_t step = 0; step < gradients.shape()[0]; ++step) {
        Var gradient = reshape(slice(gradients, 0, step, 1), shape);
        if (source.contains("clip_norm"))
            gradient =
                clip_norm(std::array{gradient}, source["clip_norm"].get<double>()).gradients[0];
        const StepScalars scalars{rate, constant(graph, static_cast<double>(step + 1))};
        parameter = update(optimizer, scalars, parameter.value, gradient, parameter.moments);
        trajectory.push_back(parameter.value);
    }
    reader.output(stack(trajectory), "trajectory");
}

constexpr std::array kinds{
    GoldenKind{"layer", layer_case},
    GoldenKind{"op", op_case},
    GoldenKind{"loss", loss_case},
    GoldenKind{"optimizer", optimizer_case},
};

}  // namespace

Tensor GoldenReader::tensor(const std::string& name) {
    read_.insert(name);
    return file_.at(name).tensor();
}

Var GoldenReader::input(const std::string& name) {
    case_.inputs.push_back(tensor(name));
    const Tensor& value = case_.inputs.back();
    return case_.graph.input(name, value.type, value.shape);
}

void GoldenReader::output(Var value, const std::string& name) {
    case_.expected.push_back(tensor(name));
    case_.output_names.push_back(name);
    case_.graph.output(value);
}

void GoldenReader::gradients(Var value, const std::vector<std::pair<std::string, Var>>& inputs) {
    const Var weights = has("upstream")
                            ? shaped(case_.graph.constant(tensor("upstream")), value.shape())
                            : constant(case_.graph, 1.0);
    std::vector<Var> with_respect_to;
    for (const auto& [name, input] : inputs) with_respect_to.push_back(input);
    const std::vector<Var> found = gradient(value, weights, with_respect_to);
    for (std::size_t i = 0; i < found.size(); ++i) output(found[i], "grad." + inputs[i].first);
}

GoldenCase GoldenReader::finish(const std::string& name, double tolerance) {
    for (const auto& [tensor_name, stored] : file_.tensors)
        if (!read_.contains(tensor_name)) unknown("tensor", tensor_name);
    case_.name = name;
    case_.tolerance = tolerance;
    return std::move(case_);
}

const GoldenKind& golden_kind(std::string_view name) {
    const auto* const found = std::ranges::find(kinds, name, &GoldenKind::name);
    if (found == kinds.end()) unknown("kind", name);
    return *found;
}

void only_keys(const json& object, std::initializer_list<std::string_view> keys) {
    for (const auto& [key, value] : object.items())
        if (std::ranges::find(keys, key) == keys.end()) unknown("key", key);
}

}  // namespace cambrian::test
