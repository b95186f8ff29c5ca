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

/// Neurons of a kind that wait for another to go with: each is looked at again in the next group.
constexpr std::ptrdiff_t max_waiting = 64;

class TurnSearch {
  public:
    TurnSearch(const Neurons& layer, const NeuronPlan& plan)
        : layer_(layer),
          plan_(plan),
          before_inputs_(layer.continuous ? 2 : 1),
          sources_left_(layer.neurons.size()),
          chain_(layer.neurons.size()) {
        find_readers();
        find_chains();
        if (!layer.plastic) return;
        changes_.resize(layer.neurons.size());
        for (const std::int64_t neuron : plan.order)
            changes_[at(neuron)] = plan.changes(layer, neuron);
    }

    /// All turns, each after those it depends on.
    std::vector<Turn> turns() {
        turns_.reserve(plan_.order.size());
        for (const std::int64_t neuron : plan_.order)
            if (sources_left_[at(neuron)] == 0) ready_.push_back(neuron);
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
    /// Neurons of as many inputs, those with the longest chain first.
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
                ++sources_left_[at(neuron)];
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
        return std::tuple(activation, aggregation, layer_.plastic && changes_[at(neuron)]);
    }

    /// A group of each kind of what could be computed now. Some neurons wait.
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
    /// Of one kind, those with the longest chain first.
    void take_group(std::span<const std::int64_t> neurons) {
        const auto [activation, aggregation, plastic] = kind(neurons.front());
        const bool sums = aggregation == NeuronAggregation::sum && !layer_.continuous;
        const auto fit = [&](std::int64_t a, std::int64_t b) {
            return NeuronTurns::fit(std::max(a, b), std::min(a, b), before_inputs_, sums);
        };
        std::vector<std::int64_t> alone;
        for (Alike& alike : by_inputs_) alike.clear();
        for (const std::int64_t neuron : neurons) {
            const std::int64_t inputs = std::ssize(plan_.inputs(neuron));
            if (!plastic && fit(inputs, 0))
                by_inputs_.at(at(inputs)).neurons.push_back(neuron);
            else
                alone.push_back(neuron);
        }
        std::vector<std::int64_t> waiting;
        while (Alike* one = longest_of([](const Alike&) { return true; })) {
            const std::int64_t neuron = take(*one);
            Alike* const other = longest_of([&](const Alike& alike) {
                return fit(&alike - by_inputs_.data(), one - by_inputs_.data());
            });
            if (other != nullptr && other > one)
                turns_.push_back({.first = take(*other), .second = neuron});
            else if (other != nullptr)
                turns_.push_back({.first = neuron, .second = take(*other)});
            else
                (chain_[at(neuron)] == longest_ ? alone : waiting).push_back(neuron);
        }
        const std::ptrdiff_t too_many =
            std::max<std::ptrdiff_t>(std::ssize(waiting) - max_waiting, 0);
        alone.insert(alone.end(), waiting.begin(), waiting.begin() + too_many);
        ready_.insert(ready_.end(), waiting.begin() + too_many, waiting.end());
        for (const std::int64_t neuron : alone) turns_.push_back({.first = neuron});
    }
    /// Those whose first neuron has the longest chain among those that pass a test, of equal ones
    /// those with more inputs.
    template <class Test>
    Alike* longest_of(Test passes) {
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
            if (--sources_left_[at(readers_[at(i)])] == 0) ready_.push_back(readers_[at(i)]);
    }

    const Neurons& layer_;
    const NeuronPlan& plan_;
    std::int64_t before_inputs_;
    std::vector<std::int64_t> sources_left_;  ///< That are not computed.
    std::vector<std::int64_t>
        chain_;                  ///< Neurons, one after another, that wait for it, and itself.
    std::int64_t longest_ = 0;   ///< Of the chains that are left.
    std::vector<bool> changes_;  ///< Whether each has plastic connections, where any may be.
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
