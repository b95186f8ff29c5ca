#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using evolve::BirthId;

/// What a lineage needs of an individual: little, since there may be millions.
struct Kin {
    BirthId id = 0;
    BirthId origin = 0;
    std::array<BirthId, evolve::Parents::max_count> parents{};
    double fitness = 0.0;
    std::uint64_t parameters = 0;
    std::uint32_t generation = 0;
    evolve::Recipe recipe = evolve::Recipe::sample;
    std::uint8_t parent_count = 0;
};

/// Everybody in a log, by rising id.
class Population {
  public:
    explicit Population(const fs::path& file) {
        distributed::IndividualReader reader(file);
        while (const auto block = reader.next())
            for (const distributed::LoggedIndividual& one : block->individuals)
                all_.push_back({one.id, one.origin, one.parents, one.fitness, one.parameters,
                                static_cast<std::uint32_t>(block->generation), one.recipe,
                                one.parent_count});
    }

    [[nodiscard]] const Kin* find(BirthId id) const {
        const auto at = std::ranges::lower_bound(all_, id, {}, &Kin::id);
        return at == all_.end() || at->id != id ? nullptr : &*at;
    }
    /// The birth that made the genome of another one; that one where the log does not know it.
    [[nodiscard]] BirthId origin_of(BirthId id) const {
        const Kin* kin = find(id);
        return kin == nullptr ? id : kin->origin;
    }

  private:
    std::vector<Kin> all_;
};

/// Births between each ancestor and the last one.
using Lineage = std::map<BirthId, std::uint64_t>;

Lineage lineage_of(const Population& population, BirthId last) {
    Lineage lineage{{last, 0}};
    // Parents are older: from the newest on, each is met after all of its children.
    for (auto at = lineage.rbegin(); at != lineage.rend(); ++at) {
        const Kin* kin = population.find(at->first);
        if (kin == nullptr) continue;
        for (const BirthId parent : std::span(kin->parents).first(kin->parent_count)) {
            const auto [known, added] =
                lineage.emplace(population.origin_of(parent), at->second + 1);
            known->second = std::min(known->second, at->second + 1);
        }
    }
    return lineage;
}

std::string row_of(const Population& population, const Kin& kin, std::uint64_t depth) {
    std::string parents;
    for (const BirthId parent : std::span(kin.parents).first(kin.parent_count))
        parents += fmt::format("{}{}", parents.empty() ? "" : ";", population.origin_of(parent));
    return fmt::format("{},{},{},{},{},{},{}\n", kin.id, kin.generation, name(kin.recipe), parents,
                       kin.fitness, kin.parameters, depth);
}

/// Writes rows; → ancestors that the log does not know.
std::string table_of(const Population& population, const Lineage& lineage, std::size_t& unknown) {
    std::string text = "id,generation,recipe,parents,fitness,parameters,depth\n";
    for (const auto& [id, depth] : lineage) {
        const Kin* kin = population.find(id);
        unknown += kin == nullptr ? 1U : 0U;
        if (kin != nullptr) text += row_of(population, *kin, depth);
    }
    return text;
}

BirthId asked_birth(const LineageOptions& options) {
    if (options.birth) return *options.birth;
    return distributed::read_network(fs::path(options.run) / "best.cmb").birth;
}

}  // namespace

int lineage_command(const CommandContext& context, const LineageOptions& options) {
    const fs::path file = distributed::individual_log_in(options.run);
    if (!options.csv.empty() && options.csv != "-")
        refuse_input_as_output(options.csv, {file.string()});
    const BirthId birth = asked_birth(options);
    const Population population(file);
    if (population.find(birth) == nullptr)
        throw InputError(fmt::format(
            "birth {} is not in {} (only those are logged whom log.individuals names, or the run "
            "has not come so far) name one that 'cambrian individuals' prints",
            birth, file.string()));
    const Lineage lineage = lineage_of(population, population.origin_of(birth));
    std::size_t unknown = 0;
    const std::string table = table_of(population, lineage, unknown);
    if (options.csv.empty() || options.csv == "-")
        context.out << table;
    else
        write_output(options.csv, std::as_bytes(std::span(table)));
    if (unknown > 0)
        context.err << fmt::format("warning: {} ancestors are not in {} and have no row\n", unknown,
                                   file.string());
    return exit_done;
}

}  // namespace cambrian::launch
