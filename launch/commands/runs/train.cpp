#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>
#include <ostream>
#include <system_error>

#include "cambrian/distributed/communicator/mpi_session.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/config/config_differences.hpp"
#include "cambrian/launch/config/network_reader.hpp"
#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/convert/text_network.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/process.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/launch/show/shell_word.hpp"
#include "cambrian/launch/show/structure_text.hpp"

namespace cambrian::launch {
namespace {

using distributed::TrainingJob;
using distributed::TrainingResult;

std::string rows_text(const DataSet& data) {
    return fmt::format("{} rows to train, {} to validate, {} to test", data.train.rows(),
                       data.validation.rows(), data.test.rows());
}

std::string summary(const TrainingJob& job) {
    const evolve::Learning& learning = *job.task->learning();
    const TrainingSettings& settings = job.settings;
    return fmt::format("{}: task {}, {}\n", job.name, job.task->type(), rows_text(learning.data)) +
           notes_text(*job.task) + notes_text(job.notes) +
           fmt::format(
               "  network     {}\n  training    {} epochs of {} steps{}, {}, loss {}{}, {} "
               "schedule, {} individual{}{}\n",
               structure_line(Network(job.blueprint)), settings.epochs,
               (learning.data.train.rows() + settings.batch - 1) / settings.batch,
               settings.method == TrainingMethod::gradient
                   ? std::string()
                   : fmt::format(" of {}", name(settings.method)),
               name(settings.optimizer), name(settings.loss),
               job.task->loss_units() ? " of scaled outputs" : "", name(settings.schedule),
               settings.learning_rates.size(), settings.learning_rates.size() == 1 ? "" : "s",
               settings.frozen.empty()
                   ? std::string()
                   : fmt::format(", frozen {}", fmt::join(settings.frozen, ", ")));
}

std::string dry_run(const TrainingJob& job, Backend& backend) {
    const Network network(job.blueprint);
    const Trainer trainer(backend, network, job.task->learning()->data, job.settings);
    return structure_table(network) +
           fmt::format(
               "  backend     {}\n  memory      {:.1f} MiB of data and weights, {:.1f} MiB for a "
               "step or an evaluation\n",
               backend.describe().text(), static_cast<double>(backend.memory().used) / 0x1p20,
               static_cast<double>(trainer.peak_bytes()) / 0x1p20);
}

/// The loss of a text in the unit of compression: ", 2.1 bits a character".
std::string bits_text(const TrainingJob& job, double loss) {
    const std::optional<std::string> unit = text_unit(job.task->preparation());
    if (!unit || !wants_classes(job.settings.loss)) return {};
    return fmt::format(", {:.4f} bits a {}", loss / std::numbers::ln2, *unit);
}

std::string result_text(const TrainingJob& job, const TrainingResult& result) {
    std::string text =
        fmt::format("{} after {} epochs: lowest loss {:.6g}",
                    result.interrupted ? "interrupted" : "done", result.epochs, result.best_loss) +
        bits_text(job, result.best_loss);
    if (job.settings.learning_rates.size() > 1)
        text += fmt::format(" of individual {}", result.individual);
    if (result.test) {
        text += fmt::format(", test {:.6g}", result.test->loss) + bits_text(job, result.test->loss);
        if (has_accuracy(job.settings.loss))
            text += fmt::format(" ({:.2f}%)", 100.0 * result.test->accuracy);
    }
    if (job.task->loss_units()) text += " (of scaled outputs)";
    const std::string best = (job.directory / "best.cmb").string();
    return text + fmt::format("\n  cambrian inspect {}\n  cambrian evaluate {}\n", shell_word(best),
                              shell_word(best));
}

/// The losses of the best network as evolution and 'cambrian evaluate' measure them, where those of
/// the training are scaled.
std::string units_text(const TrainingJob& job, Backend& backend) {
    const std::optional<evolve::LossUnits> units = job.task->loss_units();
    std::error_code missing;
    const std::filesystem::path best = job.directory / "best.cmb";
    if (!units || !std::filesystem::exists(best, missing)) return {};
    const distributed::NetworkFile network = distributed::read_network(best);
    const std::array<const evolve::Genome*, 1> genomes{&network.genome};
    evolve::Evaluator evaluator(backend, *job.task, job.settings.seed);
    const evolve::TaskSignature signature = job.task->signature();
    std::string text = fmt::format("  {}:", units->name);
    for (const auto& [phase, present] : {std::pair{evolve::Phase::train, true},
                                         {evolve::Phase::validation, signature.validates},
                                         {evolve::Phase::test, signature.tests}}) {
        if (!present) continue;
        const evolve::Evaluation result = evaluator.evaluate(genomes, {phase, 0}).front();
        text += fmt::format(" {} {:.6g}", evolve::name(phase), -result.fitness);
    }
    return text + '\n';
}

ResolvedConfig read_job(const RunOptions& options, const Schema& schema,
                        std::vector<Difference>& changes) {
    if (options.resume)
        return read_resumed_training(options.config, options.overrides, schema, changes);
    const ConfigDocument document = read_config(options.config, options.overrides);
    refuse_overrides_of_evolution(document);
    return resolve_training(document, schema);
}

}  // namespace

int train_command(const CommandContext& context, const RunOptions& options) {
    if (distributed::launched_ranks() > 1)
        throw ConfigError(
            fmt::format("{} ranks were started (a training runs in one process, on all of its "
                        "threads) start it without mpirun",
                        distributed::launched_ranks()));
    if (options.require_solved)
        throw ConfigError(
            "--require-solved is of evolution (a training has no fitness to reach) leave it out");
    const Schema schema(context.tasks, context.genomes);
    std::vector<Difference> changes;
    const ResolvedConfig config = read_job(options, schema, changes);
    if (options.print_config) {
        context.out << config.written->dump(2) << '\n';
        return exit_done;
    }
    const TrainingJob job = make_training(config, schema, context.tasks,
                                          options.resume ? options.config : std::string());
    DeviceSettings settings = device_settings(config.effective->at("engine"), RankPlace{});
    require_backend_for(settings, options.dump, options.profile);
    const auto backend = make_backend(settings);
    if (!options.quiet || options.dry_run)
        context.out << summary(job) << ignored_text(config, "evolve") << founder_text(config)
                    << changes_text(changes);
    if (const std::string threads = threads_note(settings, RankPlace{}); !threads.empty())
        context.out << "warning: " << threads << '\n';
    if (options.dry_run) {
        context.out << dry_run(job, *backend);
        return exit_done;
    }
    const SignalGuard signals;
    record_start();
    ConsoleTrainingReporter reporter(context.out, options.quiet,
                                     config.effective->at("log").at("interval").get<double>(), job);
    const TrainingResult result =
        distributed::run_training(job, *backend, reporter, signals.flag(), options.resume);
    if (!options.quiet) context.out << result_text(job, result) << units_text(job, *backend);
    if (options.profile) context.out << profile_text(*backend);
    return result.interrupted ? exit_interrupted : exit_done;
}

}  // namespace cambrian::launch
