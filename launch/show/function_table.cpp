#include "cambrian/launch/show/function_table.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/graph_errors.hpp"
#include "cambrian/engine/train/optimizer.hpp"

namespace cambrian::launch {
namespace {

constexpr std::string_view ours = "this project";
constexpr std::string_view numpy = "NumPy";
constexpr std::string_view pytorch = "PyTorch";

Var real(Graph& graph, std::string_view name, const Shape& shape) {
    return graph.input(name, ValueType::real, shape);
}
Var integer(Graph& graph, std::string_view name, const Shape& shape) {
    return graph.input(name, ValueType::integer, shape);
}
Var boolean(Graph& graph, std::string_view name, const Shape& shape) {
    return graph.input(name, ValueType::boolean, shape);
}
Var rows(Graph& graph) {
    return real(graph, "x", {2, 4});
}
Var key(Graph& graph) {
    return integer(graph, "key", {2});
}

/// A function of one tensor.
template <Var (*function)(Var, Where)>
void of_rows(Graph& graph) {
    graph.output(function(rows(graph), Where::current()));
}
/// A function of two tensors of one shape.
template <Var (*function)(Var, Var, Where)>
void of_two(Graph& graph) {
    const Var a = real(graph, "a", {2, 4});
    graph.output(function(a, real(graph, "b", {2, 4}), Where::current()));
}
template <Var (*function)(Var, Var, Where)>
void of_prediction(Graph& graph) {
    const Var prediction = real(graph, "prediction", {2, 4});
    graph.output(function(prediction, real(graph, "target", {2, 4}), Where::current()));
}

void optimizer_step(Graph& graph, const Optimizer& optimizer) {
    const Var rate = real(graph, "learning_rate", Shape{});
    const Var step = real(graph, "step", Shape{});
    const Var value = real(graph, "value", {4});
    const Var gradient = real(graph, "gradient", {4});
    std::vector<Var> moments;
    for (std::size_t i = 0; i < moment_count(optimizer); ++i)
        moments.push_back(real(graph, "moment", {4}));
    const UpdatedParameter next = update(optimizer, {rate, step}, value, gradient, moments);
    graph.output(next.value);
    for (const Var moment : next.moments) graph.output(moment);
}

void batch_norm_example(Graph& graph, bool training) {
    constexpr std::array axes{0, 2, 3};
    const Var x = real(graph, "x", {2, 3, 4, 4});
    const Var gain = real(graph, "gain", {3});
    const Var bias = real(graph, "bias", {3});
    const Var mean = real(graph, "mean", {3});
    const Statistics running{mean, real(graph, "variance", {3})};
    if (!training) {
        graph.output(batch_norm(x, gain, bias, running, axes));
        return;
    }
    const TrainedBatchNorm trained = batch_norm_training(x, gain, bias, running, axes);
    for (const Var value : {trained.output, trained.running.mean, trained.running.variance})
        graph.output(value);
}

constexpr std::array functions{
    FunctionRow{"ceil", "the smallest integer not below x", numpy, of_rows<ceil>},
    FunctionRow{"clamp", "x limited to [low, high]", numpy,
                [](Graph& graph) { graph.output(clamp(rows(graph), -1.0, 1.0)); }},
    FunctionRow{"less_equal", "a <= b", numpy, of_two<less_equal>},
    FunctionRow{"greater", "a > b", numpy, of_two<greater>},
    FunctionRow{"greater_equal", "a >= b", numpy, of_two<greater_equal>},
    FunctionRow{"not_equal", "a != b", numpy, of_two<not_equal>},
    FunctionRow{"reduce_min", "the smallest element along an axis", numpy,
                [](Graph& graph) { graph.output(reduce_min(rows(graph), -1)); }},
    FunctionRow{"argmin", "index of the first minimum", numpy,
                [](Graph& graph) { graph.output(argmin(rows(graph), -1)); }},
    FunctionRow{"reduce_any", "whether one element is true", numpy,
                [](Graph& graph) {
                    graph.output(reduce_any(boolean(graph, "x", {2, 4}), -1));
                }},
    FunctionRow{"reduce_all", "whether no element is false", numpy,
                [](Graph& graph) {
                    graph.output(reduce_all(boolean(graph, "x", {2, 4}), -1));
                }},
    FunctionRow{"softplus", "ln(1 + e^x) = max(0, x) + log1p(e^-|x|)", pytorch, of_rows<softplus>},
    FunctionRow{"leaky_relu", "x > 0 ? x : slope x", pytorch,
                [](Graph& graph) { graph.output(leaky_relu(rows(graph))); }},
    FunctionRow{"elu", "x > 0 ? x : scale (e^x - 1)", "Clevert et al., 2016",
                [](Graph& graph) { graph.output(elu(rows(graph))); }},
    FunctionRow{"exact_gelu", "x / 2 (1 + erf(x / sqrt(2)))", "Hendrycks and Gimpel, 2016",
                of_rows<exact_gelu>},
    FunctionRow{"softmax", "e^(x - max x) / sum e^(x - max x) along an axis", pytorch,
                [](Graph& graph) { graph.output(softmax(rows(graph))); }},
    FunctionRow{"log_softmax", "ln(softmax(x)) without computing it", pytorch,
                [](Graph& graph) { graph.output(log_softmax(rows(graph))); }},
    FunctionRow{"scaled_softmax", "softmax(scale x)", pytorch,
                [](Graph& graph) { graph.output(scaled_softmax(rows(graph), 0.5)); }},
    FunctionRow{"masked_softmax", "softmax over the elements where a mask is true, else 0", ours,
                [](Graph& graph) {
                    const Var x = rows(graph);
                    graph.output(masked_softmax(x, boolean(graph, "mask", {2, 4})));
                }},
    FunctionRow{"causal_softmax", "softmax of scores where no query sees a later key", ours,
                [](Graph& graph) {
                    graph.output(causal_softmax(real(graph, "scores", {3, 4})));
                }},
    FunctionRow{"log_sum_exp", "ln sum e^x along an axis, shifted by the largest", pytorch,
                [](Graph& graph) { graph.output(log_sum_exp(rows(graph))); }},
    FunctionRow{"rms_norm", "x / sqrt(mean(x^2) + epsilon) gain", "Zhang and Sennrich, 2019",
                [](Graph& graph) {
                    const Var x = rows(graph);
                    graph.output(rms_norm(x, real(graph, "gain", {4})));
                }},
    FunctionRow{"add_rms_norm", "s = x + residual; rms_norm(s)", "Zhang and Sennrich, 2019",
                [](Graph& graph) {
                    const Var x = rows(graph);
                    const Var residual = real(graph, "residual", {2, 4});
                    const SumAndNorm both = add_rms_norm(x, residual, real(graph, "gain", {4}));
                    graph.output(both.sum);
                    graph.output(both.normed);
                }},
    FunctionRow{"norm_add", "rms_norm(x) + residual", "Zhang and Sennrich, 2019",
                [](Graph& graph) {
                    const Var x = rows(graph);
                    const Var gain = real(graph, "gain", {4});
                    graph.output(norm_add(x, gain, real(graph, "residual", {2, 4})));
                }},
    FunctionRow{"layer_norm", "(x - mean) / sqrt(variance + epsilon) gain + bias",
                "Ba, Kiros and Hinton, 2016",
                [](Graph& graph) {
                    const Var x = rows(graph);
                    const Var gain = real(graph, "gain", {4});
                    graph.output(layer_norm(x, gain, real(graph, "bias", {4})));
                }},
    FunctionRow{"batch_norm", "(x - mean) / sqrt(variance + epsilon) gain + bias, of given ones",
                "Ioffe and Szegedy, 2015", [](Graph& graph) { batch_norm_example(graph, false); }},
    FunctionRow{"batch_norm_training", "the same with the batch's own, and new running ones",
                "Ioffe and Szegedy, 2015", [](Graph& graph) { batch_norm_example(graph, true); }},
    FunctionRow{"swiglu_gate", "gate sigmoid(gate) up", "Shazeer, 2020", of_two<swiglu_gate>},
    FunctionRow{"rope", "pairs (i, i + half) turned by position base^(-2 i / rotary)",
                "Su et al., 2021",
                [](Graph& graph) {
                    graph.output(rope(real(graph, "x", {2, 3, 4}), rotary_tables(graph, 3, 4)));
                }},
    FunctionRow{"qk_norm_rope", "rope(rms_norm) of the heads of queries and keys",
                "Henry et al., 2020",
                [](Graph& graph) {
                    const Var q = real(graph, "q", {2, 3, 4});
                    const Var k = real(graph, "k", {1, 3, 4});
                    const Var q_gain = real(graph, "q_gain", {4});
                    const Var k_gain = real(graph, "k_gain", {4});
                    const QueriesAndKeys both =
                        qk_norm_rope(q, k, q_gain, k_gain, rotary_tables(graph, 3, 4));
                    graph.output(both.queries);
                    graph.output(both.keys);
                }},
    FunctionRow{"append_rows", "a cache with rows from a position on", ours,
                [](Graph& graph) {
                    const Var cache = real(graph, "cache", {8, 4});
                    const Var added = real(graph, "rows", {1, 4});
                    graph.output(append_rows(cache, added, integer(graph, "position", Shape{})));
                }},
    FunctionRow{"one_hot", "1 at the index, 0 elsewhere", pytorch,
                [](Graph& graph) { graph.output(one_hot(integer(graph, "indices", {3}), 4)); }},
    FunctionRow{"argsort", "the indices of sort", numpy,
                [](Graph& graph) { graph.output(argsort(rows(graph))); }},
    FunctionRow{"tile", "an axis several times: a b a b", numpy,
                [](Graph& graph) { graph.output(tile(rows(graph), 0, 3)); }},
    FunctionRow{"repeat_each", "elements of an axis several times: a a b b", numpy,
                [](Graph& graph) { graph.output(repeat_each(rows(graph), 0, 3)); }},
    FunctionRow{"cosine_similarity", "a . b / (|a| |b|) between rows", pytorch,
                [](Graph& graph) {
                    const Var a = real(graph, "a", {2, 4});
                    graph.output(cosine_similarity(a, real(graph, "b", {3, 4})));
                }},
    FunctionRow{"hadamard", "product with (-1)^(bits that i and j share) / sqrt(n)", "Walsh, 1923",
                of_rows<hadamard>},
    FunctionRow{"normal", "r cos(2 pi v), r sin(2 pi v), r = sqrt(-2 ln(1 - u))",
                "Box and Muller, 1958",
                [](Graph& graph) {
                    const Var of = key(graph);
                    graph.output(normal(of, integer(graph, "ids", {3}), 2));
                }},
    FunctionRow{"categorical", "the largest of logits - ln(-ln(1 - u))", "Gumbel, 1954",
                [](Graph& graph) {
                    const Var logits = real(graph, "logits", {3, 4});
                    const Var of = key(graph);
                    graph.output(categorical(logits, of, integer(graph, "ids", {3})));
                }},
    FunctionRow{"dropout", "u >= p ? x / (1 - p) : 0", "Srivastava et al., 2014",
                [](Graph& graph) {
                    const Var x = rows(graph);
                    const Var of = key(graph);
                    graph.output(dropout(x, of, integer(graph, "id", Shape{}), 0.5));
                }},
    FunctionRow{"conv_transpose", "the adjoint of conv, + bias", pytorch,
                [](Graph& graph) {
                    const Var x = real(graph, "x", {2, 6, 4, 4});
                    const Var weights = real(graph, "weights", {6, 3, 2, 2});
                    graph.output(
                        conv_transpose(x, weights, real(graph, "bias", {3}), {.stride = 2}));
                }},
    FunctionRow{"max_pool", "the largest element of each window", pytorch,
                [](Graph& graph) {
                    graph.output(max_pool(real(graph, "x", {2, 8, 8}), {2, 2}));
                }},
    FunctionRow{"average_pool", "the mean of each window", pytorch,
                [](Graph& graph) {
                    graph.output(average_pool(real(graph, "x", {2, 8, 8}), {2, 2}));
                }},
    FunctionRow{"causal_conv1d", "sum over k of weights[d, k] x[t - (K - 1) + k, d] + bias[d]",
                "Gu and Dao, 2023",
                [](Graph& graph) {
                    const Var x = real(graph, "x", {8, 3});
                    const Var weights = real(graph, "weights", {3, 4});
                    graph.output(causal_conv1d(x, weights, real(graph, "bias", {3})));
                }},
    FunctionRow{"upsample_nearest", "elements of the last axes several times", pytorch,
                [](Graph& graph) {
                    graph.output(upsample_nearest(real(graph, "x", {3, 4, 4}), {2, 2}));
                }},
    FunctionRow{"mse", "mean (prediction - target)^2", pytorch, of_prediction<mse>},
    FunctionRow{"mae", "mean |prediction - target|", pytorch, of_prediction<mae>},
    FunctionRow{"huber", "mean of e^2 / 2 up to delta, then delta (|e| - delta / 2)", "Huber, 1964",
                [](Graph& graph) {
                    const Var prediction = real(graph, "prediction", {2, 4});
                    graph.output(huber(prediction, real(graph, "target", {2, 4})));
                }},
    FunctionRow{"bce_with_logits",
                "mean of (max(0, x) - t x) + log1p(e^-|x|) of logits x and targets t", pytorch,
                of_prediction<bce_with_logits>},
    FunctionRow{"nll", "-x[target] of log-probabilities", pytorch,
                [](Graph& graph) {
                    const Var x = real(graph, "log_probabilities", {3, 4});
                    graph.output(nll(x, integer(graph, "targets", {3})));
                }},
    FunctionRow{"cross_entropy", "(max x - x[target]) + ln sum e^(x - max x) of logits x", pytorch,
                [](Graph& graph) {
                    const Var logits = real(graph, "logits", {3, 4});
                    graph.output(cross_entropy(logits, integer(graph, "targets", {3})));
                }},
    FunctionRow{"sgd", "m' = momentum m + g; p' = p - rate m'", pytorch,
                [](Graph& graph) { optimizer_step(graph, Sgd{.momentum = 0.9}); }},
    FunctionRow{"adam", "p' = p - rate m' / (1 - b1^t) / (sqrt(v' / (1 - b2^t)) + epsilon)",
                "Kingma and Ba, 2015", [](Graph& graph) { optimizer_step(graph, Adam{}); }},
    FunctionRow{
        "adamw", "adam, after rate weight_decay p is taken off p", "Loshchilov and Hutter, 2019",
        [](Graph& graph) { optimizer_step(graph, Adam{.weight_decay = 0.01, .decoupled = true}); }},
    FunctionRow{"rmsprop", "v' = a v + (1 - a) g^2; p' = p - rate g / (sqrt(v') + epsilon)",
                "Tieleman and Hinton, 2012",
                [](Graph& graph) { optimizer_step(graph, RmsProp{}); }},
    FunctionRow{"clip_norm", "gradients of an individual times min(1, largest / (norm + 1e-6))",
                "Pascanu et al., 2013",
                [](Graph& graph) {
                    const std::array gradients{real(graph, "gradient", {4}),
                                               real(graph, "another", {2, 3})};
                    const ClippedGradients clipped = clip_norm(gradients, 1.0);
                    for (const Var gradient : clipped.gradients) graph.output(gradient);
                    graph.output(clipped.norm);
                    graph.output(clipped.finite);
                }},
};

}  // namespace

std::span<const FunctionRow> function_table() {
    return functions;
}

FunctionExample example_of(const FunctionRow& function) {
    Graph graph;
    function.example(graph);
    const auto add = [](std::string& text, const std::string& more) {
        text += (text.empty() ? "" : ", ") + more;
    };
    FunctionExample result;
    for (std::size_t i = 0; i < graph.inputs().size(); ++i)
        add(result.operands,
            graph.input_name(i) + " " + graph.value(graph.inputs()[i]).shape.text());
    for (const ValueId output : graph.outputs())
        add(result.results, graph.value(output).shape.text());
    std::vector<Op> used;
    for (const Node& node : graph.nodes()) {
        if (is_bound(node.op)) continue;
        result.may_fail = result.may_fail || may_fail(graph, node);
        if (std::ranges::find(used, node.op) != used.end()) continue;
        used.push_back(node.op);
        add(result.ops, std::string(op_info(node.op).name));
    }
    return result;
}

}  // namespace cambrian::launch
