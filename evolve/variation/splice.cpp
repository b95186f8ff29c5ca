#include "cambrian/evolve/variation/splice.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/evolve/genome/genome_layout.hpp"
#include "cambrian/evolve/genome/weight_math.hpp"

namespace cambrian::evolve {

namespace {

constexpr std::size_t splice_chunk = 1024;  // a multiple of four: chunks join to one run of draws

/// Weights of one gene: the child's, which start as the fitter parent's, and the other parent's.
struct Pair {
    std::span<float> child;
    std::span<const float> other;
};

double blend(const Pair& pair, double share) {
    const auto theirs = static_cast<float>(share);
    const float ours = 1.0F - theirs;
    for (std::size_t i = 0; i < pair.child.size(); ++i) {
        const float mixed = ours * pair.child[i] + theirs * pair.other[i];
        pair.child[i] = pair.child[i] == pair.other[i] ? pair.child[i] : mixed;
    }
    return static_cast<double>(theirs);
}

/// Each weight from the other parent with the given probability. Returns the share that was.
double choose(RandomStream& rng, const Pair& pair, float probability) {
    std::array<float, splice_chunk> draws;
    std::size_t taken = 0;
    for (std::size_t start = 0; start < pair.child.size(); start += splice_chunk) {
        const std::size_t count = std::min(splice_chunk, pair.child.size() - start);
        rng.fill_uniform(std::span(draws).first(count));
        for (std::size_t i = 0; i < count; ++i) {
            const bool take = draws[i] < probability;
            taken += take ? 1U : 0U;
            pair.child[start + i] = take ? pair.other[start + i] : pair.child[start + i];
        }
    }
    return static_cast<double>(taken) / static_cast<double>(pair.child.size());
}

/// Cuts every tensor in two: one end from the fitter parent, the rest from the other.
double cut(const Pair& pair, const std::vector<ParameterSpec>& tensors, float split,
           bool fitter_first) {
    std::size_t start = 0;
    std::size_t taken = 0;
    for (const ParameterSpec& tensor : tensors) {
        const auto size = static_cast<std::size_t>(tensor.shape.elements());
        const auto kept = static_cast<std::size_t>(static_cast<double>(size) * double{split});
        const std::size_t from = start + (fitter_first ? kept : 0);
        std::copy_n(pair.other.begin() + static_cast<std::ptrdiff_t>(from), size - kept,
                    pair.child.begin() + static_cast<std::ptrdiff_t>(from));
        taken += size - kept;
        start += size;
    }
    return static_cast<double>(taken) / static_cast<double>(pair.child.size());
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

/// Mixes matching genes one by one.
class Splicer {
  public:
    Splicer(RandomStream& rng, const SpliceSettings& settings, double lead)
        : rng_(rng),
          settings_(settings),
          damping_(1.0 / (1.0 + lead)),
          fitter_first_(lead > 0.0 || rng.chance(0.5F)) {}

    [[nodiscard]] SplicedGene mix(const Blueprint& blueprint, const GeneWeights& gene, Pair pair) {
        SplicedGene result;
        result.similarity = cosine(pair.child, pair.other);
        switch (settings_.mode) {
            case SpliceMode::blend:
                result.share = blend(pair, std::max(result.similarity, 0.0) *
                                               static_cast<double>(settings_.alpha) * damping_);
                break;
            case SpliceMode::point:
                result.share =
                    cut(pair, gene_parameters(blueprint, gene), settings_.split, fitter_first_);
                break;
            case SpliceMode::uniform:
                result.share = choose(rng_, pair, static_cast<float>(0.5 * damping_));
                break;
        }
        result.weights = result.share > 0.0 ? gene.count : 0;
        return result;
    }

  private:
    RandomStream& rng_;
    const SpliceSettings& settings_;
    double damping_;
    bool fitter_first_;
};

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
    Individual child{Genome(fitter)};
    splice_into(child, rng, settings, fitter_fitness, Individual(other), other_fitness, report);
    return genome_of(child);
}

void splice_into(Individual& child, RandomStream& rng, const SpliceSettings& settings,
                 double fitter_fitness, const Individual& other, double other_fitness,
                 SpliceReport* report) {
    Splicer splicer(rng, settings, fitness_lead(fitter_fitness, other_fitness));
    const Structure& structure = *child.structure;
    Partners partners(*other.structure);
    SpliceReport counts;
    for (const GeneWeights& gene : structure.genes()) {
        const GeneWeights* match = partners.find(structure.gene(gene).id);
        const bool mixes = match != nullptr &&
                           (child.structure == other.structure ||
                            same_weights(structure.blueprint(), gene, other.blueprint(), *match));
        if (!mixes) {
            ++counts.inherited;
            continue;
        }
        SplicedGene mixed{.name = {}, .similarity = 1.0};
        if (gene.count > 0) {
            const Pair pair{.child = std::span(child.weights)
                                         .subspan(static_cast<std::size_t>(gene.offset),
                                                  static_cast<std::size_t>(gene.count)),
                            .other = std::span(other.weights)
                                         .subspan(static_cast<std::size_t>(match->offset),
                                                  static_cast<std::size_t>(match->count))};
            mixed = splicer.mix(structure.blueprint(), gene, pair);
        }
        ++(mixed.weights > 0 ? counts.mixed : counts.inherited);
        if (report != nullptr) {
            mixed.name = gene_name(structure.genome(), gene);
            counts.genes.push_back(std::move(mixed));
        }
    }
    if (report != nullptr) {
        *report = std::move(counts);
    }
}

}  // namespace cambrian::evolve
