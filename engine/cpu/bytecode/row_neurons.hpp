#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/cpu/bytecode/row_pass.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"
#include "cambrian/engine/network/bytecode/neuron_table.hpp"

namespace cambrian::cpu::bytecode {

/// Layers of single neurons, for some rows: neuron after neuron, in the order of their records.
/// @tparam Owner a class of one source: what no other source sees is inlined where it is called.
template <class Words, class Owner>
class NeuronRows : public RowPass<Words> {
    using Pass = RowPass<Words>;

  public:
    using Pass::at;
    using Pass::Pass;

  protected:
    using Pass::lanes;
    using Pass::run_;
    using Pass::state_;
    using Pass::tile;
    using Pass::vectors;
    using Pass::weights;
    using Pass::words_;
    using typename Pass::Instruction;
    using typename Pass::Row;

    void neurons(const Instruction& instruction) const {
        const NeuronTable table(instruction);
        words_.fill(at(table.one()), 1, [](std::int64_t, std::int64_t) { return Row{} + 1.0F; });
        if (table.state() > 0)
            words_.load_state(state_, instruction.other, table.state(), at(table.first_state()));
        RecordPlace next{table.first_record(), weights(instruction)};
        for (std::int64_t n = 0; n < table.neurons();) n += joined(table, next, n);
        const std::int32_t* const outputs = table.outputs();
        words_.fill(at(instruction.result), instruction.out, [&](std::int64_t i, std::int64_t v) {
            return words_.at(run_.memory, outputs[i], v);
        });
        const std::int32_t* const next_state = table.next_state();
        for (std::int64_t i = 0; i < table.state(); ++i)
            words_.save_state(at(next_state[i]), instruction.other + i, 1, state_);
    }

  private:
    /// The inputs of one neuron.
    struct FixedInputs {
        std::int64_t count = 0;
        const std::int32_t* places = nullptr;
        const float* weights = nullptr;
    };
    /// The same with the places of how much weights have changed; `fixed` where one does not.
    struct PlasticInputs : FixedInputs {
        const std::int32_t* changes = nullptr;
        std::int64_t fixed = 0;
    };
    [[nodiscard]] Row term(const FixedInputs& inputs, std::int64_t i, std::int64_t v) const {
        return words_.at(run_.memory, inputs.places[i], v) * Words::weight(inputs.weights, i);
    }
    [[nodiscard]] Row term(const PlasticInputs& inputs, std::int64_t i, std::int64_t v) const {
        if (inputs.changes[i] == inputs.fixed)
            return term(static_cast<const FixedInputs&>(inputs), i, v);
        const Row weight =
            words_.at(run_.memory, inputs.changes[i], v) + Words::weight(inputs.weights, i);
        return words_.at(run_.memory, inputs.places[i], v) * weight;
    }
    [[nodiscard]] float weight_of(const FixedInputs& inputs, std::int64_t i,
                                  std::int64_t number) const {
        return Words::weight_of(inputs.weights, i, number);
    }
    [[nodiscard]] float weight_of(const PlasticInputs& inputs, std::int64_t i,
                                  std::int64_t number) const {
        const float inherited = Words::weight_of(inputs.weights, i, number);
        return inputs.changes[i] == inputs.fixed ? inherited
                                                 : inherited + at(inputs.changes[i])[number];
    }
    /// join(total, term) over the inputs, of a tile of vectors.
    template <class Inputs, class Join>
    void fold(const Inputs& inputs, std::int64_t first, Row* total, Join join) const {
        const auto of = [&](std::int64_t i, std::size_t v) {
            return term(inputs, i, first + static_cast<std::int64_t>(v));
        };
        for (std::size_t v = 0; v < tile; ++v) total[v] = of(0, v);
        for (std::int64_t i = 1; i < inputs.count; ++i)
            for (std::size_t v = 0; v < tile; ++v) total[v] = join(total[v], of(i, v));
    }
    template <class Inputs>
    void sum_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        fold(inputs, first, total, [](const Row& all, const Row& one) { return all + one; });
    }
    template <class Inputs>
    void product_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        fold(inputs, first, total, [](const Row& all, const Row& one) { return all * one; });
    }
    template <class Inputs>
    void max_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        fold(inputs, first, total,
             [](const Row& all, const Row& one) { return one > all ? one : all; });
    }
    template <class Inputs>
    void min_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        fold(inputs, first, total,
             [](const Row& all, const Row& one) { return one < all ? one : all; });
    }
    template <class Inputs>
    void mean_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        sum_of(inputs, first, total);
        const auto count = static_cast<float>(inputs.count);
        for (std::size_t v = 0; v < tile; ++v)
            total[v] = each_lane<lanes>(
                total[v], [count](float value) { return elementary::divide(value, count); });
    }
    template <class Inputs>
    void largest_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        const auto magnitude = [](const Row& x) { return x < Row{} ? -x : x; };
        fold(inputs, first, total, [&](const Row& all, const Row& one) {
            return magnitude(all) < magnitude(one) ? one : all;
        });
    }
    /// By ranks in a stable order with NaN above all, number by number: a list would need memory.
    template <class Inputs>
    void median_of(const Inputs& inputs, std::int64_t first, Row* total) const {
        float numbers[tile * static_cast<std::size_t>(lanes)]{};
        const std::int64_t begin = first * lanes;
        const std::int64_t end = std::min(begin + std::ssize(numbers), words_.size());
        for (std::int64_t number = begin; number < end; ++number) {
            const std::int64_t middle = inputs.count / 2;
            const float upper = of_rank(inputs, number, middle);
            numbers[number - begin] = inputs.count % 2 == 1
                                          ? upper
                                          : (of_rank(inputs, number, middle - 1) + upper) * 0.5F;
        }
        std::memcpy(total, numbers, sizeof(numbers));
    }
    template <class Inputs>
    [[nodiscard]] float of_rank(const Inputs& inputs, std::int64_t number,
                                std::int64_t rank) const {
        const auto value = [&](std::int64_t i) {
            return at(inputs.places[i])[number] * weight_of(inputs, i, number);
        };
        const auto less = [](float a, float b) { return a < b || (!(a != a) && b != b); };
        for (std::int64_t i = 0; i < inputs.count; ++i) {
            const float own = value(i);
            std::int64_t before = 0;
            for (std::int64_t j = 0; j < inputs.count; ++j)
                before += less(value(j), own) || (j < i && !less(own, value(j))) ? 1 : 0;
            if (before == rank) return own;
        }
        return 0.0F;
    }

    struct RecordPlace {
        const std::int32_t* record = nullptr;
        const float* own = nullptr;  ///< Its weights.

        void pass(const NeuronTable::Record& neuron) {
            record += neuron.words;
            own = Words::weights(own, neuron.words);
        }
    };
    /// Neurons that join each other, from number n on, whose activations are one run over words.
    /// → how many.
    std::int64_t joined(const NeuronTable& table, RecordPlace& next, std::int64_t n) const {
        RecordPlace place = next;
        std::int64_t count = 0;
        NeuronTable::Record neuron{.joins = true};
        while (neuron.joins) {
            neuron = table.record(next.record);
            compute_sum(neuron, table, next.own, run_.staging + count++ * words_.size());
            next.pass(neuron);
        }
        activate(neuron.activation, run_.staging, at(table.first_value() + n),
                 count * words_.size());
        for (std::int64_t i = n; i < n + count; ++i) {
            const NeuronTable::Record each = table.record(place.record);
            float* const to = at(table.first_value() + i);
            if (table.continuous()) approach(table, place.record[1], place.own, to);
            if (each.plastic) learn(plastic_inputs(each, table, place.own), each, to);
            place.pass(each);
        }
        return count;
    }
    /// Aggregation + bias.
    void compute_sum(const NeuronTable::Record& neuron, const NeuronTable& table, const float* own,
                     float* sums) const {
        for (std::size_t first = 0; first < vectors; first += tile) {
            Row total[tile];
            aggregate(neuron, table, own, static_cast<std::int64_t>(first), total);
            for (std::size_t v = 0; v < tile; ++v)
                store<lanes>(sums + (first + v) * static_cast<std::size_t>(lanes), total[v]);
        }
    }
    void aggregate(const NeuronTable::Record& neuron, const NeuronTable& table, const float* own,
                   std::int64_t first, Row* total) const {
        const Row bias = -Row{} + Words::weight(own, 0);  // -0 changes no sum.
        if (neuron.inputs == 0) {
            std::fill_n(total, tile, bias);
            return;
        }
        const auto how = static_cast<std::size_t>(neuron.aggregation);
        if (neuron.plastic)
            (this->*aggregations<PlasticInputs>[how])(plastic_inputs(neuron, table, own), first,
                                                      total);
        else
            (this->*aggregations<FixedInputs>[how])(fixed_inputs(neuron, table, own), first, total);
        for (std::size_t v = 0; v < tile; ++v) total[v] = total[v] + bias;
    }
    [[nodiscard]] static FixedInputs fixed_inputs(const NeuronTable::Record& neuron,
                                                  const NeuronTable& table, const float* own) {
        return {neuron.inputs, neuron.places, Words::weights(own, table.before_inputs())};
    }
    [[nodiscard]] static PlasticInputs plastic_inputs(const NeuronTable::Record& neuron,
                                                      const NeuronTable& table, const float* own) {
        return {fixed_inputs(neuron, table, own), neuron.changes(), table.one()};
    }
    /// Changes the weights of plastic inputs by the rule of their neuron, whose value is there.
    void learn(const PlasticInputs& inputs, const NeuronTable::Record& neuron,
               const float* value) const {
        const float limit = neuron.largest_weight();
        for (std::int64_t number = 0; number < words_.size(); ++number) {
            const auto rule = [&](std::int64_t i) {
                return Words::weight_of(inputs.weights, neuron.rule() + i, number);
            };
            const float y = value[number];
            for (std::int64_t i = 0; i < inputs.count; ++i) {
                if (inputs.changes[i] == inputs.fixed) continue;
                const float x = at(inputs.places[i])[number];
                const float sum = rule(1) * (x * y) + rule(2) * x + rule(3) * y + rule(4);
                const float moved = weight_of(inputs, i, number) + rule(0) * sum;
                const float above = -limit < moved ? moved : -limit;
                at(inputs.changes[i])[number] =
                    (above < limit ? above : limit) - Words::weight_of(inputs.weights, i, number);
            }
        }
    }
    /// to = last + time_step / time_constant (to - last).
    void approach(const NeuronTable& table, std::int32_t last, const float* own, float* to) const {
        const float step = table.time_step();
        for (std::int64_t number = 0; number < words_.size(); ++number) {
            const float rate = elementary::divide(step, Words::weight_of(own, 1, number));
            const float before = at(last)[number];
            to[number] = before + rate * (to[number] - before);
        }
    }

    /// In the order of NeuronAggregation.
    template <class Of>
    static constexpr std::array<void (NeuronRows::*)(const Of&, std::int64_t, Row*) const,
                                neuron_aggregation_names.size()>
        aggregations{&NeuronRows::template sum_of<Of>,    &NeuronRows::template product_of<Of>,
                     &NeuronRows::template max_of<Of>,    &NeuronRows::template min_of<Of>,
                     &NeuronRows::template mean_of<Of>,   &NeuronRows::template median_of<Of>,
                     &NeuronRows::template largest_of<Of>};
};

}  // namespace cambrian::cpu::bytecode
