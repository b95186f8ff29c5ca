#include "cambrian/distributed/coordinator/generation_log.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::array<const char*, GenerationLog::files> names{"generations.csv", "individuals.csv",
                                                              "timings.csv"};
constexpr const char* generations_header =
    "generation,evaluations,best,mean,worst,validated,parameters,env_steps,redrawn,"
    "invalid\n";
constexpr const char* individuals_header =
    "generation,id,recipe,parents,status,fitness,evaluations,env_steps,parameters,redrawn,origin\n";
constexpr const char* timings_header =
    "generation,rank,evaluate,vary,wait,communicate,compiled,splits,fallbacks\n";

void append_generation(std::string& text, const GenerationReport& report) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{},{},{}\n", report.generation,
                   report.evaluations, report.best, report.mean, report.worst,
                   report.validated ? fmt::format("{}", *report.validated) : std::string(),
                   report.parameters, report.env_steps, report.retries, report.invalid);
}

/// What was carried over was not evaluated again, and has no details: they are in an earlier line.
void append_individual(std::string& text, const GenerationColumns& columns, std::size_t position) {
    const evolve::Strategy& strategy = *columns.round->strategy;
    const evolve::Birth birth = strategy.birth(position);
    auto at = std::back_inserter(text);
    fmt::format_to(at, "{},{},{},", strategy.generation(), birth.id, name(birth.recipe));
    const char* separator = "";
    for (const evolve::Parent& parent : birth.parents) {
        fmt::format_to(at, "{}{}", separator, parent.birth);
        separator = ";";
    }
    fmt::format_to(at, ",{},{},", name(columns.scores.status[position]),
                   columns.scores.fitness[position]);
    if (columns.evaluators[position] == nobody) {
        fmt::format_to(at, "0,0,,0,");
    } else if (columns.details.parameters.empty()) {
        fmt::format_to(at, "1,,,,");
    } else {
        fmt::format_to(at, "1,{},{},{},", columns.details.env_steps[position],
                       columns.details.parameters[position], columns.details.retries[position]);
    }
    const bool carried = birth.recipe == evolve::Recipe::carry;
    fmt::format_to(
        at, "{}\n",
        carried ? strategy.parent_pool()[index_of(birth.parents.front().place)].origin : birth.id);
}

}  // namespace

GenerationLog::GenerationLog(const std::filesystem::path& directory, const Lengths& lengths,
                             const std::optional<GenerationReport>& last,
                             LoggedIndividuals individuals)
    : generations_(directory / names[0], lengths[0]),
      logged_(individuals),
      timings_(directory / names[2], whole_lines(directory / names[2], lengths[2])) {
    if (logged_ == LoggedIndividuals::all || lengths[1] > 0) {
        individuals_.emplace(directory / names[1], lengths[1]);
    } else {
        // Of a run that ended before its first checkpoint.
        std::filesystem::remove(directory / names[1]);
    }
    const std::array<std::pair<AppendFile*, const char*>, files> headers{
        {{&generations_, generations_header},
         {individuals_ ? &*individuals_ : nullptr, individuals_header},
         {&timings_, timings_header}}};
    for (const auto& [file, header] : headers) {
        if (file != nullptr && file->length() == 0) {
            file->pending() = header;
            file->flush();
        }
    }
    last_line_ = generations_.length();
    before_last_line_ = generations_.checksum();
    if (last) {
        amend(*last);
    }
}

void GenerationLog::append(const GenerationReport& report, const GenerationColumns& columns,
                           std::span<const RankSeconds> seconds) {
    last_line_ = generations_.length();
    before_last_line_ = generations_.checksum();
    append_generation(generations_.pending(), report);
    if (logged_ == LoggedIndividuals::all) {
        for (std::size_t position = 0; position < columns.scores.size(); ++position) {
            append_individual(individuals_->pending(), columns, position);
        }
        individuals_->flush();
    }
    for (const RankSeconds& rank : seconds) {
        fmt::format_to(std::back_inserter(timings_.pending()),
                       "{},{},{:.6f},{:.6f},{:.6f},{:.6f},{},{},{}\n", report.generation, rank.rank,
                       rank.cost.evaluate, rank.cost.vary, rank.cost.wait, rank.cost.communicate,
                       rank.cost.programs_compiled, rank.cost.memory_splits, rank.cost.fallbacks);
    }
    // generations.csv last: a line there means the generation's other lines are there too.
    timings_.flush();
    generations_.flush();
}

void GenerationLog::amend(const GenerationReport& report) {
    generations_.cut(last_line_);
    append_generation(generations_.pending(), report);
    generations_.flush();
}

void GenerationLog::sync() {
    timings_.sync();
    if (individuals_) {
        individuals_->sync();
    }
    generations_.sync();
}

GenerationLog::Lengths GenerationLog::lengths() const {
    return {last_line_, individuals_ ? individuals_->length() : 0, timings_.length()};
}

GenerationLog::Checksums GenerationLog::checksums() const {
    return {before_last_line_, individuals_ ? individuals_->checksum() : Hash128{}};
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
                                                  const Checksums& checksums) {
    for (std::size_t i = 0; i < result_files; ++i) {
        if (!unchanged(directory / names[i], lengths[i], checksums[i])) {
            return names[i];
        }
    }
    return std::nullopt;
}

}  // namespace cambrian::distributed
