#include "cambrian/evolve/variation/neat/neat_crossover.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/evolve/variation/neat/neat_layers.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::int64_t without_match = -1;

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

/// For each first element of a gene the matching one of the other parent, or `without_match`.
void match(const Structure& leader, const Structure& other, std::vector<std::int64_t>& matches) {
    matches.assign(at(leader.weight_count()) + 1, without_match);
    const std::vector<HistoricalGene>& own = leader.history().genes;
    if (&leader == &other) {
        for (const HistoricalGene& gene : own) {
            matches[at(gene.offset)] = gene.offset;
        }
        return;
    }
    const std::vector<HistoricalGene>& others = other.history().genes;
    auto next = others.begin();
    for (const HistoricalGene& gene : own) {
        while (next != others.end() && next->id < gene.id) {
            ++next;
        }
        if (next == others.end()) {
            return;
        }
        if (next->id == gene.id && next->form == gene.form && next->count == gene.count &&
            gene.count > 0) {
            matches[at(gene.offset)] = next->offset;
        }
    }
}

/// Even draws, 32 of a random word.
class Coins {
  public:
    explicit Coins(RandomStream& rng) : rng_(rng) {}
    bool toss() {
        if (left_ == 0) {
            bits_ = rng_.bits();
            left_ = 32;
        }
        const bool heads = (bits_ & 1U) != 0;
        bits_ >>= 1U;
        --left_;
        return heads;
    }

  private:
    RandomStream& rng_;
    std::uint32_t bits_ = 0;
    int left_ = 0;
};

/// Makes a child of the parent that leads, who gives its structure, and another one.
class Crossing {
  public:
    Crossing(RandomStream& rng, const NeatSettings& settings, ChildPlan& child,
             SharedStructure leader, SharedStructure other, bool first_leads)
        : rng_(rng),
          settings_(settings),
          child_(child),
          leader_(std::move(leader)),
          other_(std::move(other)),
          first_leads_(first_leads),
          coins_(rng) {
        match(*leader_, *other_, child.matches);
        child.begin_empty(leader_);
        averages_ = settings.average_rate > 0.0F && rng.chance(settings.average_rate);
    }

    void run() {
        auto neurons = leader_->genome().neuron_genes.begin();
        for (const GeneWeights& block : leader_->genes()) {
            if (neurons != leader_->genome().neuron_genes.end() && block.slot == neurons->slot) {
                cross_neurons(block);
                ++neurons;
            } else if (block.count > 0) {
                take(block.offset, block.count, matched(block.offset));
            }
        }
        if (changed_) {
            child_.structure = std::make_shared<const Structure>(*std::move(changed_));
        }
    }

  private:
    [[nodiscard]] std::int64_t matched(std::int64_t element) const {
        return child_.matches[at(element)];
    }
    /// Its match where that lies in a layer of the other parent.
    [[nodiscard]] std::int64_t matched(std::int64_t element, const GeneWeights& block) const {
        const std::int64_t found = matched(element);
        return found >= block.offset && found < block.offset + block.count ? found : without_match;
    }
    Genome& changed() {
        if (!changed_) {
            changed_ = leader_->genome();
        }
        return *changed_;
    }
    Neurons& changed_neurons(int slot) { return neurons_of(changed(), slot); }

    /// Where the other parent has its weights of the layer, from the match of an element.
    [[nodiscard]] const GeneWeights* other_block(std::int64_t element) const {
        for (const GeneWeights& block : other_->genes()) {
            if (element >= block.offset && element < block.offset + block.count) {
                return &block;
            }
        }
        return nullptr;
    }

    void cross_neurons(const GeneWeights& block) {
        const Neurons& layer = neurons_of(leader_->genome(), block.slot);
        const auto connections = std::ssize(layer.connections);
        const auto neurons = std::ssize(layer.neurons);
        const std::int64_t bias = block.offset + connections;
        const GeneWeights* place = nullptr;
        for (std::int64_t i = 0; i < connections + neurons && place == nullptr; ++i) {
            if (matched(block.offset + i) != without_match) {
                place = other_block(matched(block.offset + i));
            }
        }
        if (place == nullptr) {
            add(block.offset, block.count, without_match);
            return;
        }
        const Neurons& other = neurons_of(other_->genome(), place->slot);
        cross_format(block.slot, place->slot);
        for (std::int64_t i = 0; i < connections; ++i) {
            cross_connection(block, i, other, *place);
        }
        const std::size_t first_neuron = child_.matches.size();
        for (std::int64_t i = 0; i < neurons; ++i) {
            const std::int64_t source = take(bias + i, 1, matched(bias + i, *place));
            child_.matches.push_back(source);
            if (source == without_match || averages_) {
                continue;
            }
            const std::int64_t twin = source - place->offset - std::ssize(other.connections);
            if (other.neurons[at(twin)] != layer.neurons[at(i)]) {
                changed_neurons(block.slot).neurons[at(i)] = other.neurons[at(twin)];
            }
        }
        // What else a neuron has comes from where its bias does.
        for (std::int64_t parameter = 1; parameter < layer.weights_of_neuron(); ++parameter) {
            const std::int64_t twin = parameter_in(other, layer, parameter);
            for (std::int64_t i = 0; i < neurons; ++i) {
                const std::int64_t source = child_.matches[first_neuron + at(i)];
                const bool both = source != without_match && twin >= 0;
                add(bias + parameter * neurons + i, 1,
                    both ? source + twin * std::ssize(other.neurons) : without_match);
            }
        }
        child_.matches.resize(first_neuron);
    }

    /// The format of a layer is that of either parent. A draw only where they differ.
    void cross_format(int slot, int twin) {
        const LayerFormats& given = formats_of(other_->blueprint(), twin);
        if (given == formats_of(leader_->blueprint(), slot) || !coins_.toss()) {
            return;
        }
        formats_of(changed().blueprint, slot) = given;
    }

    void cross_connection(const GeneWeights& block, std::int64_t index, const Neurons& other,
                          const GeneWeights& place) {
        const std::int64_t element = block.offset + index;
        const std::int64_t source = matched(element, place);
        const std::int64_t taken = take(element, 1, source);
        if (source == without_match) {
            return;
        }
        const std::int64_t twin = source - place.offset;
        const Neurons& layer = neurons_of(leader_->genome(), block.slot);
        const auto& [from, to, delay, enabled, plastic] = layer.connections[at(index)];
        // Whether it is plastic goes with its weight.
        const bool as_other = taken != without_match && !averages_ && layer.plastic;
        if (as_other && other.connections[at(twin)].plastic != plastic) {
            changed_neurons(block.slot).connections[at(index)].plastic = !plastic;
        }
        if (enabled && other.connections[at(twin)].enabled) {
            return;
        }
        const bool inherits = !rng_.chance(settings_.disabled_rate);
        if (inherits != enabled) {
            changed_neurons(block.slot).connections[at(index)].enabled = inherits;
        }
    }

    /// Takes a gene from either parent; → where the other one has it if that has a part in it.
    std::int64_t take(std::int64_t element, std::int64_t count, std::int64_t source) {
        if (source != without_match && !averages_ && !coins_.toss()) {
            source = without_match;
        }
        add(element, count, source);
        return source;
    }

    /// Elements of the other parent, or of the one that leads where `source` is without_match.
    void add(std::int64_t element, std::int64_t count, std::int64_t source) {
        const bool from_other = source != without_match && !averages_;
        if (source != without_match && averages_) {
            average(element, count, source);
        }
        const bool of_first = from_other != first_leads_;
        const std::int64_t place = from_other ? source : element;
        if (!child_.pieces.empty()) {
            WeightPiece& last = child_.pieces.back();
            const bool last_of_first = last.source == WeightSource::first;
            if (last_of_first == of_first &&
                (of_first ? last.from : last.other) + last.count == place) {
                last.count += count;
                return;
            }
        }
        WeightPiece& piece = child_.pieces.emplace_back();
        piece.to = element;
        piece.count = count;
        piece.source = of_first ? WeightSource::first : WeightSource::second;
        (of_first ? piece.from : piece.other) = place;
    }

    void average(std::int64_t element, std::int64_t count, std::int64_t source) {
        if (!child_.averages.empty()) {
            AveragedWeights& last = child_.averages.back();
            if (last.to + last.count == element && last.other + last.count == source) {
                last.count += count;
                return;
            }
        }
        child_.averages.push_back({element, source, count, first_leads_});
    }

    RandomStream& rng_;
    const NeatSettings& settings_;
    ChildPlan& child_;
    SharedStructure leader_;
    SharedStructure other_;
    bool first_leads_;
    bool averages_ = false;
    Coins coins_;
    std::optional<Genome> changed_;
};

}  // namespace

void cross(RandomStream& rng, const NeatSettings& settings, ChildPlan& child, double first_fitness,
           const SharedStructure& second, double second_fitness) {
    const bool equal = !(first_fitness > second_fitness);
    const bool first_leads =
        !equal || child.structure->history().genes.size() <= second->history().genes.size();
    SharedStructure leader = first_leads ? child.structure : second;
    SharedStructure other = first_leads ? second : child.structure;
    Crossing(rng, settings, child, std::move(leader), std::move(other), first_leads).run();
}

Genome cross(RandomStream& rng, const NeatSettings& settings, const Genome& first,
             double first_fitness, const Genome& second, double second_fitness) {
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(first));
    cross(rng, settings, plan, first_fitness, std::make_shared<const Structure>(second),
          second_fitness);
    Genome child = plan.structure->genome();
    write_weights(plan, first.weights, second.weights, child.weights);
    return child;
}

}  // namespace cambrian::evolve
