#include <algorithm>
#include <cmath>
#include <utility>

#include "cambrian/evolve/plugins/guarded.hpp"

namespace cambrian::evolve {
namespace {

/// Why a child is no network of the task that its parent is one of, or an empty text.
std::string task_fault(const Blueprint& before, const Blueprint& child,
                       const GenomeLimits& limits) {
    if (child.input_features != before.input_features || input_row(child) != input_row(before) ||
        child.output_features != before.output_features)
        return fmt::format(
            "it reads {} values as {} and writes {}, where its parent reads {} as {} and writes {}",
            child.input_features, input_row(child).text(), child.output_features,
            before.input_features, input_row(before).text(), before.output_features);
    if (const auto state = first_state(child); state && !limits.time)
        return fmt::format("{} keeps state, and the task has no time", *state);
    return {};
}

/// Why a child of a plug-in's mutation is none, or an empty text.
std::string fault_of(const Genome& before, const Mutant& child, const GenomeLimits& limits) {
    std::int64_t count = Network(before.blueprint).weight_count();
    for (const WeightEdit& edit : child.edits) {
        if (edit.at < 0 || edit.at > count || edit.erased < 0 || edit.erased > count - edit.at) {
            return fmt::format("an edit of {} weights from {} on is beyond the {} that there are",
                               edit.erased, edit.at, count);
        }
        if (edit.copied >= count || (edit.copied >= 0 && !edit.inserted.empty())) {
            return "an edit copies a weight that is not there, or inserts others, too";
        }
        if (!std::ranges::all_of(edit.inserted, [](float x) { return std::isfinite(x); })) {
            return "an edit inserts a weight that is not finite";
        }
        count += (edit.copied >= 0 ? 1 : std::ssize(edit.inserted)) - edit.erased;
    }
    std::string fault = structure_fault(child.genome, count);
    return fault.empty() ? task_fault(before.blueprint, child.genome.blueprint, limits) : fault;
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
            if (const std::string fault = fault_of(genome, *child, limits); !fault.empty()) {
                throw ConfigError(
                    fmt::format("{} gives what is no genome ({}) mend the plug-in", part, fault));
            }
        }
        return child;
    };
    return mutation;
}

}  // namespace cambrian::evolve
