#include "cambrian/engine/check/gradient_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/gradient/gradient.hpp"
#include "cambrian/engine/graph/passes/passes.hpp"
#include "cambrian/engine/network/observe/id_reader.hpp"
#include "cambrian/engine/reference/reference.hpp"

namespace cambrian {
namespace {

/// The network on fixed operands, as graphs of its weights and inputs.
class Bench {
  public:
    Bench(const Network& network, const ForwardModel& model, std::span<const float> weights,
          const CheckSettings& settings)
        : network_(network), model_(model), settings_(settings) {
        if (static_cast<std::int64_t>(weights.size()) != network.weight_count())
            throw ShapeError(fmt::format(
                "{} weights for a network of {} (each parameter needs its values) pass them all",
                weights.size(), network.weight_count()));
        values_.emplace_back(ValueType::real, Shape{network.weight_count()},
                             std::vector<double>(weights.begin(), weights.end()));
        const std::int64_t width = network.input_features();
        const Shape shape = model.stateful() ? Shape{settings.batch, settings.time, width}
                                             : Shape{settings.batch, width};
        values_.push_back(inputs(shape));
        values_.push_back(code_operand(ValueType::integer, network.activation_codes()));
        values_.push_back(code_operand(ValueType::boolean, network.enabled_flags()));
    }

    /// Weights, then inputs.
    [[nodiscard]] const Tensor& point(std::size_t operand) const { return values_[operand]; }
    [[nodiscard]] std::span<const Tensor> values() const { return values_; }

    /// The outputs, and the gradients of the loss by weights and inputs.
    [[nodiscard]] Graph passes() const {
        Graph graph;
        const std::vector<Var> operands = operands_of(graph);
        const Var y = forward(operands);
        graph.output(y);
        const std::array wanted{operands[0], operands[1]};
        for (const Var g : gradient(loss(y), wanted)) graph.output(g);
        return graph;
    }
    /// The loss of individuals, each with weights and inputs of its own.
    [[nodiscard]] Graph losses() const {
        Graph graph;
        graph.output(loss(forward(operands_of(graph))));
        return vmap(graph, std::array<std::size_t, 2>{0, 1});
    }
    /// The outputs step by step from zero state, [batch, time, features].
    [[nodiscard]] Graph steps() const {
        Graph graph;
        const std::vector<Var> operands = operands_of(graph);
        std::vector<Var> state = model_.initial_state(graph, settings_.batch);
        std::vector<Var> outputs;
        for (std::int64_t t = 0; t < settings_.time; ++t) {
            const Var x =
                reshape(slice(operands[1], 1, t, 1), {settings_.batch, network_.input_features()});
            StepResult step = model_.step(x, state, network_operands(operands));
            state = std::move(step.state);
            outputs.push_back(reshape(step.output, {settings_.batch, 1, step.output.shape()[-1]}));
        }
        graph.output(concat(outputs, 1));
        return graph;
    }

  private:
    [[nodiscard]] Tensor inputs(const Shape& shape) const {
        const Embedding* embedding = id_reader(network_.blueprint());
        Tensor x(ValueType::real, shape);
        RandomStream rng(random_key(settings_.seed, "check.inputs"), 0);
        for (double& element : x.elements)
            // Of ids the middle between two, which a difference does not leave.
            element = embedding == nullptr
                          ? static_cast<double>(rng.normal())
                          : 0.5 + rng.index(static_cast<std::uint32_t>(embedding->vocabulary));
        return x;
    }
    [[nodiscard]] std::vector<Var> operands_of(Graph& graph) const {
        static constexpr std::array names{"weights", "x", "activations", "enabled"};
        std::vector<Var> operands;
        for (std::size_t i = 0; i < values_.size(); ++i)
            operands.push_back(graph.input(names[i], values_[i].type, values_[i].shape));
        return operands;
    }
    [[nodiscard]] static NetworkOperands network_operands(const std::vector<Var>& operands) {
        return {.weights = operands[0], .activations = operands[2], .enabled = operands[3]};
    }
    [[nodiscard]] Var forward(const std::vector<Var>& operands) const {
        const NetworkOperands own = network_operands(operands);
        return model_.stateful() ? model_.sequence(operands[1], own)
                                 : model_.apply(operands[1], own);
    }
    [[nodiscard]] Var loss(Var y) const {
        Tensor upstream(ValueType::real, y.shape());
        RandomStream rng(random_key(settings_.seed, "check.upstream"), 0);
        for (double& element : upstream.elements) element = static_cast<double>(rng.normal());
        return sum_all(y * y.graph->constant(std::move(upstream)));
    }

    const Network& network_;
    const ForwardModel& model_;
    const CheckSettings& settings_;
    std::vector<Tensor> values_;
};

/// Losses at many points around the one of the bench, several at a time.
class LossProbe {
  public:
    LossProbe(const Bench& bench, Backend& backend)
        : bench_(bench), backend_(backend), graph_(bench.losses()) {
        constexpr std::int64_t max_elements = 1 << 20;
        const std::int64_t each =
            std::ssize(bench.point(0).elements) + std::ssize(bench.point(1).elements);
        population_ =
            std::clamp<std::int64_t>(max_elements / std::max<std::int64_t>(each, 1), 1, 64);
    }

    struct Move {
        std::size_t operand = 0;
        std::int64_t element = 0;
        double by = 0.0;
    };
    [[nodiscard]] std::vector<double> at(std::span<const Move> moves) const {
        std::vector<double> losses;
        for (std::size_t first = 0; first < moves.size();) {
            const auto count =
                std::min(moves.size() - first, static_cast<std::size_t>(population_));
            const auto some = some_of(moves.subspan(first, count));
            losses.insert(losses.end(), some.begin(), some.end());
            first += count;
        }
        return losses;
    }

  private:
    [[nodiscard]] std::vector<double> some_of(std::span<const Move> moves) const {
        std::vector<Tensor> values(bench_.values().begin(), bench_.values().end());
        for (std::size_t operand = 0; operand < 2; ++operand) {
            const Tensor& point = bench_.point(operand);
            std::vector<std::int64_t> extents{std::ssize(moves)};
            for (const std::int64_t extent : point.shape.extents()) extents.push_back(extent);
            Tensor moved(ValueType::real, Shape(std::span<const std::int64_t>(extents)));
            const std::size_t size = point.elements.size();
            for (std::size_t i = 0; i < moves.size(); ++i) {
                std::ranges::copy(point.elements,
                                  moved.elements.begin() + static_cast<std::ptrdiff_t>(i * size));
                // The point itself has no element to move where a network has no weights.
                if (moves[i].operand == operand && moves[i].by != 0.0)
                    moved.elements[i * size + static_cast<std::size_t>(moves[i].element)] +=
                        moves[i].by;
            }
            values[operand] = std::move(moved);
        }
        return evaluate(backend_, graph_, std::ssize(moves), values)[0].elements;
    }

    const Bench& bench_;
    Backend& backend_;
    Graph graph_;
    std::int64_t population_ = 1;
};

/// Numbers below `count`, `wanted` of them (0: all), in ascending order.
std::vector<std::int64_t> sampled(std::int64_t count, std::int64_t wanted, RandomStream rng) {
    std::vector<std::int64_t> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    if (wanted == 0 || wanted >= count) return all;
    for (std::int64_t i = 0; i < wanted; ++i)
        std::swap(
            all[static_cast<std::size_t>(i)],
            all[static_cast<std::size_t>(i) + rng.index(static_cast<std::uint32_t>(count - i))]);
    all.resize(static_cast<std::size_t>(wanted));
    std::ranges::sort(all);
    return all;
}

double largest_of(std::span<const double> values) {
    double largest = 0.0;
    for (const double value : values)
        largest = std::isfinite(value) ? std::max(largest, std::abs(value)) : HUGE_VAL;
    return largest;
}

/// A part of an operand under one name.
struct NamedPart {
    std::string name;
    std::size_t operand = 0;
    std::int64_t offset = 0;
    std::int64_t count = 0;
};

/// To the left and to the right of a point.
struct Slopes {
    double left = 0.0;
    double right = 0.0;
    [[nodiscard]] double middle() const { return 0.5 * (left + right); }
    /// Whether they differ by far more than a bend over a step, and a slope lies between them.
    [[nodiscard]] bool bends_around(double slope, double scale,
                                    const CheckSettings& settings) const {
        const auto [low, high] = std::minmax(left, right);
        const double slack = settings.bound * scale;
        return high - low > std::max(slack, 10.0 * settings.step * scale) && slope >= low - slack &&
               slope <= high + slack;
    }
};

/// A gradient against the slopes over a step and over a fraction of it. One that is wrong is as
/// wrong over both.
struct Differences {
    static constexpr double fraction = 1.0 / 8.0;
    double wide = 0.0;
    double narrow = 0.0;

    /// Whether the value jumps: then slopes grow as the step shrinks.
    [[nodiscard]] bool jumps() const {
        return std::isfinite(narrow) && std::abs(narrow) * fraction * 2.0 > std::abs(wide);
    }
    /// Whether the curvature jumps, or is large: without a step nothing remains.
    [[nodiscard]] bool vanish(double slack) const {
        return std::abs(narrow - fraction * wide) <= (1.0 - fraction) * slack;
    }
};

class GradientCheck {
  public:
    GradientCheck(const Bench& bench, Backend& backend, const std::vector<Tensor>& gradients,
                  const CheckSettings& settings)
        : bench_(bench),
          probe_(bench, backend),
          gradients_(gradients),
          settings_(settings),
          middle_(probe_.at(std::array{LossProbe::Move{}})[0]) {
        for (const Tensor& gradient : gradients_)
            floor_ = std::max(floor_, 1e-4 * largest_of(gradient.elements));
    }

    [[nodiscard]] CheckedTensor operator()(const NamedPart& part, std::size_t number) const {
        CheckedTensor found{.name = part.name, .elements = part.count};
        const std::vector<Compared> all = compared(
            part, sampled(part.count, settings_.samples,
                          RandomStream(random_key(settings_.seed, "check.samples"), number)));
        found.checked = std::ssize(all);
        for (const Compared& one : all) {
            found.largest = std::max(found.largest, std::abs(one.computed));
            // The slope over a jump is as large as the step is small.
            if (!one.jumps()) found.largest = std::max(found.largest, std::abs(one.measured()));
        }
        const double scale = std::max(found.largest, floor_);
        for (const Compared& one : all) {
            const double difference = std::abs(one.difference());
            const double error = difference == 0.0 ? 0.0 : difference / scale;
            if (error > settings_.bound && one.at_kink(scale, settings_)) {
                ++found.kinks;
            } else if (!(error <= found.error)) {
                found.error = std::isfinite(error) ? error : HUGE_VAL;
                found.worst = one.element;
                found.measured = one.measured();
                found.computed = one.computed;
            }
        }
        return found;
    }

  private:
    /// An element of a part, with the slopes over a smaller step where those over the first are not
    /// its gradient.
    struct Compared {
        std::int64_t element = 0;
        double computed = 0.0;
        Slopes slopes;
        std::optional<Slopes> narrow = std::nullopt;

        [[nodiscard]] double measured() const { return slopes.middle(); }
        [[nodiscard]] double difference() const { return measured() - computed; }
        [[nodiscard]] std::optional<Differences> differences() const {
            if (!narrow) return std::nullopt;
            return Differences{.wide = difference(), .narrow = narrow->middle() - computed};
        }
        [[nodiscard]] bool jumps() const {
            const auto both = differences();
            return both && both->jumps();
        }
        [[nodiscard]] bool at_kink(double scale, const CheckSettings& settings) const {
            const auto both = differences();
            return slopes.bends_around(computed, scale, settings) ||
                   (both && (both->jumps() || both->vanish(settings.bound * scale)));
        }
    };

    [[nodiscard]] std::vector<Compared> compared(const NamedPart& part,
                                                 const std::vector<std::int64_t>& elements) const {
        const std::span own(gradients_[part.operand].elements);
        const std::vector<Slopes> slopes = measured(part, elements, settings_.step);
        std::vector<Compared> all;
        double min_scale = floor_;
        for (std::size_t i = 0; i < elements.size(); ++i) {
            const double computed = own[static_cast<std::size_t>(part.offset + elements[i])];
            all.push_back({.element = elements[i], .computed = computed, .slopes = slopes[i]});
            min_scale = std::max(min_scale, std::abs(computed));
        }
        std::vector<std::int64_t> doubtful;
        for (const Compared& one : all)
            if (std::abs(one.difference()) > settings_.bound * min_scale)
                doubtful.push_back(one.element);
        const std::vector<Slopes> narrow =
            measured(part, doubtful, settings_.step * Differences::fraction);
        for (std::size_t i = 0, next = 0; i < all.size() && next < doubtful.size(); ++i)
            if (all[i].element == doubtful[next]) all[i].narrow = narrow[next++];
        return all;
    }

    [[nodiscard]] std::vector<Slopes> measured(const NamedPart& part,
                                               const std::vector<std::int64_t>& elements,
                                               double step_of_one) const {
        std::vector<LossProbe::Move> moves;
        std::vector<double> steps;
        for (const std::int64_t element : elements) {
            const auto at = static_cast<std::size_t>(part.offset + element);
            const double value = bench_.point(part.operand).elements[at];
            // What the sum of both moves it by, exactly.
            const double step = (value + step_of_one * std::max(1.0, std::abs(value))) - value;
            steps.push_back(step);
            moves.push_back({part.operand, part.offset + element, step});
            moves.push_back({part.operand, part.offset + element, -step});
        }
        const std::vector<double> losses = probe_.at(moves);
        std::vector<Slopes> slopes;
        for (std::size_t i = 0; i < elements.size(); ++i)
            slopes.push_back({.left = (middle_ - losses[2 * i + 1]) / steps[i],
                              .right = (losses[2 * i] - middle_) / steps[i]});
        return slopes;
    }

    const Bench& bench_;
    LossProbe probe_;
    const std::vector<Tensor>& gradients_;
    const CheckSettings& settings_;
    double middle_ = 0.0;
    double floor_ = 0.0;
};

/// The largest difference over the largest element of either side, at least over `floor`.
double relative_error(const Tensor& a, const Tensor& b, double floor = 0.0) {
    if (a.elements.size() != b.elements.size()) return HUGE_VAL;
    double difference = 0.0;
    for (std::size_t i = 0; i < a.elements.size(); ++i)
        if (a.elements[i] != b.elements[i]) {
            const double own = std::abs(a.elements[i] - b.elements[i]);
            difference = std::isfinite(own) ? std::max(difference, own) : HUGE_VAL;
        }
    if (difference == 0.0) return 0.0;
    return difference / std::max({largest_of(a.elements), largest_of(b.elements), floor});
}

}  // namespace

bool CheckReport::passed() const {
    return std::ranges::all_of(
               tensors, [this](const CheckedTensor& tensor) { return tensor.error <= bound; }) &&
           std::ranges::all_of(pairs, &CheckedPair::passed);
}

CheckReport check_network(const Network& network, const ForwardModel& model,
                          std::span<const float> weights, std::span<Backend* const> backends,
                          const CheckSettings& settings) {
    const Bench bench(network, model, weights, settings);
    const auto exact = make_reference_backend(Precision::f64);
    const Graph passes = bench.passes();
    const std::vector<Tensor> expected = evaluate(*exact, passes, 1, bench.values());
    const std::vector<Tensor> gradients(expected.begin() + 1, expected.end());

    CheckReport report{.tensors = {}, .pairs = {}, .bound = settings.bound};
    const GradientCheck check(bench, *exact, gradients, settings);
    report.tensors.push_back(
        check({"input", 1, 0, std::ssize(bench.point(1).elements)}, network.weights().size()));
    for (std::size_t i = 0; i < network.weights().size(); ++i) {
        const WeightRange& range = network.weights()[i];
        report.tensors.push_back(check({network.weight_name(i), 0, range.offset, range.count}, i));
    }
    if (model.stateful())
        report.pairs.push_back(
            {"steps against the sequence",
             relative_error(evaluate(*exact, bench.steps(), 1, bench.values())[0], expected[0]),
             1e-9});
    // Gradients that cancel each other are as good as what they are made of.
    double gradient_floor = 0.0;
    for (const Tensor& gradient : gradients)
        gradient_floor = std::max(gradient_floor, 1e-3 * largest_of(gradient.elements));
    for (Backend* const backend : backends) {
        const std::vector<Tensor> found = evaluate(*backend, passes, 1, bench.values());
        static constexpr std::array parts{"outputs", "gradients of weights", "gradients of inputs"};
        for (std::size_t i = 0; i < parts.size(); ++i)
            report.pairs.push_back(
                {fmt::format("{}: {}", backend->describe().kind, parts[i]),
                 relative_error(found[i], expected[i], i == 0 ? 0.0 : gradient_floor),
                 settings.backend_bound});
    }
    return report;
}

}  // namespace cambrian
