#include <algorithm>
#include <cmath>
#include <utility>

#include "cambrian/evolve/plugins/guarded.hpp"

namespace cambrian::evolve {
namespace {

/// Why a child of a plug-in's mutation is none, or an empty text.
std::string fault_of(const Genome& before, const Mutant& child) {
    std::int64_t count = Network(before.blueprint).weight_count();
    for (const WeightEdit& edit : child.edits) {
        if (edit.at < 0 || edit.erased < 0 || edit.at + edit.erased > count) {
            return fmt::format("an edit of weights {} to {} is beyond the {} that there are",
                               edit.at, edit.at + edit.erased, count);
        }
        if (edit.copied >= count || (edit.copied >= 0 && !edit.inserted.empty())) {
            return "an edit copies a weight that is not there, or inserts others, too";
        }
        if (!std::ranges::all_of(edit.inserted, [](float x) { return std::isfinite(x); })) {
            return "an edit inserts a weight that is not finite";
        }
        count += (edit.copied >= 0 ? 1 : std::ssize(edit.inserted)) - edit.erased;
    }
    return structure_fault(child.genome, count);
}

}  // namespace

CustomMutation guarded_mutation(CustomMutation mutation, const std::string& plugin) {
    const std::string part =
        fmt::format("mutation \"{}\" of the plug-in \"{}\"", mutation.key, plugin);
    if (!mutation.apply) {
        throw ConfigError(
            fmt::format("{} cannot be added (it does nothing) mend the plug-in", part));
    }
    mutation.apply = [apply = std::move(mutation.apply), part](
                         RandomStream& rng, const MutationSettings& settings,
                         const GenomeLimits& limits, const Genome& genome, std::uint64_t birth) {
        std::optional<Mutant> child =
            guarded_part(part, [&] { return apply(rng, settings, limits, genome, birth); });
        if (child) {
            if (const std::string fault = fault_of(genome, *child); !fault.empty()) {
                throw ConfigError(
                    fmt::format("{} gives what is no genome ({}) mend the plug-in", part, fault));
            }
        }
        return child;
    };
    return mutation;
}

}  // namespace cambrian::evolve
