#include "cambrian/distributed/coordinator/generation_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <system_error>
#include <utility>

#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/strategy/islands.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::size_t islands_at = 2;
constexpr std::size_t species_at = 3;
constexpr std::size_t timings_at = 4;
constexpr std::array<const char*, GenerationLog::files> names{
    "generations.csv", individuals_name, "islands.csv", "species.csv", "timings.csv"};
constexpr const char* species_header =
    "id,size,best,mean,age,improved,offspring,threshold,representative\n";
constexpr const char* islands_header = "generation,island,best,mean,worst,invalid\n";
constexpr const char* timings_header =
    "generation,rank,evaluate,vary,wait,communicate,compiled,splits,fallbacks,fetched,remade\n";

std::string generations_header(const LoggedParts& parts) {
    return fmt::format(
        "generation,evaluations,best,mean,worst,validated,parameters,{}{}{}{}{}env_steps,redrawn,"
        "invalid\n",
        parts.task ? "task," : "", parts.species ? "species,diversity," : "",
        parts.complexity ? "complexity,simplifying," : "", parts.bytes ? "bytes," : "",
        parts.products ? "products," : "");
}

void append_generation(std::string& text, const GenerationReport& report) {
    fmt::format_to(
        std::back_inserter(text), "{},{},{},{},{},{},{},{}{}{}{}{}{},{},{}\n", report.generation,
        report.evaluations, report.best, report.mean, report.worst,
        report.validated ? fmt::format("{}", *report.validated) : std::string(), report.parameters,
        report.task ? fmt::format("{},", *report.task) : std::string(),
        report.species ? fmt::format("{},{},", report.species->count, report.species->effective)
                       : std::string(),
        report.complexity
            ? fmt::format("{},{},", report.complexity->mean, report.complexity->simplifying)
            : std::string(),
        report.bytes ? fmt::format("{},", *report.bytes) : std::string(),
        report.products ? fmt::format("{},", *report.products) : std::string(), report.env_steps,
        report.retries, report.invalid);
}

/// @param species of each position; empty where there are none.
LoggedIndividual individual_of(const GenerationColumns& columns, std::size_t position,
                               std::span<const std::uint64_t> species) {
    const evolve::Strategy& strategy = *columns.round->strategy;
    const evolve::Birth birth = strategy.birth(position);
    LoggedIndividual logged;
    logged.id = birth.id;
    logged.recipe = birth.recipe;
    for (const evolve::Parent& parent : birth.parents) {
        logged.parents.at(logged.parent_count++) = parent.birth;
    }
    logged.status = columns.scores.status[position];
    logged.fitness = columns.scores.fitness[position];
    logged.evaluated = columns.evaluators[position] != nobody;
    // Where all that were evaluated failed, nobody told details.
    if (logged.evaluated && !columns.details.parameters.empty()) {
        logged.env_steps = columns.details.env_steps[position];
        logged.parameters = columns.details.parameters[position];
        logged.retries = columns.details.retries[position];
    }
    logged.origin = evolve::origin_of(strategy, birth);
    logged.island = birth.island;
    logged.species = species.empty() ? 0 : species[position];
    return logged;
}

/// Positions of those that the decision keeps, and of the champion, in their order.
std::vector<std::uint64_t> survivors(const GenerationColumns& columns) {
    const evolve::BirthId first = columns.round->strategy->first_birth();
    std::vector<std::uint64_t> positions;
    // What was born long ago may be kept, too.
    const auto add = [&](evolve::BirthId birth) {
        if (birth >= first && birth - first < columns.scores.size()) {
            positions.push_back(birth - first);
        }
    };
    for (const evolve::Member& member : columns.next->strategy->parent_pool()) {
        add(member.birth);
    }
    if (columns.champion) {
        add(*columns.champion);
    }
    std::ranges::sort(positions);
    // Who migrates stays at home, too.
    const auto twice = std::ranges::unique(positions);
    positions.erase(twice.begin(), twice.end());
    return positions;
}

std::vector<std::uint64_t> logged_positions(const GenerationColumns& columns,
                                            LoggedIndividuals logged) {
    if (logged == LoggedIndividuals::survivors) {
        return survivors(columns);
    }
    std::vector<std::uint64_t> positions(columns.scores.size());
    std::iota(positions.begin(), positions.end(), std::uint64_t{0});
    return positions;
}

}  // namespace

bool uses_formats(const Experiment& experiment) {
    const evolve::VariationSettings& variation = experiment.variation;
    const auto brings = [](const evolve::MutationSettings& mutation) {
        return mutation.dtype_rate > 0.0F ||
               (mutation.layer_insert_rate > 0.0F && mutation.formats.weights != Dtype::float32);
    };
    return experiment.selection.bytes_weight > 0.0 || brings(variation.mutation) ||
           std::ranges::any_of(
               variation.islands,
               [&](const evolve::IslandVariation& island) { return brings(island.mutation); }) ||
           std::ranges::any_of(evolve::founder_networks(variation),
                               [](const Blueprint* network) { return encodes_weights(*network); });
}

LoggedParts logged_parts(const Experiment& experiment) {
    return {experiment.log.individuals,
            experiment.islands.count > 1,
            !make_strategy(experiment)->kinship().empty(),
            experiment.variation.complexity.on(),
            uses_formats(experiment),
            !experiment.changes.empty(),
            prices_products(experiment),
            experiment.log.tensorboard};
}

GenerationLog::GenerationLog(const std::filesystem::path& directory, const Lengths& lengths,
                             const std::optional<GenerationReport>& last, LoggedParts parts,
                             Prefixes known)
    : parts_(std::move(parts)),
      generations_(directory / names[0], lengths[0], std::move(known[0])),
      timings_(directory / names[timings_at],
               whole_lines(directory / names[timings_at], lengths[timings_at], timings_header)) {
    if (parts_.individuals != LoggedIndividuals::none || lengths[individuals_at] > 0) {
        individuals_.emplace(directory / names[individuals_at], lengths[individuals_at],
                             std::move(known[individuals_at]));
    } else {
        // Of a run that ended before its first checkpoint.
        std::filesystem::remove(directory / names[individuals_at]);
    }
    if (parts_.islands) {
        islands_.emplace(directory / names[islands_at], lengths[islands_at],
                         std::move(known[islands_at]));
    }
    if (parts_.species) {
        species_.emplace(directory / names[species_at], lengths[species_at],
                         std::move(known[species_at]));
    }
    const std::string species_columns =
        std::string(parts_.islands ? "generation,island," : "generation,") + species_header;
    const std::string generation_columns = generations_header(parts_);
    const std::array<std::pair<AppendFile*, const char*>, 4> headers{
        {{&generations_, generation_columns.c_str()},
         {islands_ ? &*islands_ : nullptr, islands_header},
         {species_ ? &*species_ : nullptr, species_columns.c_str()},
         {&timings_, timings_header}}};
    for (const auto& [file, header] : headers) {
        if (file != nullptr && file->length() == 0) {
            file->pending() = header;
            file->flush();
        }
    }
    if (individuals_ && individuals_->length() == 0) {
        individuals_->append(encode(IndividualBlock{0, parts_.islands, {}, parts_.species}));
        individuals_->flush();
    }
    last_line_ = generations_.length();
    before_last_line_ = generations_.checksum();
    if (last) {
        amend(*last);
    }
    if (parts_.events) {
        events_.emplace(directory / names[0], false);
    }
}

void GenerationLog::append(const GenerationReport& report, const GenerationColumns& columns,
                           std::span<const RankSeconds> seconds) {
    last_line_ = generations_.length();
    before_last_line_ = generations_.checksum();
    std::string line;
    append_generation(line, report);
    generations_.pending() += line;
    if (parts_.individuals != LoggedIndividuals::none) {
        append_individuals(columns);
    }
    if (islands_) {
        append_islands(columns);
    }
    if (species_) {
        append_species(columns);
    }
    for (const RankSeconds& rank : seconds) {
        if (rank.cost == ShardCost{}) {
            continue;  // In the steady state most ranks have no births of a block.
        }
        fmt::format_to(std::back_inserter(timings_.pending()),
                       "{},{},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{},{},{}\n", report.generation,
                       rank.rank, rank.cost.evaluate, rank.cost.vary, rank.cost.wait,
                       rank.cost.communicate, rank.cost.programs_compiled, rank.cost.memory_splits,
                       rank.cost.fallbacks, rank.cost.fetched, rank.cost.remade);
    }
    // generations.csv last: a line there means the generation's other lines are there too.
    timings_.flush();
    generations_.flush();
    if (events_) {
        events_->append(line);
        events_->flush();
    }
}

void GenerationLog::append_individuals(const GenerationColumns& columns) {
    const std::vector<std::uint64_t> positions = logged_positions(columns, parts_.individuals);
    IndividualBlock block{columns.round->generation(), parts_.islands, {}, parts_.species};
    const std::vector<std::uint64_t> species =
        parts_.species ? columns.round->strategy->species_of(columns.scores)
                       : std::vector<std::uint64_t>{};
    for (std::size_t begin = 0; begin < positions.size(); begin += max_block_individuals) {
        const std::size_t end = std::min(begin + max_block_individuals, positions.size());
        block.individuals.clear();
        for (std::size_t i = begin; i < end; ++i) {
            block.individuals.push_back(individual_of(columns, positions[i], species));
        }
        individuals_->append(encode(block));
    }
    individuals_->flush();
}

void GenerationLog::append_islands(const GenerationColumns& columns) {
    const evolve::Strategy& strategy = *columns.round->strategy;
    std::uint64_t begin = 0;
    while (begin < columns.scores.size()) {
        const std::uint32_t island = strategy.birth(begin).island;
        std::uint64_t end = begin + 1;
        while (end < columns.scores.size() && strategy.birth(end).island == island) {
            ++end;
        }
        const evolve::FitnessRange range = evolve::fitness_range(columns.scores, begin, end);
        fmt::format_to(std::back_inserter(islands_->pending()), "{},{},{},{},{},{}\n",
                       columns.round->generation(), island, range.best, range.mean, range.worst,
                       range.invalid);
        begin = end;
    }
    islands_->flush();
}

void GenerationLog::append_species(const GenerationColumns& columns) {
    const std::uint64_t generation = columns.round->generation();
    auto text = std::back_inserter(species_->pending());
    for (const evolve::SpeciesSummary& one : columns.next->strategy->species()) {
        if (one.born > generation) {
            continue;  // Migrants, who have had no births here.
        }
        fmt::format_to(text, "{},{}{},{},{},{},{},{},{},{},{}\n", generation,
                       parts_.islands ? fmt::format("{},", one.island) : "", one.id, one.size,
                       one.best, one.mean, generation - one.born, one.improved, one.offspring,
                       one.threshold,
                       one.representative ? fmt::format("{}", *one.representative) : "");
    }
    species_->flush();
}

void GenerationLog::amend(const GenerationReport& report) {
    std::string line;
    append_generation(line, report);
    generations_.cut(last_line_);
    generations_.pending() += line;
    generations_.flush();
    if (events_) {
        events_->amend(line);
        events_->flush();
    }
}

void GenerationLog::sync() {
    timings_.sync();
    for (std::optional<AppendFile>* file : {&individuals_, &islands_, &species_}) {
        if (*file) {
            (*file)->sync();
        }
    }
    generations_.sync();
    if (events_) {
        events_->sync();
    }
}

GenerationLog::Lengths GenerationLog::lengths() const {
    return {last_line_, individuals_ ? individuals_->length() : 0,
            islands_ ? islands_->length() : 0, species_ ? species_->length() : 0,
            timings_.length()};
}

GenerationLog::Checksums GenerationLog::checksums() const {
    return {before_last_line_, individuals_ ? individuals_->checksum() : Hash128{},
            islands_ ? islands_->checksum() : Hash128{},
            species_ ? species_->checksum() : Hash128{}};
}

std::optional<std::string> GenerationLog::shorter(const std::filesystem::path& directory,
                                                  const Lengths& lengths) {
    for (std::size_t i = 0; i < result_files; ++i) {
        std::error_code error;
        const std::uintmax_t size = std::filesystem::file_size(directory / names[i], error);
        if (lengths[i] > 0 && (error || size < lengths[i])) {
            return names[i];
        }
    }
    return std::nullopt;
}

std::optional<std::string> GenerationLog::changed(const std::filesystem::path& directory,
                                                  const Lengths& lengths,
                                                  const Checksums& checksums, Prefixes& known) {
    for (std::size_t i = 0; i < result_files; ++i) {
        const Content content = i == individuals_at ? Content::blocks : Content::lines;
        if (!unchanged(directory / names[i], lengths[i], checksums[i], content, known[i])) {
            return names[i];
        }
    }
    return std::nullopt;
}

}  // namespace cambrian::distributed
