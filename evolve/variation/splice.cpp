#include "cambrian/evolve/variation/splice.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/genome/alignment.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/tensor_axes.hpp"

namespace cambrian::evolve {

namespace {

/// Elements of the child's gene from `first` on come from the other parent's.
void take(ChildPlan& child, const GeneWeights& gene, std::int64_t other, std::int64_t first,
          std::int64_t count) {
    for (WeightPiece& piece : child.range(gene.offset + first, count)) {
        piece.source = WeightSource::second;
        piece.other = other + piece.to - gene.offset;
    }
}

/// Cuts every tensor in two: one end from the fitter parent, the rest from the other.
void cut(ChildPlan& child, const GeneWeights& gene, std::int64_t other, double split,
         bool fitter_first) {
    std::int64_t start = 0;
    for (const ParameterSpec& tensor : gene_parameters(child.structure->blueprint(), gene)) {
        const std::int64_t size = tensor.shape.elements();
        // 0.29 · 100 is a little less than 29.
        const double slack = 1e-12 * static_cast<double>(size) + 1e-9;
        const auto kept = static_cast<std::int64_t>(static_cast<double>(size) * split + slack);
        const std::int64_t from = start + (fitter_first ? kept : 0);
        take(child, gene, other, from, size - kept);
        start += size;
    }
}

std::string end_name(const Genome& genome, int end) {
    if (end == input_port) {
        return "input";
    }
    return end == genome.blueprint.grid.slots() ? "head" : std::to_string(end);
}

std::string gene_name(const Genome& genome, const GeneWeights& gene) {
    if (gene.link < 0) {
        return gene.slot == genome.blueprint.grid.slots() ? "head"
                                                          : "slot " + std::to_string(gene.slot);
    }
    const Link& link = genome.blueprint.links[static_cast<std::size_t>(gene.link)];
    const std::string kind = link.kind == LinkKind::forward ? "link " : "backward link ";
    return kind + end_name(genome, link.source) + "→" + end_name(genome, link.target);
}

/// The other parent's gene of the same id. Genomes are small and mostly aligned, so the search
/// starts where the last match was.
class Partners {
  public:
    explicit Partners(const Structure& structure) : structure_(structure) {}

    [[nodiscard]] const GeneWeights* find(Hash128 id) {
        const std::vector<GeneWeights>& genes = structure_.genes();
        for (std::size_t step = 0; step < genes.size(); ++step) {
            const std::size_t index = (next_ + step) % genes.size();
            if (structure_.gene(genes[index]).id == id) {
                next_ = index + 1;
                return &genes[index];
            }
        }
        return nullptr;
    }

  private:
    const Structure& structure_;
    std::size_t next_ = 0;
};

/// A coin for each unit of a layer, or of a link, which all tensors of the same units share.
class UnitCoins {
  public:
    UnitCoins(RandomStream& rng, float share) : rng_(rng), share_(share) {}

    /// Whether the units of a set come from the other parent.
    const std::vector<bool>& of(std::size_t set, std::int64_t units) {
        std::vector<bool>& chosen = chosen_[{set, units}];
        while (std::ssize(chosen) < units) {
            chosen.push_back(rng_.chance(share_));
        }
        return chosen;
    }

  private:
    RandomStream& rng_;
    float share_;
    std::map<std::pair<std::size_t, std::int64_t>, std::vector<bool>> chosen_;
};

/// Takes units of a gene, tensor after tensor.
class UnitTaker {
  public:
    UnitTaker(ChildPlan& child, const GeneWeights& gene, std::int64_t other)
        : child_(child), gene_(gene), other_(other) {}

    void add(UnitCoins& coins, const TensorAxes& axes) {
        const std::vector<bool>& chosen = coins.of(axes.unit_set, axes.units());
        const std::int64_t width = axes.extents[axes.unit_axis];
        const std::int64_t inner = elements_from(axes.extents, axes.unit_axis + 1);
        const std::int64_t blocks = elements_from(axes.extents, 0) / inner;
        const std::int64_t of_group = blocks / axes.groups;
        for (std::int64_t block = 0; block < blocks; ++block) {
            const std::int64_t unit = block / of_group * width + block % width;
            add(chosen[static_cast<std::size_t>(unit)], inner);
        }
    }

    /// The weights of connections, each with the neuron that reads it.
    void add(UnitCoins& coins, const Neurons& layer) {
        const std::vector<bool>& chosen = coins.of(0, std::ssize(layer.neurons));
        for (const Neurons::Connection& connection : layer.connections) {
            add(chosen[static_cast<std::size_t>(connection.target)], 1);
        }
    }

  private:
    void add(bool chosen, std::int64_t count) {
        if (chosen) {
            take(child_, gene_, other_, start_, count);
        }
        start_ += count;
    }

    ChildPlan& child_;
    const GeneWeights& gene_;
    std::int64_t other_;
    std::int64_t start_ = 0;
};

/// Calls f with a layer, or with those that a container holds, in the order of their weights.
void each_leaf(const AnyLayer& layer, const std::function<void(const AnyLayer&)>& f) {
    bool holds_others = false;
    layer.each_inner([&](const AnyLayer& inner) {
        holds_others = true;
        each_leaf(inner, f);
    });
    if (!holds_others) {
        f(layer);
    }
}

/// Each unit of a gene with all that it reads, or not.
void take_units(RandomStream& rng, ChildPlan& child, const GeneWeights& gene, std::int64_t other) {
    const Blueprint& blueprint = child.structure->blueprint();
    UnitTaker taker(child, gene, other);
    if (gene.link >= 0) {
        UnitCoins coins(rng, child.draws.share);
        const Shape shape = gene_parameters(blueprint, gene).front().shape;
        taker.add(coins, TensorAxes{{shape.extents().begin(), shape.extents().end()}});
        return;
    }
    // The row tells how inputs are laid out, which changes nothing here: any does for inner layers.
    const Shape row = chain_shapes(blueprint)[static_cast<std::size_t>(gene.slot)];
    each_leaf(layer_at(blueprint, gene.slot), [&](const AnyLayer& layer) {
        UnitCoins coins(rng, child.draws.share);
        const auto* neurons = std::get_if<Neurons>(&layer.variant());
        const std::vector<ParameterSpec> tensors = layer.parameters();
        for (std::size_t index = 0; index < tensors.size(); ++index) {
            if (neurons != nullptr && tensors[index].connections) {
                taker.add(coins, *neurons);
            } else {
                taker.add(coins, tensor_axes(layer, index, tensors[index], row));
            }
        }
    });
}

/// The share of the other parent between genes that are wholly alike: its weight, or the
/// probability of each element.
float other_share(const SpliceSettings& settings, double lead) {
    const double damping = 1.0 / (1.0 + lead);
    return static_cast<float>(settings.mode == SpliceMode::blend
                                  ? static_cast<double>(settings.alpha) * damping
                                  : 0.5 * damping);
}

/// The share of the other parent in a gene of a child.
double share_of(const ChildPlan& plan, const GeneWeights& gene, const SimilaritySums& sums) {
    if (gene.count == 0) {
        return 0.0;
    }
    std::int64_t taken = 0;
    for (const WeightPiece& piece : plan.pieces) {
        const bool inside = piece.to >= gene.offset && piece.to < gene.offset + gene.count;
        if (!inside || piece.source == WeightSource::first) {
            continue;
        }
        if (piece.source == WeightSource::blend) {
            return static_cast<double>(blend_share(sums, plan.draws.share));
        }
        if (piece.source == WeightSource::second) {
            taken += piece.count;
            continue;
        }
        std::vector<float> draws(static_cast<std::size_t>(piece.count));
        plan.draws.choose.fill_uniform(static_cast<std::uint64_t>(piece.to), draws);
        taken += std::ranges::count_if(draws, [&](float draw) { return draw < plan.draws.share; });
    }
    return static_cast<double>(taken) / static_cast<double>(gene.count);
}

bool mixes(const Structure& fitter, const GeneWeights& gene, const Structure& other,
           const GeneWeights* match) {
    return match != nullptr &&
           (&fitter == &other || same_weights(fitter.blueprint(), gene, other.blueprint(), *match));
}

/// Which signature is that of a gene; none of a link.
std::optional<std::size_t> signature_index(const Dna& dna, const GeneWeights* gene) {
    if (gene == nullptr || gene->link >= 0) {
        return std::nullopt;
    }
    const auto found = std::ranges::find(dna, gene->slot, &LayerSignature::slot);
    return static_cast<std::size_t>(found - dna.begin());
}

SpliceReport report_of(const ChildPlan& plan, const Genome& fitter, const Individual& other,
                       const Genome& child) {
    SpliceReport report;
    report.fitter = dna(fitter);
    report.other = dna(genome_of(other));
    report.child = dna(child);
    const Structure& structure = *plan.structure;
    Partners partners(*other.structure);
    for (const GeneWeights& gene : structure.genes()) {
        const GeneWeights* match = partners.find(structure.gene(gene).id);
        if (gene.link < 0) {
            report.matches.push_back(signature_index(report.other, match));
        }
        if (!mixes(structure, gene, *other.structure, match)) {
            ++report.inherited;
            continue;
        }
        SplicedGene mixed{.name = gene_name(structure.genome(), gene), .similarity = 1.0};
        if (gene.count > 0) {
            const SimilaritySums sums = similarity_sums(
                weights_of(fitter, gene), std::span(other.weights)
                                              .subspan(static_cast<std::size_t>(match->offset),
                                                       static_cast<std::size_t>(match->count)));
            mixed.similarity = static_cast<double>(similarity(sums));
            mixed.share = share_of(plan, gene, sums);
        }
        mixed.weights = mixed.share > 0.0 ? gene.count : 0;
        ++(mixed.weights > 0 ? report.mixed : report.inherited);
        report.genes.push_back(std::move(mixed));
    }
    return report;
}

}  // namespace

std::string_view name(SpliceMode mode) {
    return splice_mode_names.at(static_cast<std::size_t>(mode));
}

double fitness_lead(double fitter, double other) {
    const auto known = [](double fitness) {
        return std::isnan(fitness) ? -std::numeric_limits<double>::infinity() : fitness;
    };
    const double a = known(fitter);
    const double b = known(other);
    CAMBRIAN_ASSERT(a >= b);
    if (a == b) {
        return 0.0;
    }
    if (std::isinf(a) || std::isinf(b)) {
        return std::numeric_limits<double>::infinity();
    }
    const double scale = std::max(std::abs(a), std::abs(b));  // keeps the sums below finite
    return (a / scale - b / scale) / (std::abs(a / scale) + std::abs(b / scale));
}

Genome splice(RandomStream& rng, const SpliceSettings& settings, const Genome& fitter,
              double fitter_fitness, const Genome& other, double other_fitness,
              SpliceReport* report) {
    const bool aligns = settings.align == SpliceAlign::permutation;
    const Individual second{aligns ? aligned(fitter, other) : Genome(other)};
    ChildPlan plan;
    plan.begin(std::make_shared<const Structure>(fitter));
    splice(rng, settings, plan, fitter_fitness, *second.structure, other_fitness);
    Genome child = plan.structure->genome();
    write_weights(plan, fitter.weights, second.weights, child.weights);
    if (report != nullptr) {
        *report = report_of(plan, fitter, second, child);
    }
    return child;
}

void splice(RandomStream& rng, const SpliceSettings& settings, ChildPlan& child,
            double fitter_fitness, const Structure& other, double other_fitness) {
    const double lead = fitness_lead(fitter_fitness, other_fitness);
    const bool fitter_first = lead > 0.0 || rng.chance(0.5F);
    child.draws.choose = rng.field();
    child.draws.share = other_share(settings, lead);
    Partners partners(other);
    for (const GeneWeights& gene : child.structure->genes()) {
        const GeneWeights* match = partners.find(child.structure->gene(gene).id);
        if (gene.count == 0 || !mixes(*child.structure, gene, other, match)) {
            continue;
        }
        switch (settings.mode) {
            case SpliceMode::blend:
            case SpliceMode::uniform:
                break;
            case SpliceMode::point:
                cut(child, gene, match->offset, settings.split, fitter_first);
                continue;
            case SpliceMode::gene:
                if (rng.chance(child.draws.share)) {
                    take(child, gene, match->offset, 0, gene.count);
                }
                continue;
            case SpliceMode::neuron:
                take_units(rng, child, gene, match->offset);
                continue;
        }
        for (WeightPiece& piece : child.range(gene.offset, gene.count)) {
            piece.source =
                settings.mode == SpliceMode::blend ? WeightSource::blend : WeightSource::choose;
            piece.other = match->offset;
        }
    }
}

}  // namespace cambrian::evolve
