#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/network/bytecode/bytecode_table.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"
#include "cambrian/engine/reference/kernels.hpp"

// Networks that are data, one instruction and one row after another.
namespace cambrian::reference {
namespace {

/// Arithmetic on held reals, each result rounded to the precision.
struct Arithmetic {
    Precision precision;

    template <class Exact, class Own>
    [[nodiscard]] double function(double x, Exact exact, Own own) const {
        if (precision == Precision::f64) return exact(x);
        return static_cast<double>(own(static_cast<float>(x)));
    }
    [[nodiscard]] double add(double a, double b) const { return sum(a, b, precision); }
    [[nodiscard]] double mul(double a, double b) const { return product(a, b, precision); }
    [[nodiscard]] double constant(double x) const { return rounded(x, precision); }
    [[nodiscard]] double tanh(double x) const {
        return function(
            x, [](double v) { return std::tanh(v); }, [](float v) { return elementary::tanh(v); });
    }
    [[nodiscard]] double sigmoid(double x) const {
        return function(
            x, [](double v) { return 1.0 / (1.0 + std::exp(-v)); },
            [](float v) { return elementary::sigmoid(v); });
    }
    [[nodiscard]] double exp(double x) const {
        return function(
            x, [](double v) { return std::exp(v); }, [](float v) { return elementary::exp(v); });
    }
    [[nodiscard]] double rsqrt(double x) const {
        return function(
            x, [](double v) { return 1.0 / std::sqrt(v); },
            [](float v) { return elementary::rsqrt(v); });
    }
    [[nodiscard]] double reciprocal(double x) const {
        return function(
            x, [](double v) { return 1.0 / v; }, [](float v) { return elementary::reciprocal(v); });
    }
    [[nodiscard]] double quotient(double a, double b) const {
        if (precision == Precision::f64) return a / b;
        return static_cast<double>(
            elementary::divide(static_cast<float>(a), static_cast<float>(b)));
    }
    [[nodiscard]] double gelu(double x) const {
        const double cube = mul(mul(x, x), x);
        const double inner = add(x, mul(constant(0.044715), cube));
        const double bend = tanh(mul(constant(std::sqrt(2.0 / std::numbers::pi)), inner));
        return mul(mul(0.5, x), add(1.0, bend));
    }
};

double softplus(const Arithmetic& m, double x) {
    const double power = m.exp(x < -x ? x : -x);
    const double rest = m.function(
        power, [](double v) { return std::log1p(v); },
        [](float v) { return elementary::log1p(v); });
    return m.add(0.0 > x ? 0.0 : x, rest);
}
double between(double x, double low, double high) {
    const double above = x > low ? x : low;
    return above < high ? above : high;
}

/// In the order of the codes.
constexpr std::array<double (*)(const Arithmetic&, double), activation_names.size()> activations{
    [](const Arithmetic&, double x) { return x; },
    [](const Arithmetic&, double x) { return x > 0.0 ? x : 0.0; },
    [](const Arithmetic& m, double x) { return m.mul(x, m.sigmoid(x)); },
    [](const Arithmetic& m, double x) { return m.gelu(x); },
    [](const Arithmetic& m, double x) { return m.tanh(x); },
    [](const Arithmetic& m, double x) { return m.sigmoid(x); },
    [](const Arithmetic& m, double x) { return m.sigmoid(m.mul(m.constant(4.9), x)); },
    [](const Arithmetic& m, double x) {
        return m.function(
            x, [](double v) { return std::sin(limited_angle(v)); },
            [](float v) { return elementary::sin(v); });
    },
    [](const Arithmetic& m, double x) {
        return m.function(
            x, [](double v) { return std::cos(limited_angle(v)); },
            [](float v) { return elementary::cos(v); });
    },
    [](const Arithmetic& m, double x) { return m.exp(-m.mul(x, x)); },
    [](const Arithmetic&, double x) { return std::abs(x); },
    [](const Arithmetic& m, double x) { return m.mul(x, x); },
    [](const Arithmetic& m, double x) { return m.mul(m.mul(x, x), x); },
    [](const Arithmetic& m, double x) {
        return x > 0.0 ? x
                       : m.function(
                             x, [](double v) { return std::expm1(v); },
                             [](float v) { return elementary::expm1(v); });
    },
    [](const Arithmetic& m, double x) { return x > 0.0 ? x : m.mul(m.constant(0.01), x); },
    softplus,
    [](const Arithmetic&, double x) { return between(x, -1.0, 1.0); },
    [](const Arithmetic& m, double x) {
        const double height = m.add(1.0, -std::abs(x));
        return height > 0.0 ? height : 0.0;
    },
    [](const Arithmetic&, double x) { return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0); },
    [](const Arithmetic&, double x) { return x > 0.0 ? 1.0 : 0.0; },
    [](const Arithmetic&, double x) { return between(x, 0.0, 6.0); },
    [](const Arithmetic& m, double x) {
        return m.mul(m.constant(1.0 / 6.0), m.mul(x, between(m.add(x, 3.0), 0.0, 6.0)));
    },
    [](const Arithmetic& m, double x) { return m.mul(x, m.tanh(softplus(m, x))); },
    [](const Arithmetic& m, double x) {
        const double share = m.function(
            m.mul(m.constant(std::numbers::sqrt2 / 2.0), x), [](double v) { return std::erf(v); },
            [](float v) { return elementary::erf(v); });
        return m.mul(m.mul(0.5, x), m.add(1.0, share));
    },
};

double activate(const Arithmetic& m, double x, std::int32_t code) {
    return activations[static_cast<std::size_t>(known_code(code, ActivationSet::any))](m, x);
}

template <class Join>
double fold(std::span<const double> terms, Join join) {
    double total = terms[0];
    for (const double term : terms.subspan(1)) total = join(total, term);
    return total;
}
double sum_of(const Arithmetic& m, std::span<const double> terms) {
    return fold(terms, [&](double all, double one) { return m.add(all, one); });
}
double median_of(const Arithmetic& m, std::span<const double> terms) {
    std::vector<double> sorted(terms.begin(), terms.end());
    std::ranges::stable_sort(
        sorted, [](double a, double b) { return a < b || (!std::isnan(a) && std::isnan(b)); });
    const double upper = sorted[sorted.size() / 2];
    if (sorted.size() % 2 == 1) return upper;
    return m.mul(m.add(sorted[sorted.size() / 2 - 1], upper), 0.5);
}

/// The aggregations of neurons, in the order of their codes.
constexpr std::array<double (*)(const Arithmetic&, std::span<const double>),
                     neuron_aggregation_names.size()>
    neuron_aggregations{
        sum_of,
        [](const Arithmetic& m, std::span<const double> terms) {
            return fold(terms, [&](double all, double one) { return m.mul(all, one); });
        },
        [](const Arithmetic&, std::span<const double> terms) {
            return fold(terms, [](double all, double one) { return one > all ? one : all; });
        },
        [](const Arithmetic&, std::span<const double> terms) {
            return fold(terms, [](double all, double one) { return one < all ? one : all; });
        },
        [](const Arithmetic& m, std::span<const double> terms) {
            return m.quotient(sum_of(m, terms), static_cast<double>(terms.size()));
        },
        median_of,
        [](const Arithmetic&, std::span<const double> terms) {
            return fold(terms, [](double all, double one) {
                return std::abs(all) < std::abs(one) ? one : all;
            });
        },
    };

/// One row of one individual.
class RowRun {
  public:
    RowRun(Arithmetic arithmetic, const Elements& weights, std::span<double> memory,
           std::span<double> state)
        : math_(arithmetic), weights_(weights), memory_(memory), state_(state) {}

    void run(const BytecodeInstruction& instruction);

  private:
    using Instruction = BytecodeInstruction;

    double& at(std::int32_t first, std::int64_t i) {
        return memory_[static_cast<std::size_t>(first + i)];
    }
    double& state(const Instruction& instruction, std::int64_t i) {
        return state_[static_cast<std::size_t>(instruction.other + i)];
    }
    /// Word k of four of output `out`, in blocks of that many fours.
    [[nodiscard]] double weight(const Instruction& instruction, std::int64_t fours,
                                std::int64_t out, std::int64_t k) const {
        return weights_[static_cast<std::size_t>(instruction.weights + (out / 4 * fours + k) * 4 +
                                                 out % 4)];
    }
    double dot(const Instruction& instruction, std::int64_t fours, std::int64_t out) {
        double total = 0.0;
        for (std::int64_t k = 0; k < instruction.in; ++k)
            total = math_.add(
                total, math_.mul(at(instruction.source, k), weight(instruction, fours, out, k)));
        return total;
    }

    void end(const Instruction&) {}
    void dense(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.out; ++i) {
            const double total = dot(instruction, instruction.in + 1, i);
            const double bias = weight(instruction, instruction.in + 1, i, instruction.in);
            at(instruction.result, i) = activate(math_, math_.add(total, bias), instruction.detail);
        }
    }
    void rnn(const Instruction& instruction) {
        const std::int64_t fours = instruction.in + instruction.out + 1;
        for (std::int64_t i = 0; i < instruction.out; ++i) {
            double recurrent = 0.0;
            for (std::int64_t k = 0; k < instruction.out; ++k)
                recurrent = math_.add(recurrent,
                                      math_.mul(state(instruction, k),
                                                weight(instruction, fours, i, instruction.in + k)));
            const double both = math_.add(dot(instruction, fours, i), recurrent);
            at(instruction.result, i) =
                math_.tanh(math_.add(both, weight(instruction, fours, i, fours - 1)));
        }
        for (std::int64_t i = 0; i < instruction.out; ++i)
            state(instruction, i) = at(instruction.result, i);
    }
    /// The mean of function(i) over the operand.
    template <class Function>
    double mean(const Instruction& instruction, Function function) {
        double total = function(0);
        for (std::int64_t i = 1; i < instruction.in; ++i) total = math_.add(total, function(i));
        return math_.mul(total, math_.constant(1.0 / static_cast<double>(instruction.in)));
    }
    double inverse_deviation(const Instruction& instruction, double mean_square) {
        const auto epsilon = static_cast<double>(std::bit_cast<float>(instruction.detail));
        return math_.rsqrt(math_.add(mean_square, math_.constant(epsilon)));
    }
    double gain(const Instruction& instruction, std::int64_t i) const {
        return weights_[static_cast<std::size_t>(instruction.weights + i)];
    }
    void rms_norm(const Instruction& instruction) {
        const double mean_square = mean(instruction, [&](std::int64_t i) {
            const double x = at(instruction.source, i);
            return math_.mul(x, x);
        });
        const double scale = inverse_deviation(instruction, mean_square);
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) =
                math_.mul(math_.mul(at(instruction.source, i), scale), gain(instruction, i));
    }
    void layer_norm(const Instruction& instruction) {
        const double centre =
            mean(instruction, [&](std::int64_t i) { return at(instruction.source, i); });
        const auto centred = [&](std::int64_t i) {
            return math_.add(at(instruction.source, i), -centre);
        };
        const double variance =
            mean(instruction, [&](std::int64_t i) { return math_.mul(centred(i), centred(i)); });
        const double scale = inverse_deviation(instruction, variance);
        for (std::int64_t i = 0; i < instruction.out; ++i) {
            const double scaled = math_.mul(centred(i), scale);
            const double bias = gain(instruction, whole_blocks(instruction.out) + i);
            at(instruction.result, i) = math_.add(math_.mul(scaled, gain(instruction, i)), bias);
        }
    }
    void softmax(const Instruction& instruction) {
        double largest = at(instruction.source, 0);
        for (std::int64_t i = 1; i < instruction.in; ++i)
            if (at(instruction.source, i) > largest) largest = at(instruction.source, i);
        double total = 0.0;
        for (std::int64_t i = 0; i < instruction.in; ++i) {
            at(instruction.result, i) = math_.exp(math_.add(at(instruction.source, i), -largest));
            total =
                i == 0 ? at(instruction.result, i) : math_.add(total, at(instruction.result, i));
        }
        const double scale = math_.reciprocal(total);
        for (std::int64_t i = 0; i < instruction.in; ++i)
            at(instruction.result, i) = math_.mul(at(instruction.result, i), scale);
    }
    void add(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) =
                math_.add(at(instruction.source, i), at(instruction.other, i));
    }
    void scale_add(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) =
                math_.add(at(instruction.other, i),
                          math_.mul(at(instruction.source, i), gain(instruction, i)));
    }
    void project_add(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) =
                math_.add(at(instruction.other, i), dot(instruction, instruction.in, i));
    }
    void load_state(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) = state(instruction, i);
    }
    void store_state(const Instruction& instruction) {
        for (std::int64_t i = 0; i < instruction.in; ++i)
            state(instruction, i) = at(instruction.source, i);
    }

    double& place(std::int64_t first) { return memory_[static_cast<std::size_t>(first)]; }
    /// The weight of input i of a neuron, the weights of whose inputs begin at `first`.
    double effective(const Instruction& instruction, const NeuronTable& table,
                     const NeuronTable::Record& neuron, std::int64_t first, std::int64_t i) {
        const double inherited = gain(instruction, first + i);
        if (!neuron.plastic || neuron.changes()[i] == table.one()) return inherited;
        return math_.add(inherited, place(neuron.changes()[i]));
    }
    /// Changes the weights of a neuron's plastic inputs by its rule.
    void learn(const Instruction& instruction, const NeuronTable& table,
               const NeuronTable::Record& neuron, std::int64_t first, double value) {
        const auto limit = static_cast<double>(neuron.largest_weight());
        const auto rule = [&](std::int64_t i) {
            return gain(instruction, first + neuron.rule() + i);
        };
        for (std::int64_t i = 0; i < neuron.inputs; ++i) {
            if (neuron.changes()[i] == table.one()) continue;
            const double source = place(neuron.places[i]);
            double sum =
                math_.add(math_.mul(rule(1), math_.mul(source, value)), math_.mul(rule(2), source));
            sum = math_.add(math_.add(sum, math_.mul(rule(3), value)), rule(4));
            const double weight = effective(instruction, table, neuron, first, i);
            const double moved = math_.add(weight, math_.mul(rule(0), sum));
            const double above = -limit < moved ? moved : -limit;
            place(neuron.changes()[i]) =
                math_.add(above < limit ? above : limit, -gain(instruction, first + i));
        }
    }

    void neurons(const Instruction& instruction) {
        const NeuronTable table(instruction);
        place(table.one()) = 1.0;
        for (std::int64_t i = 0; i < table.state(); ++i)
            place(table.first_state() + i) = state(instruction, i);
        const std::int32_t* record = table.first_record();
        std::int64_t own = 0;
        for (std::int64_t n = 0; n < table.neurons(); ++n) {
            const NeuronTable::Record neuron = table.record(record);
            const std::int64_t first = own + table.before_inputs();
            std::vector<double> terms;
            for (std::int64_t i = 0; i < neuron.inputs; ++i)
                terms.push_back(math_.mul(place(neuron.places[i]),
                                          effective(instruction, table, neuron, first, i)));
            double value = gain(instruction, own);
            if (!terms.empty()) {
                const auto how = static_cast<std::size_t>(neuron.aggregation);
                value = math_.add(neuron_aggregations.at(how)(math_, terms), value);
            }
            value = activate(math_, value, neuron.activation);
            if (table.continuous()) {
                const double last = place(record[1]);
                const double rate = math_.quotient(static_cast<double>(table.time_step()),
                                                   gain(instruction, own + 1));
                value = math_.add(last, math_.mul(rate, math_.add(value, -last)));
            }
            place(table.first_value() + n) = value;
            if (neuron.plastic) learn(instruction, table, neuron, first, value);
            record += neuron.words;
            own += neuron.words;
        }
        for (std::int64_t i = 0; i < instruction.out; ++i)
            at(instruction.result, i) = place(table.outputs()[i]);
        for (std::int64_t i = 0; i < table.state(); ++i)
            state(instruction, i) = place(table.next_state()[i]);
    }

    Arithmetic math_;
    const Elements& weights_;
    std::span<double> memory_;
    std::span<double> state_;

    /// In the order of BytecodeOp.
    static constexpr std::array<void (RowRun::*)(const Instruction&), bytecode_op_count> rows{
        &RowRun::end,         &RowRun::dense,      &RowRun::rnn,         &RowRun::rms_norm,
        &RowRun::layer_norm,  &RowRun::softmax,    &RowRun::add,         &RowRun::scale_add,
        &RowRun::project_add, &RowRun::load_state, &RowRun::store_state, &RowRun::neurons};
};

void RowRun::run(const BytecodeInstruction& instruction) {
    (this->*rows[static_cast<std::size_t>(instruction.op)])(instruction);
}

/// A bytecode of held integers as words.
std::vector<std::int32_t> words_of(const Elements& bytecode) {
    std::vector<std::int32_t> words;
    words.reserve(bytecode.size());
    for (const double word : bytecode) words.push_back(static_cast<std::int32_t>(word));
    return words;
}

}  // namespace

void interpret(const Call& call) {
    const auto& interpret = call.attribute<InterpretAttribute>();
    const auto inputs = static_cast<std::size_t>(call.operand_info(2).shape[-1]);
    const auto outputs = static_cast<std::size_t>(interpret.outputs);
    const auto states = static_cast<std::size_t>(call.operand_info(3).shape[-1]);
    const BytecodeCapacity capacity =
        capacity_of(interpret, call.operand_info(0).shape, call.operand_info(1).shape,
                    call.operand_info(3).shape);
    const std::vector<std::int32_t> bytecode = words_of(call.operand(0));
    const auto checked = [&](const BytecodeInstruction* instruction) {
        const auto before = reinterpret_cast<const std::int32_t*>(instruction) - bytecode.data();
        CAMBRIAN_ASSERT(fits(*instruction, capacity.words - before, capacity));
        return instruction;
    };
    call.results[1] = call.operand(3);
    std::vector<double> memory(static_cast<std::size_t>(interpret.memory));
    const std::size_t count = call.operand(2).size() / inputs;
    for (std::size_t i = 0; i < count; ++i) {
        const auto first = call.operand(2).begin() + static_cast<std::ptrdiff_t>(i * inputs);
        std::copy_n(first, inputs, memory.begin());
        RowRun row({call.precision}, call.operand(1), memory,
                   std::span(call.results[1]).subspan(i * states, states));
        const auto* instruction =
            checked(reinterpret_cast<const BytecodeInstruction*>(bytecode.data()));
        for (; instruction->op != BytecodeOp::end; instruction = checked(next(instruction)))
            row.run(*instruction);
        CAMBRIAN_ASSERT(instruction->in == interpret.outputs &&
                        instruction->detail <= interpret.weights);
        std::copy_n(memory.begin() + instruction->source, outputs,
                    call.results[0].begin() + static_cast<std::ptrdiff_t>(i * outputs));
    }
}

}  // namespace cambrian::reference
