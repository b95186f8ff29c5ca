#include <fmt/format.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/individual_log.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/launch/report/data/ancestry.hpp"

namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using evolve::BirthId;

std::string row_of(const Ancestry& ancestry, const Kin& kin, std::uint64_t depth) {
    std::string parents;
    for (const BirthId parent : ancestry.parents_of(kin))
        parents += fmt::format("{}{}", parents.empty() ? "" : ";", parent);
    return fmt::format("{},{},{},{},{},{},{}\n", kin.id, kin.generation, name(kin.recipe), parents,
                       kin.fitness, kin.parameters, depth);
}

/// Writes rows; → ancestors that the log does not know.
std::string table_of(const Ancestry& ancestry, const Lineage& lineage, std::size_t& unknown) {
    std::string text = "id,generation,recipe,parents,fitness,parameters,depth\n";
    for (const auto& [id, depth] : lineage) {
        const Kin* kin = ancestry.find(id);
        unknown += kin == nullptr ? 1U : 0U;
        if (kin != nullptr) text += row_of(ancestry, *kin, depth);
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
    Destination rows(context, options.csv, {file.string()});
    const BirthId birth = asked_birth(options);
    const Ancestry ancestry(file);
    if (ancestry.find(birth) == nullptr)
        throw InputError(fmt::format(
            "birth {} is not in {} (only those are logged whom log.individuals names, or the run "
            "has not come so far) name one that 'cambrian individuals' prints",
            birth, file.string()));
    const Lineage lineage = lineage_of(ancestry, ancestry.origin_of(birth));
    std::size_t unknown = 0;
    rows.write(table_of(ancestry, lineage, unknown));
    rows.finish();
    if (unknown > 0)
        context.err << fmt::format("warning: {} ancestors are not in {} and have no row\n", unknown,
                                   file.string());
    return exit_done;
}

}  // namespace cambrian::launch
