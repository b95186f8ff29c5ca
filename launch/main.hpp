#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "cambrian/evolve/strategy/strategy.hpp"
#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/evolve/variation/genome_kind.hpp"

namespace cambrian {

/// The whole program `cambrian` with the tasks, strategies and kinds of genomes of registries: a
/// program of one's own adds its own and calls this from its main. Returns the exit code.
///
///     int main(int argc, char** argv) {
///         cambrian::evolve::TaskRegistry tasks = cambrian::evolve::standard_tasks();
///         tasks.add("mine", [](const auto&, const auto&) { return make_my_task(); });
///         return cambrian::main(argc, argv, tasks);
///     }
int main(int argc, char** argv, const evolve::TaskRegistry& tasks,
         const evolve::StrategyRegistry& strategies = evolve::standard_strategies(),
         const evolve::GenomeRegistry& genomes = evolve::standard_genomes());

namespace launch {

/// The same on streams: `arguments` without the name of the program. Results go to `out`, errors to
/// `err`.
int run_program(const std::vector<std::string>& arguments, const evolve::TaskRegistry& tasks,
                std::ostream& out, std::ostream& err,
                const evolve::StrategyRegistry& strategies = evolve::standard_strategies(),
                const evolve::GenomeRegistry& genomes = evolve::standard_genomes());

}  // namespace launch
}  // namespace cambrian
