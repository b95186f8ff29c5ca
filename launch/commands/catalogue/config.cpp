#include <fmt/format.h>

#include <ostream>
#include <string>
#include <vector>

#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

/// What was tried of the tasks of a run. Throws ConfigError where that fails.
std::string tried_text(const distributed::Experiment& experiment) {
    const Blueprint network = first_network(experiment);
    std::vector<const evolve::Task*> tasks{experiment.task.get()};
    for (const evolve::TaskChange& change : experiment.changes) tasks.push_back(change.task.get());
    std::string text;
    for (const evolve::Task* task : tasks)
        if (const std::string tried = task->try_out(network); !tried.empty())
            text += fmt::format("  tried       {}\n", tried);
    return text;
}

}  // namespace

int validate_command(const CommandContext& context, const std::string& config,
                     const std::vector<std::string>& overrides) {
    const Schema schema(context.tasks, context.genomes);
    const ConfigDocument document = read_config(config, overrides);
    const bool both = holds_training(document) && holds_evolution(document);
    if (holds_training(document)) {
        const ResolvedConfig resolved = resolve_training(document, schema);
        const distributed::TrainingJob job = make_training(resolved, schema, context.tasks);
        context.out << fmt::format("valid{}: {}\n{}{}", both ? " for training" : "", config,
                                   founder_text(resolved) + notes_text(*job.task),
                                   structure_table(Network(job.blueprint)));
        if (!both) return exit_done;
    }
    const ResolvedConfig resolved = resolve_evolution(document, schema);
    const distributed::Experiment experiment =
        make_experiment(resolved, schema, context.tasks, context.strategies, context.genomes);
    const std::string tried = tried_text(experiment);
    context.out << fmt::format("valid{}: {}\n", both ? " for evolution" : "", config)
                << founder_text(resolved) << summary_text(experiment) << tried;
    return exit_done;
}

}  // namespace cambrian::launch
