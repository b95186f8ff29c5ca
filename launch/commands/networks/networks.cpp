#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/variation/graft/graft.hpp"
#include "cambrian/evolve/variation/neat/neat_crossover.hpp"
#include "cambrian/evolve/variation/splice.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/config/schema.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

std::string fitness_text(double fitness) {
    return std::isfinite(fitness) ? fmt::format("{:.6g}", fitness) : std::string("unknown");
}

std::string gene_line(const std::string& place, const evolve::Gene& gene) {
    return fmt::format("  gene {:<14} {}  born {}\n", place, gene.id.hex(), gene.born);
}

std::string gene_lines(const evolve::Genome& genome) {
    std::string text;
    for (std::size_t slot = 0; slot < genome.slot_genes.size(); ++slot)
        if (genome.blueprint.slots[slot])
            text += gene_line(fmt::format("slot {}", slot), genome.slot_genes[slot]);
    text += gene_line("head", genome.head_gene);
    for (std::size_t link = 0; link < genome.link_genes.size(); ++link)
        text += gene_line(fmt::format("link {}", link), genome.link_genes[link]);
    for (const evolve::NeuronGenes& genes : genome.neuron_genes) {
        for (std::size_t i = 0; i < genes.neurons.size(); ++i)
            text += gene_line(fmt::format("neuron {}", i), genes.neurons[i]);
        for (std::size_t i = 0; i < genes.connections.size(); ++i)
            text += gene_line(fmt::format("connection {}", i), genes.connections[i]);
    }
    return text;
}

std::string origin_line(const distributed::NetworkFile& file) {
    if (file.identity_json.empty()) return "  made by hand (no run)\n";
    const Json identity = distributed::identity_of(file);
    const bool trained = identity.contains("training");
    return fmt::format("  task {}, seed {}, {} {}, {} {}\n",
                       identity.at("task").at("type").get<std::string>(),
                       quoted(identity.at("run").at("seed")), trained ? "epoch" : "generation",
                       file.generation, trained ? "individual" : "birth", file.birth);
}

evolve::SpliceMode splice_mode(const std::string& text) {
    const auto& names = evolve::splice_mode_names;
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        throw ConfigError(fmt::format("--mode is {} (allowed: {}, {}, {}, {}) choose one", text,
                                      fmt::join(names, ", "), neat_mode, graft_mode,
                                      residual_graft_mode));
    return static_cast<evolve::SpliceMode>(found - names.begin());
}

/// Fitness of both parents as a splice compares it.
struct Contest {
    double first = 0.0;
    double second = 0.0;
    bool known = true;
};

/// Throws ConfigError for a fitness given that is not finite.
Contest contest(const SpliceOptions& options, double first, double second) {
    if (!options.fitness.empty()) {
        for (const double fitness : options.fitness)
            if (!std::isfinite(fitness))
                throw ConfigError(fmt::format(
                    "--fitness has {} (a fitness is finite) give two numbers, or leave it out",
                    fitness));
        return {options.fitness[0], options.fitness[1]};
    }
    if (!std::isfinite(first) || !std::isfinite(second)) return {.known = false};
    return {first, second};
}

/// The share of the other parent in the weights of the child.
double share_of_other(const evolve::SpliceReport& report, const evolve::Genome& child) {
    double weights = 0.0;
    for (const evolve::SplicedGene& gene : report.genes)
        weights += gene.share * static_cast<double>(gene.weights);
    return child.weights.empty() ? 0.0 : weights / static_cast<double>(child.weights.size());
}

void print_report(std::ostream& out, const evolve::SpliceReport& report) {
    out << fmt::format("  {:<16} {:>10} {:>14} {:>10}\n", "gene", "similarity", "other's share",
                       "weights");
    for (const evolve::SplicedGene& gene : report.genes)
        out << fmt::format("  {:<16} {:>10.4f} {:>14.4f} {:>10}\n", gene.name, gene.similarity,
                           gene.share, gene.weights);
    out << fmt::format("  {} genes mixed, {} inherited from the fitter parent\n", report.mixed,
                       report.inherited);
}

/// Cosine of two layers, as text; "-" where there is no second one.
std::string likeness(const evolve::LayerSignature& a, const evolve::LayerSignature* b) {
    return b == nullptr ? "-" : fmt::format("{:.4f}", evolve::similarity(a, *b));
}

/// The DNA of the child beside those of its parents, layer by layer: it has the layers of the
/// fitter parent, of the other one those of the same genes.
void print_dna(std::ostream& out, const evolve::SpliceReport& report) {
    out << fmt::format("  {:<10} {:<20} {:>9} {:>14} {:>14} {:>14}\n", "DNA", "type", "weights",
                       "child, fitter", "child, other", "fitter, other");
    for (std::size_t i = 0; i < report.child.size(); ++i) {
        const evolve::LayerSignature& child = report.child[i];
        const bool head = i + 1 == report.child.size();
        const evolve::LayerSignature& fitter = report.fitter[i];
        const evolve::LayerSignature* other =
            report.matches[i] ? &report.other[*report.matches[i]] : nullptr;
        out << fmt::format("  {:<10} {:<20} {:>9} {:>14} {:>14} {:>14}\n",
                           head ? "head" : fmt::format("slot {}", child.slot), child.type,
                           child.direction.size(), likeness(child, &fitter), likeness(child, other),
                           likeness(fitter, other));
    }
}

}  // namespace

int inspect_command(const CommandContext& context, const InspectOptions& options) {
    const distributed::NetworkFile file = distributed::read_any(options.network);
    const Network network(file.genome.blueprint);
    if (options.json) {
        // Names of columns come from files and may be of any encoding.
        context.out << network_json(file).dump(2, ' ', false, Json::error_handler_t::replace)
                    << '\n';
        return exit_done;
    }
    if (options.dot) {
        context.out << graphviz_text(network, options.network);
        return exit_done;
    }
    context.out << fmt::format("{}: {}\n", options.network, structure_line(network))
                << origin_line(file) << fmt::format("  fitness {}", fitness_text(file.fitness))
                << (file.validated ? fmt::format(", validated {:.6g}\n", *file.validated) : "\n")
                << (file.preparation ? preparation_text(*file.preparation) : "")
                << structure_table(network) << gene_lines(file.genome);
    return exit_done;
}

namespace {

/// Both parents, the fitter one first.
struct Couple {
    const std::string& fitter_path;
    const distributed::NetworkFile& fitter;
    double fitter_fitness;
    const std::string& other_path;
    const distributed::NetworkFile& other;
    double other_fitness;
};

/// Throws ConfigError for networks that are not of one task.
void check_couple(const Couple& couple) {
    const Blueprint& a = couple.fitter.genome.blueprint;
    const Blueprint& b = couple.other.genome.blueprint;
    if (a.input_features != b.input_features || a.output_features != b.output_features)
        throw ConfigError(
            fmt::format("cannot splice {} and {} ({} to {} and {} to {} features) use "
                        "networks of one task",
                        couple.fitter_path, couple.other_path, a.input_features, a.output_features,
                        b.input_features, b.output_features));
}

/// The child of a crossover of NEAT. Throws ConfigError where there are no single neurons.
evolve::Genome crossed(std::ostream& lines, const SpliceOptions& options, const Couple& couple) {
    if (options.align != evolve::splice_align_names[0])
        throw ConfigError(
            "--align is given (--mode neat matches neurons by their history) leave it out");
    for (const auto& [path, file] : {std::pair(couple.fitter_path, &couple.fitter),
                                     std::pair(couple.other_path, &couple.other)})
        if (file->genome.neuron_genes.empty())
            throw ConfigError(fmt::format(
                "--mode is neat ({} has no neurons with a history: evolution of genome.type "
                "\"neat\" makes them) choose another mode",
                path));
    if (options.report) {
        const evolve::GeneCounts counts = evolve::count_genes(
            evolve::history_of(couple.fitter.genome), evolve::history_of(couple.other.genome));
        lines << fmt::format(
            "  {} genes match, {} disjoint, {} excess: compatibility distance {:.6g}\n",
            counts.matching, counts.disjoint, counts.excess,
            evolve::distance(couple.fitter.genome, couple.other.genome));
    }
    RandomStream rng(random_key(options.seed, "splice"), 0);
    return evolve::cross(rng, evolve::NeatSettings{}, couple.fitter.genome, couple.fitter_fitness,
                         couple.other.genome, couple.other_fitness);
}

evolve::Genome spliced(const SpliceOptions& options, const Couple& couple,
                       evolve::SpliceReport& report) {
    evolve::SpliceSettings settings;
    settings.mode = splice_mode(options.mode);
    settings.alpha = options.alpha.value_or(settings.alpha);
    settings.split = options.split.value_or(settings.split);
    if (options.align == evolve::splice_align_names[1])
        settings.align = evolve::SpliceAlign::permutation;
    RandomStream rng(random_key(options.seed, "splice"), 0);
    return evolve::splice(rng, settings, couple.fitter.genome, couple.fitter_fitness,
                          couple.other.genome, couple.other_fitness, &report);
}

void print_splice(std::ostream& lines, const SpliceOptions& options, const Couple& couple,
                  const evolve::Genome& child, const evolve::SpliceReport& report) {
    if (options.report) {
        print_report(lines, report);
        print_dna(lines, report);
    }
    constexpr double little = 0.01;
    const double share = share_of_other(report, child);
    const std::string copy =
        share < little ? ": the child is almost a copy of " + couple.fitter_path : "";
    if (options.report || share < little)
        lines << fmt::format("  {:.3g} % of the weights are the other parent's{}\n", 100.0 * share,
                             copy);
}

/// Options that only some modes read. Throws ConfigError where another mode is asked for.
void check_mode_options(const SpliceOptions& options) {
    const auto of_mode = [&](bool given, const char* option, evolve::SpliceMode mode) {
        if (given && options.mode != evolve::name(mode))
            throw ConfigError(fmt::format("{} is given (only --mode {} reads it) leave it out",
                                          option, evolve::name(mode)));
    };
    of_mode(options.alpha.has_value(), "--alpha", evolve::SpliceMode::blend);
    of_mode(options.split.has_value(), "--split", evolve::SpliceMode::point);
    const bool grafts = options.mode == graft_mode || options.mode == residual_graft_mode;
    if (!grafts && (options.at || options.from || options.combine || options.gain))
        throw ConfigError(
            "--at, --from, --combine or --gain is given (only grafts read them) add --mode graft "
            "or --mode residual_graft");
    if (options.mode == residual_graft_mode && options.combine)
        throw ConfigError("--combine is given (a residual graft adds) leave it out");
    if (options.mode == graft_mode && options.gain)
        throw ConfigError(
            "--gain is given (it belongs to --mode residual_graft) leave it out, or choose that");
    if (grafts && (!options.fitness.empty() || options.report ||
                   options.align != evolve::splice_align_names[0]))
        throw ConfigError(
            "--fitness, --report or --align is given (a graft mixes no weights: the first network "
            "stays as it is) leave them out");
}

/// The second network, or a layer of it, in the first.
int graft_networks(const CommandContext& context, const SpliceOptions& options, Destination& output,
                   const distributed::NetworkFile& first, const distributed::NetworkFile& second) {
    evolve::GraftSettings settings;
    settings.residual = options.mode == residual_graft_mode;
    settings.gain = options.gain.value_or(settings.gain);
    settings.at = options.at;
    settings.from = options.from;
    if (options.combine)
        settings.combine = static_cast<evolve::GraftCombine>(
            std::ranges::find(evolve::graft_combine_names, *options.combine) -
            evolve::graft_combine_names.begin());
    distributed::NetworkFile child;
    std::string note;
    // One layer alone may come from a network of any task.
    child.preparation =
        options.at ? first.preparation
                   : child_preparation({options.first, first}, {options.second, second}, note);
    child.genome = evolve::graft(first.genome, second.genome, settings);
    output.write(distributed::encode(child));
    output.finish();
    output.lines() << fmt::format(
        "{}: {} with {} of {}, {} weights\n", output.name(), options.first,
        options.at ? fmt::format("slot {}", options.from.value_or(*options.at))
                   : std::string("all"),
        options.second, child.genome.weights.size());
    context.err << note;
    return exit_done;
}

}  // namespace

int splice_command(const CommandContext& context, const SpliceOptions& options) {
    check_mode_options(options);
    require_network_ending(options.output);
    Destination output(context, options.output, {options.first, options.second});
    const distributed::NetworkFile first = distributed::read_network(options.first);
    const distributed::NetworkFile second = distributed::read_network(options.second);
    distributed::require_network(first, options.first);
    distributed::require_network(second, options.second);
    if (options.mode == graft_mode || options.mode == residual_graft_mode)
        return graft_networks(context, options, output, first, second);
    const Contest fitness = contest(options, first.fitness, second.fitness);
    const Couple couple =
        fitness.second > fitness.first
            ? Couple{options.second, second, fitness.second, options.first, first, fitness.first}
            : Couple{options.first, first, fitness.first, options.second, second, fitness.second};
    check_couple(couple);
    distributed::NetworkFile child;
    std::string note;
    child.preparation = child_preparation({couple.fitter_path, couple.fitter},
                                          {couple.other_path, couple.other}, note);
    const bool neat = options.mode == neat_mode;
    evolve::SpliceReport report;
    child.genome =
        neat ? crossed(output.lines(), options, couple) : spliced(options, couple, report);
    output.write(distributed::encode(child));
    output.finish();
    const bool equal = fitness.first == fitness.second;
    const std::string role = neat && equal
                                 ? "and the other are equally fit: the smaller gives the structure"
                                 : (equal ? "gives the structure" : "is the fitter parent");
    std::ostream& lines = output.lines();
    lines << fmt::format("{}: {} {}, {} weights\n", output.name(), couple.fitter_path, role,
                         child.genome.weights.size());
    if (!fitness.known)
        lines << "  the fitness of one or both is not known: they count as equal (--fitness "
                 "A B says it)\n";
    context.err << note;
    if (!neat) print_splice(lines, options, couple, child.genome, report);
    return exit_done;
}

}  // namespace cambrian::launch
