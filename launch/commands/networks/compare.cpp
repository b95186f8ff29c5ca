#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/host_memory.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/evolve/evaluation/activation_similarity.hpp"
#include "cambrian/evolve/genome/distance.hpp"
#include "cambrian/evolve/genome/dna.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_codes.hpp"
#include "cambrian/launch/commands/checkpoint_members.hpp"
#include "cambrian/launch/commands/grouping.hpp"
#include "cambrian/launch/commands/network_sources.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/convert/network_preparation.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;

/// Steps of a probe: networks with a state show what they remember.
constexpr std::int64_t probe_steps = 4;
/// Of distances between networks that no run weighs.
constexpr const char* by_default_weights = " by default weights";

struct NamedGenome {
    std::string name;
    evolve::Genome genome;
};

/// What is compared.
struct ComparedNetworks {
    std::vector<NamedGenome> genomes;
    /// Of the runs among the sources; none where there are none, or they do not agree.
    std::optional<evolve::DistanceSettings> distance;
};

/// Genes are those of genotypes, where these develop; all else is of the networks.
ComparedNetworks read_networks(const CommandContext& context, const CompareOptions& options) {
    const bool of_genes = options.measure == compare_measures[3];
    ComparedNetworks all;
    bool agree = true;
    for (const std::string& source : options.sources) {
        if (!is_checkpoint(source)) {
            all.genomes.push_back({source, of_genes ? distributed::read_any(source).genome
                                                    : distributed::read_to_answer(source).genome});
            continue;
        }
        const CheckpointMembers members = read_checkpoint_members(context, source);
        require_members(members.members.size(), members.path.string());
        const evolve::Variation variation(members.experiment.seed, members.experiment.variation);
        for (const evolve::Member& member : members.members) {
            evolve::Genome genome =
                of_genes ? members.genome(member) : members.network(member, variation);
            all.genomes.push_back({options.sources.size() > 1
                                       ? member_name(source, member.birth)
                                       : fmt::format("birth {}", member.birth),
                                   std::move(genome)});
        }
        const evolve::DistanceSettings& distance = members.experiment.species.distance;
        agree = agree && all.distance.value_or(distance) == distance;
        if (options.measure == compare_measures[3] && !agree)
            throw ConfigError(fmt::format(
                "{} weighs genes otherwise than the runs before it (species.distance differs) "
                "compare runs of equal weights, or networks as files",
                source));
        all.distance = distance;
    }
    if (!agree) all.distance.reset();
    return all;
}

/// Throws ConfigError unless there are two networks at least, with the same inputs.
void check_comparable(const std::vector<NamedGenome>& all, bool asked) {
    if (all.size() < 2)
        throw ConfigError(
            "there is one network (a comparison needs two) name another one, or a checkpoint");
    for (const NamedGenome& each : all) {
        const std::int64_t features = all[0].genome.blueprint.input_features;
        if (asked && each.genome.blueprint.input_features != features)
            throw ConfigError(fmt::format(
                "{} reads {} features and {} reads {} (one probe asks both) compare networks of "
                "one task, or by their weights",
                all[0].name, features, each.name, each.genome.blueprint.input_features));
    }
}

std::string slot_text(const evolve::Genome& genome, int slot) {
    return slot == genome.blueprint.grid.slots() ? "head" : fmt::format("slot {}", slot);
}

std::string end_text(const evolve::Genome& genome, int end) {
    return end == input_port ? "input" : slot_text(genome, end);
}

std::string csv_text(const std::vector<NamedGenome>& all, const evolve::Gram& gram) {
    std::string text = "network";
    for (const NamedGenome& each : all) text += "," + csv_cell(each.name);
    text += "\n";
    for (std::size_t i = 0; i < all.size(); ++i) {
        text += csv_cell(all[i].name);
        for (std::size_t j = 0; j < all.size(); ++j)
            text += fmt::format(",{:.9g}", gram[i * all.size() + j]);
        text += "\n";
    }
    return text;
}

/// Mean over all pairs of different networks.
double mean_similarity(const evolve::Gram& gram, std::size_t count) {
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = i + 1; j < count; ++j) sum += gram[i * count + j];
    return sum / (0.5 * static_cast<double>(count * (count - 1)));
}

void print_weights(std::ostream& out, const evolve::Genome& a, const evolve::Genome& b,
                   evolve::DnaMode mode, const std::optional<evolve::DistanceSettings>& weights) {
    const evolve::Comparison comparison =
        evolve::compare(a, b, mode, weights.value_or(evolve::DistanceSettings{}));
    out << fmt::format("overall {:.4f}  matched slots {:.4f}  distance {:.4f}{}\n",
                       comparison.overall, comparison.matched, comparison.distance,
                       weights ? "" : by_default_weights);
    for (const evolve::SlotOverlap& overlap : comparison.overlaps)
        out << fmt::format("  {:<10} overlap {:.4f}\n", slot_text(a, overlap.slot),
                           overlap.overlap);
    for (const evolve::LogicShift& shift : comparison.shifts)
        out << fmt::format("  {} of the first is {} of the second (overlap {:.4f})\n",
                           slot_text(a, shift.from), slot_text(b, shift.to), shift.overlap);
    for (const evolve::LinkOverlap& link : comparison.links)
        out << fmt::format("  {} link {} to {}: {}\n", name(link.link.kind),
                           end_text(a, link.link.source), end_text(a, link.link.target),
                           link.matched ? fmt::format("overlap {:.4f}", link.overlap)
                                        : std::string("of one network only"));
    if (!comparison.links.empty()) out << fmt::format("  links {:.4f}\n", comparison.linked);
    for (const int slot : comparison.toggled)
        out << fmt::format("  {} is disabled in one network only\n", slot_text(a, slot));
}

void print_activations(std::ostream& out, Backend& backend, const evolve::Genome& a,
                       const evolve::Genome& b, const evolve::Probe& probe) {
    const auto of_a = evolve::activation_profile(backend, a, probe);
    const auto of_b = evolve::activation_profile(backend, b, probe);
    out << fmt::format("overall {:.4f} by what layers give for {} rows\n",
                       evolve::activation_similarity(of_a, of_b), probe.steps * probe.batch);
    for (std::size_t i = 0; i < of_a.places.size(); ++i) {
        const auto& place = of_a.places[i];
        const auto other =
            std::ranges::find(of_b.places, place.at, &evolve::ActivationProfile::Place::at);
        const std::string where =
            i + 1 == of_a.places.size()
                ? std::string("head")
                : fmt::format("slot {}", a.blueprint.grid.index(place.at[0], place.at[1],
                                                                place.at[2], place.at[3]));
        if (other != of_b.places.end())
            out << fmt::format("  {:<10} alignment {:.4f}\n", where,
                               evolve::linear_cka(place, *other));
    }
}

/// What is written of all pairs: similarities, or with `history` distances.
struct Pairs {
    evolve::Gram values;
    bool distances = false;

    [[nodiscard]] evolve::Distances as_distances(std::size_t count) const {
        evolve::Distances result{count, values};
        for (std::size_t i = 0; i < count * count; ++i)
            if (!distances) result.values[i] = 1.0 - values[i];
        return result;
    }
};

Pairs pairs_of(const CompareOptions& options, std::span<const evolve::Genome* const> genomes,
               const evolve::DistanceSettings& distance, Backend& backend,
               const evolve::Probe& probe) {
    ThreadPool threads(available_processors());
    if (options.measure == compare_measures[2])
        return {evolve::activation_gram(backend, genomes, probe)};
    if (options.measure == compare_measures[3]) {
        Pairs pairs{evolve::gram_matrix(genomes.size(), threads,
                                        [&](std::size_t i, std::size_t j) {
                                            return evolve::distance(*genomes[i], *genomes[j],
                                                                    distance);
                                        }),
                    true};
        for (std::size_t i = 0; i < genomes.size(); ++i) pairs.values[i * genomes.size() + i] = 0.0;
        return pairs;
    }
    const auto mode = options.measure == compare_measures[1] ? evolve::DnaMode::permutation
                                                             : evolve::DnaMode::strict;
    return {evolve::gram_matrix(genomes, mode, threads)};
}

/// Tables go to a file, to standard output alone, or nowhere.
/// @return whether there is something left to say.
bool write_csv(const CommandContext& context, std::optional<Destination>& csv,
               const std::string& table) {
    if (!csv) return true;
    csv->write(table);
    csv->finish();
    if (csv->standard()) return false;
    context.out << fmt::format("{}: ", csv->name());
    return true;
}

bool asks_for_table_of_groups(const CompareOptions& options) {
    return options.clusters > 0 || options.group || options.groups > 0;
}

void print_groups(const CommandContext& context, const CompareOptions& options,
                  std::optional<Destination>& csv, const evolve::Distances& distances,
                  const std::vector<std::string>& names) {
    if (asks_for_table_of_groups(options)) {
        const Grouping found = grouping(options, distances);
        if (!write_csv(context, csv, grouping_csv(found, names))) return;
        context.out << grouping_text(found, distances, names);
    }
    if (!options.tree.empty()) context.out << dendrogram(options, distances, names);
}

/// Throws ConfigError where the products of all pairs of rows, which each layer has, fill the host.
void check_probe(const std::vector<NamedGenome>& all, std::uint64_t probes) {
    std::int64_t layers = 0;
    for (const NamedGenome& each : all)
        layers += 1 + std::ranges::count_if(each.genome.blueprint.slots,
                                            [](const auto& slot) { return slot.has_value(); });
    const double rows = static_cast<double>(probes) * static_cast<double>(probe_steps);
    const double bytes = rows * rows * sizeof(double) * static_cast<double>(layers);
    if (const auto memory = static_cast<double>(host_memory()); bytes > 0.5 * memory)
        throw ConfigError(fmt::format(
            "--probes is {} (of {} layers {:.3g} GB are kept, and this host has {:.3g}) ask for "
            "fewer, or compare fewer networks",
            probes, layers, bytes / 1e9, memory / 1e9));
}

/// Throws ConfigError for an option that nothing of what is asked for reads, and for a tree that
/// has no place beside a table.
void check_options(const CompareOptions& options, bool asks_networks,
                   const std::optional<Destination>& csv) {
    if (options.probes && !asks_networks)
        throw ConfigError("--probes is given (only --measure activation reads it) leave it out");
    if (options.linkage && !options.group && options.groups == 0 && options.tree.empty())
        throw ConfigError(
            "--linkage is given (only groups and trees have one) add --group, --groups or --tree");
    if (options.tree.empty() || !csv) return;
    if (!asks_for_table_of_groups(options))
        throw ConfigError(
            "--csv and --tree are given (a tree is no table) ask for --group, --groups or "
            "--cluster, or leave one out");
    if (csv->standard())
        throw ConfigError(fmt::format(
            "--tree and --csv {} are given (standard output has the table alone) name a file with "
            "--csv, or leave one out",
            options.csv));
}

}  // namespace

int compare_command(const CommandContext& context, const CompareOptions& options) {
    const bool asked = options.measure == compare_measures[2];
    std::optional<Destination> csv;
    if (!options.csv.empty()) csv.emplace(context, options.csv, options.sources);
    check_options(options, asked, csv);
    const ComparedNetworks networks = read_networks(context, options);
    const std::vector<NamedGenome>& all = networks.genomes;
    check_comparable(all, asked);
    if (asked) check_probe(all, options.probes.value_or(default_probes));
    const auto backend = make_reference_backend(Precision::f64);
    const evolve::Probe probe = evolve::random_probe(
        all[0].genome.blueprint.input_features, probe_steps,
        static_cast<std::int64_t>(options.probes.value_or(default_probes)), options.seed);
    if (all.size() == 2 && options.csv.empty() && !asks_for_groups(options) &&
        options.measure != compare_measures[3]) {
        if (asked)
            print_activations(context.out, *backend, all[0].genome, all[1].genome, probe);
        else
            print_weights(context.out, all[0].genome, all[1].genome,
                          options.measure == compare_measures[1] ? evolve::DnaMode::permutation
                                                                 : evolve::DnaMode::strict,
                          networks.distance);
        return exit_done;
    }
    std::vector<const evolve::Genome*> genomes;
    std::vector<std::string> names;
    for (const NamedGenome& each : all) {
        genomes.push_back(&each.genome);
        names.push_back(each.name);
    }
    const Pairs pairs = pairs_of(
        options, genomes, networks.distance.value_or(evolve::DistanceSettings{}), *backend, probe);
    if (asks_for_groups(options)) {
        print_groups(context, options, csv, pairs.as_distances(all.size()), names);
        return exit_done;
    }
    if (write_csv(context, csv, csv_text(all, pairs.values)))
        context.out << fmt::format("{} networks, mean {} of pairs {:.4f}{}\n", all.size(),
                                   pairs.distances ? "distance" : "similarity",
                                   mean_similarity(pairs.values, all.size()),
                                   pairs.distances && !networks.distance ? by_default_weights : "");
    return exit_done;
}

}  // namespace cambrian::launch
