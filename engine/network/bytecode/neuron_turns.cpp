#include "cambrian/engine/network/bytecode/neuron_turns.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <tuple>

namespace cambrian {
namespace {

using Turn = NeuronTurns::Turn;

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

class TurnSearch {
  public:
    TurnSearch(const Neurons& layer, const NeuronPlan& plan)
        : layer_(layer),
          plan_(plan),
          before_inputs_(layer.continuous ? 2 : 1),
          waits_(layer.neurons.size()),
          chain_(layer.neurons.size()) {
        find_readers();
        find_chains();
    }

    /// All turns, each after those it depends on.
    std::vector<Turn> turns() {
        turns_.reserve(plan_.order.size());
        for (const std::int64_t neuron : plan_.order)
            if (waits_[at(neuron)] == 0) ready_.push_back(neuron);
        while (!ready_.empty()) {
            const std::size_t begin = turns_.size();
            take_groups();
            --longest_;
            for (std::size_t i = begin; i < turns_.size(); ++i) {
                finish(turns_[i].first);
                if (turns_[i].second != NeuronTurns::none) finish(turns_[i].second);
            }
        }
        return std::move(turns_);
    }

  private:
    /// Neurons of as many inputs, the most urgent first.
    struct Alike {
        std::vector<std::int64_t> neurons;
        std::size_t taken = 0;

        [[nodiscard]] bool empty() const { return taken == neurons.size(); }
        [[nodiscard]] std::int64_t first() const { return neurons[taken]; }
        void clear() {
            neurons.clear();
            taken = 0;
        }
    };

    template <class Each>
    void for_each_source(std::int64_t neuron, Each each) const {
        for (const std::int64_t input : plan_.inputs(neuron)) {
            const Neurons::Connection& from = layer_.connections[at(input)];
            if (from.delay == 0 && from.source >= layer_.in) each(from.source - layer_.in);
        }
    }
    void find_readers() {
        first_reader_.assign(layer_.neurons.size() + 1, 0);
        for (const std::int64_t neuron : plan_.order)
            for_each_source(neuron, [&](std::int64_t source) {
                ++first_reader_[at(source) + 1];
                ++waits_[at(neuron)];
            });
        for (std::size_t i = 1; i < first_reader_.size(); ++i)
            first_reader_[i] += first_reader_[i - 1];
        readers_.resize(at(first_reader_.back()));
        std::vector<std::int64_t> next(first_reader_);
        for (const std::int64_t neuron : plan_.order)
            for_each_source(
                neuron, [&](std::int64_t source) { readers_[at(next[at(source)]++)] = neuron; });
    }
    void find_chains() {
        for (std::size_t i = plan_.order.size(); i-- > 0;) {
            const std::int64_t neuron = plan_.order[i];
            const std::int64_t length = ++chain_[at(neuron)];
            longest_ = std::max(longest_, length);
            for_each_source(neuron, [&](std::int64_t source) {
                chain_[at(source)] = std::max(chain_[at(source)], length);
            });
        }
    }
    /// What tells groups of neurons apart that could all be computed now.
    [[nodiscard]] auto kind(std::int64_t neuron) const {
        const auto& [activation, aggregation] = layer_.neurons[at(neuron)];
        return std::tuple(activation, aggregation, plan_.changes(layer_, neuron));
    }

    /// A group of each kind of what could be computed now. Some stay behind.
    void take_groups() {
        std::ranges::stable_sort(ready_, {}, [this](std::int64_t neuron) {
            return std::pair(kind(neuron), -chain_[at(neuron)]);
        });
        std::vector<std::int64_t> now;
        now.swap(ready_);
        for (std::size_t begin = 0; begin < now.size();) {
            std::size_t end = begin + 1;
            while (end < now.size() && kind(now[begin]) == kind(now[end])) ++end;
            const std::size_t first_turn = turns_.size();
            take_group(std::span(now).subspan(begin, end - begin));
            for (std::size_t i = first_turn; i + 1 < turns_.size(); ++i) turns_[i].joins = true;
            begin = end;
        }
    }
    /// Of one kind, the most urgent first.
    void take_group(std::span<const std::int64_t> neurons) {
        std::vector<std::int64_t> alone;
        for (Alike& alike : by_inputs_) alike.clear();
        for (const std::int64_t neuron : neurons) {
            const std::size_t inputs = plan_.inputs(neuron).size();
            if (inputs < by_inputs_.size() && !plan_.changes(layer_, neuron))
                by_inputs_[inputs].neurons.push_back(neuron);
            else
                alone.push_back(neuron);
        }
        const auto any = [](const Alike&) { return true; };
        while (Alike* one = most_urgent(any)) {
            const std::int64_t neuron = take(*one);
            const bool sums = !layer_.continuous &&
                              std::get<NeuronAggregation>(kind(neuron)) == NeuronAggregation::sum;
            Alike* const other = most_urgent([&](const Alike& alike) {
                const auto [fewest, most] =
                    std::minmax({&alike - by_inputs_.data(), one - by_inputs_.data()});
                return NeuronTurns::fit(most, fewest, before_inputs_, sums);
            });
            if (other != nullptr && other > one)
                turns_.push_back({.first = take(*other), .second = neuron});
            else if (other != nullptr)
                turns_.push_back({.first = neuron, .second = take(*other)});
            else if (chain_[at(neuron)] == longest_)
                alone.push_back(neuron);
            else
                ready_.push_back(neuron);
        }
        for (const std::int64_t neuron : alone) turns_.push_back({.first = neuron});
    }
    /// Those with the most urgent neuron among those that pass a test, of equal ones those with the
    /// most inputs.
    template <class Test>
    Alike* most_urgent(Test passes) {
        Alike* best = nullptr;
        for (Alike& alike : by_inputs_)
            if (!alike.empty() && passes(alike) &&
                (best == nullptr || chain_[at(alike.first())] >= chain_[at(best->first())]))
                best = &alike;
        return best;
    }
    static std::int64_t take(Alike& alike) { return alike.neurons[alike.taken++]; }

    void finish(std::int64_t neuron) {
        for (std::int64_t i = first_reader_[at(neuron)]; i < first_reader_[at(neuron) + 1]; ++i)
            if (--waits_[at(readers_[at(i)])] == 0) ready_.push_back(readers_[at(i)]);
    }

    const Neurons& layer_;
    const NeuronPlan& plan_;
    std::int64_t before_inputs_;
    std::vector<std::int64_t> waits_;  ///< For so many others that are not computed.
    std::vector<std::int64_t>
        chain_;                 ///< Neurons, one after another, that wait for it, and itself.
    std::int64_t longest_ = 0;  ///< Of the chains that are left.
    std::vector<std::int64_t> first_reader_;
    std::vector<std::int64_t> readers_;  ///< Grouped by what they read.
    std::vector<std::int64_t> ready_;
    std::array<Alike, NeuronTurns::words_of_two / 2 + 1> by_inputs_;
    std::vector<Turn> turns_;
};

}  // namespace

NeuronTurns::NeuronTurns(const Neurons& layer, const NeuronPlan& plan)
    : turns_(TurnSearch(layer, plan).turns()) {}

}  // namespace cambrian
