#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"

namespace cambrian::test {

/// Graphs of random operations on random small shapes, for comparing backends.
class RandomGraph {
  public:
    explicit RandomGraph(std::uint64_t seed, int operations = 25)
        : rng_(random_key(seed, "random graph"), 0) {
        for (int i = 0; i < 4; ++i) {
            const Shape shape = random_shape();
            reals_.push_back(
                graph.input("x" + std::to_string(i), ValueType::real, shape, rng_.chance(0.6F)));
        }
        codes_.push_back(graph.input("code", ValueType::integer, {}, rng_.chance(0.7F)));
        reals_.push_back(cambrian::constant(graph, 0.75));
        for (int i = 0; i < operations; ++i) {
            add_operation();
        }
        for (int i = 0; i < 4; ++i) {
            graph.output(pick(reals_));
        }
        graph.output(reals_.back());
        graph.output(reals_.back());
        graph.output(codes_.back());
    }

    /// Tensors for the inputs of a population; individual i gets the same values in any population.
    [[nodiscard]] std::vector<Tensor> inputs(std::int64_t population) const {
        std::vector<Tensor> tensors;
        for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
            const ValueInfo& info = graph.value(graph.inputs()[i]);
            std::vector<std::int64_t> extents(info.shape.extents().begin(),
                                              info.shape.extents().end());
            const std::int64_t individuals = info.per_individual ? population : 1;
            if (info.per_individual) {
                extents.insert(extents.begin(), population);
            }
            Tensor tensor(info.type, Shape(std::span<const std::int64_t>(extents)));
            const auto elements = static_cast<std::size_t>(info.shape.elements());
            for (std::int64_t p = 0; p < individuals; ++p) {
                RandomStream values(random_key(i, "inputs"), static_cast<std::uint64_t>(p));
                for (std::size_t e = 0; e < elements; ++e) {
                    tensor.elements[static_cast<std::size_t>(p) * elements + e] =
                        info.type == ValueType::real ? static_cast<double>(values.normal())
                                                     : static_cast<double>(values.index(7));
                }
            }
            tensors.push_back(std::move(tensor));
        }
        return tensors;
    }

    Graph graph;

  private:
    Shape random_shape() {
        constexpr std::int64_t extents[] = {1, 2, 3, 5, 9, 17};
        std::vector<std::int64_t> shape(rng_.index(4));
        for (std::int64_t& extent : shape) {
            extent = extents[rng_.index(6)];
        }
        return Shape(std::span<const std::int64_t>(shape));
    }

    Var pick(const std::vector<Var>& from) {
        return from[rng_.index(static_cast<std::uint32_t>(from.size()))];
    }

    /// A value that broadcasts with x.
    Var partner(Var x) {
        for (int attempt = 0; attempt < 8; ++attempt) {
            const Var y = pick(reals_);
            if (broadcasts(x.shape(), y.shape())) {
                return y;
            }
        }
        return x;
    }

    static bool broadcasts(const Shape& a, const Shape& b) {
        const int rank = std::min(a.rank(), b.rank());
        for (int axis = 1; axis <= rank; ++axis) {
            if (a[-axis] != b[-axis] && a[-axis] != 1 && b[-axis] != 1) {
                return false;
            }
        }
        return true;
    }

    int random_axis(Var x) {
        return static_cast<int>(rng_.index(static_cast<std::uint32_t>(x.rank())));
    }

    Var unary(Var x) {
        switch (rng_.index(16)) {
            case 0:
                return -x;
            case 1:
                return abs(x);
            case 2:
                return sign(x);
            case 3:
                return round(x * 3.0);
            case 4:
                return floor(x * 3.0);
            case 5:
                return exp(x);
            case 6:
                return log(x);
            case 7:
                return sqrt(abs(x));
            case 8:
                return rsqrt(x);
            case 9:
                return reciprocal(x);
            case 10:
                return sin(x);
            case 11:
                return cos(x);
            case 12:
                return tanh(x);
            case 13:
                return sigmoid(x);
            case 14:
                return stop_gradient(x);
            default:
                return cast(cast(x, ValueType::integer), ValueType::real);
        }
    }

    Var binary(Var x) {
        const Var y = partner(x);
        switch (rng_.index(9)) {
            case 0:
                return x + y;
            case 1:
                return x - y;
            case 2:
                return x * y;
            case 3:
                return x / y;
            case 4:
                return min(x, y);
            case 5:
                return max(x, y);
            case 6:
                return select(logical_not(less(x, y)), x, partner(x * 1.0 + y));
            case 7:
                return cast(logical_or(equal(x, y), is_finite(x)), ValueType::real);
            default:
                return activate(x, pick(codes_)) + y;
        }
    }

    Var reduction(Var x) {
        const int axis = random_axis(x);
        switch (rng_.index(3)) {
            case 0:
                return reduce_sum(x, axis, rng_.chance(0.5F));
            case 1:
                return reduce_max(x, axis, rng_.chance(0.5F));
            default:
                return cast(argmax(x, axis), ValueType::real);
        }
    }

    Var movement(Var x) {
        const int axis = random_axis(x);
        switch (rng_.index(7)) {
            case 0:
                return reshape(x, {-1});
            case 1:
                return x.rank() < 2 ? x : transpose(x);
            case 2:
                return x.rank() != 3 ? x : permute(x, {1, 2, 0});
            case 3:
                return slice(x, axis, x.shape()[axis] / 2, x.shape()[axis] - x.shape()[axis] / 2);
            case 4:
                return pad(x, axis, 1, 2);
            case 5: {
                const std::vector<Var> parts{x, tanh(x), x};
                return concat(parts, axis);
            }
            default: {
                const std::vector<Var> parts{x, x * 2.0};
                return x.rank() == Shape::max_rank ? x : stack(parts);
            }
        }
    }

    Var contraction(Var x) {
        if (x.rank() < 2) {
            return x;
        }
        switch (rng_.index(3)) {
            case 0:
                return matmul(x, x, false, true);
            case 1:
                return matmul(x, x * 0.5, true, false);
            default: {
                // The first matrix of x, as one right operand for all.
                Var weights = x;
                while (weights.rank() > 2) {
                    const std::vector<std::int64_t> rest(weights.shape().extents().begin() + 1,
                                                         weights.shape().extents().end());
                    weights = reshape(slice(weights, 0, 0, 1),
                                      Shape(std::span<const std::int64_t>(rest)));
                }
                return matmul(x, transpose(weights));
            }
        }
    }

    Var indexing(Var x) {
        const std::int64_t rows = x.shape()[0];
        Tensor indices(ValueType::integer, Shape{3});
        for (double& index : indices.elements) {
            index = static_cast<double>(rng_.index(static_cast<std::uint32_t>(rows)));
        }
        const Var taken = gather(x, graph.constant(indices));
        return rng_.chance(0.5F) ? taken : scatter_add(taken, graph.constant(indices), rows + 1);
    }

    Var uniform() {
        const Var ids = iota(graph, 3) + pick(codes_);
        return cambrian::random(graph.constant(Tensor(ValueType::integer, Shape{2}, {17.0, -4.0})),
                                ids, 5);
    }

    /// A loop with an unchanging carry, swapped carries, a sequence and an invariant.
    Var loop(Var x) {
        const Var invariant = partner(x);
        const Var sequence = x.rank() > 0 ? x : stack(std::vector<Var>{x, x});
        const Var start = reduce_sum(sequence, 0) * 0.0;
        const Var shift = reduce_max(sequence, 0);
        Graph body;
        const Var a = body.input("a", ValueType::real, start.shape());
        const Var b = body.input("b", ValueType::real, start.shape());
        const Var still = body.input("still", ValueType::real, start.shape());
        const Var row = body.input("row", ValueType::real, start.shape());
        const Var fixed = body.input("fixed", ValueType::real, invariant.shape());
        const Var mean = invariant.rank() == 0 ? fixed : sum_all(fixed);
        body.output(b);
        body.output(tanh(a + row * mean));
        body.output(still);
        body.output(a + b);
        const std::vector<Var> carries{start, shift, shift * 0.5};
        const std::vector<Var> sequences{sequence};
        const std::vector<Var> invariants{invariant};
        const ScanResult result =
            scan(std::move(body), carries, sequences, invariants,
                 {.length = sequence.shape()[0], .reverse = rng_.chance(0.5F)});
        codes_.push_back(cast(sum_all(result.carries[2]), ValueType::integer));
        reals_.push_back(result.stacked[0]);
        return result.carries[rng_.index(2)];
    }

    void add_operation() {
        const Var x = pick(reals_);
        const std::uint32_t kind = rng_.index(12);
        Var y = x;
        if (kind < 3 || x.rank() == 0) {
            y = unary(x);
        } else if (kind < 6) {
            y = binary(x);
        } else if (kind < 7) {
            y = reduction(x);
        } else if (kind < 9) {
            y = movement(x);
        } else if (kind < 10) {
            y = contraction(x);
        } else if (kind < 11) {
            y = rng_.chance(0.7F) ? indexing(x) : uniform();
        } else {
            y = loop(x);
        }
        if (y.shape().elements() <= 3000 && y.rank() <= 4) {
            reals_.push_back(y);
        }
    }

    RandomStream rng_;
    std::vector<Var> reals_;
    std::vector<Var> codes_;
};

/// The position of the first element whose bits differ (all NaN count as one), or -1.
inline std::int64_t first_difference(std::span<const double> a, std::span<const double> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
        if (!both_nan && (a[i] != b[i] || std::signbit(a[i]) != std::signbit(b[i]))) {
            return static_cast<std::int64_t>(i);
        }
    }
    return a.size() == b.size() ? -1 : static_cast<std::int64_t>(a.size());
}

}  // namespace cambrian::test
