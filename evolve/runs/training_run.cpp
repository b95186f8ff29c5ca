#include "cambrian/evolve/runs/training_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/network/observe/observer.hpp"
#include "cambrian/engine/tensor/tensor_hash.hpp"
#include "cambrian/engine/train/targets.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/runs/event_log.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/runs/training_checkpoint.hpp"

namespace cambrian::distributed {
namespace {

constexpr const char* epochs_header =
    "epoch,individual,learning_rate,train_loss,train_accuracy,validation_loss,validation_accuracy,"
    "skipped,best,stopped";
constexpr const char* timings_header = "epoch,seconds\n";
constexpr double seconds_between_saves = 60.0;
constexpr double seconds_between_states = 1.0;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// 0 where there is no file.
std::uint64_t file_bytes(const std::filesystem::path& path) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(path, error);
    return error ? 0 : size;
}

/// One training and its directory.
class Run {
  public:
    Run(const TrainingJob& job, Backend& backend, TrainingReporter& reporter, bool resume)
        : job_(job),
          backend_(backend),
          units_(job.task->loss_units()),
          directory_(job.directory),
          reporter_(reporter),
          accuracy_(has_accuracy(job.settings.loss)),
          arithmetic_(arithmetic_of(backend)),
          identity_(identity()),
          network_(job.blueprint),
          trainer_(backend, network_, job.task->learning()->data, job.settings) {
        if (const auto line = directory_.unfinished("epochs")) reporter_.warning(*line);
        if (const auto file = resume ? std::nullopt : directory_.kept_file())
            throw ConfigError(fmt::format(
                "the directory {} already holds a run (starting again would overwrite its {}) give "
                "another run.directory or run.seed",
                directory_.path().string(), *file));
        if (resume) restore();
        if (job.initial) write_initial(directory_.path(), job.initial->genomes);
        directory_.write_config(job.resolved_json, backend.describe().text());
        epochs_.emplace(directory_.path() / "epochs.csv", before_.epochs_bytes);
        timings_.emplace(directory_.path() / "timings.csv", before_.timings_bytes);
        if (job.watch.every > 0) watch();
        if (epochs_->length() == 0) epochs_->pending() += header_of_epochs();
        if (timings_->length() == 0) timings_->pending() += timings_header;
        epochs_->flush();
        // Before the checkpoint, so that a start that fails leaves no run.
        if (job.tensorboard)
            events_.emplace(directory_.path() / "epochs.csv", trainer_.individuals() > 1);
        write_checkpoint();
    }

    TrainingResult train(const std::atomic<int>& interrupt) {
        write_status("running", std::nullopt, "");
        try {
            return loop(interrupt);
        } catch (const std::exception& error) {
            fail(failure_of(std::current_exception()).exit_code, error.what());
            throw;
        }
    }

  private:
    /// An individual's kept weights, and their loss.
    struct Kept {
        std::int64_t individual = 0;
        double loss = 0.0;
    };

    void fail(int exit_code, const std::string& reason) noexcept {
        try {
            write_status("failed", exit_code, reason);
        } catch (const std::exception&) {
            // The error on its way to the user matters more than this one.
        }
    }

    [[nodiscard]] std::filesystem::path checkpoint_path() const {
        return directory_.path() / "training.cmb";
    }

    /// Of what is learnt from and watched, and of what makes inputs of it: scaled rows may be the
    /// same ones where a column is in other units.
    [[nodiscard]] Hash128 data_hash() const {
        const DataSet& data = job_.task->learning()->data;
        Hasher hasher;
        for (const Samples* samples : {&data.train, &data.validation, &data.test})
            hasher.add(content_hash(samples->inputs)).add(content_hash(samples->targets));
        if (const auto preparation = job_.task->preparation())
            hasher.add(cambrian::hash128(evolve::encode(*preparation)));
        return hasher.hash128();
    }

    /// The settings, the data, what network.initial holds, and plug-ins.
    [[nodiscard]] std::string identity() const {
        nlohmann::json whole = nlohmann::json::parse(job_.identity_json);
        whole["content"]["data"] = data_hash().hex();
        if (job_.initial) whole["content"]["initial"] = evolve::content_hash(*job_.initial).hex();
        for (const evolve::PluginIdentity& plugin : job_.plugins)
            whole["content"]["plugins"][plugin.name] =
                fmt::format("{} {}", plugin.version, plugin.content.hex());
        return whole.dump();
    }

    /// Goes back to the last checkpoint.
    void restore() {
        const std::string path = checkpoint_path().string();
        if (std::error_code error; !std::filesystem::exists(path, error) && !error)
            throw InputError(
                fmt::format("there is no {} (the training ended before its first checkpoint) start "
                            "it again with 'cambrian train'",
                            path));
        before_ = read_training_checkpoint(path);
        if (!job_.mixed && before_.arithmetic != arithmetic_)
            throw ConfigError(fmt::format(
                "{} was computed with other arithmetic (it was {}, here it is {}) resume on an "
                "equal device, or set engine.mixed to accept other bits",
                path, before_.arithmetic, arithmetic_));
        if (before_.identity_json != identity_)
            throw InputError(
                fmt::format("{} is of another training (its settings or data differ) train "
                            "anew into another run.directory",
                            path));
        if (const auto epochs = directory_.path() / "epochs.csv";
            file_bytes(epochs) < before_.epochs_bytes)
            throw InputError(
                fmt::format("{} is shorter than training.cmb says (lines were lost) train anew "
                            "into another run.directory",
                            epochs.string()));
        else if (!unchanged(epochs, before_.epochs_bytes, before_.epochs_checksum))
            throw InputError(changed_text(epochs));
        trainer_.restore(before_.state, path);
        before_.state.clear();
        for (const auto& [file, bytes] :
             {std::pair{"timings.csv", &before_.timings_bytes},
              std::pair{"observations.jsonl", &before_.observations_bytes}})
            *bytes = whole_lines(directory_.path() / file, *bytes);
        reporter_.note(fmt::format("going on after epoch {}", trainer_.epochs_done()));
    }

    void write_checkpoint() {
        for (auto* log : {&epochs_, &timings_, &observations_})
            if (*log) (*log)->sync();
        if (events_) events_->sync();
        write_training_checkpoint(checkpoint_path(),
                                  {.identity_json = identity_,
                                   .arithmetic = arithmetic_,
                                   .epochs_bytes = epochs_->length(),
                                   .timings_bytes = timings_->length(),
                                   .observations_bytes = observations_ ? observations_->length()
                                                                       : before_.observations_bytes,
                                   .epochs_checksum = epochs_->checksum(),
                                   .state = trainer_.state()});
    }

    /// Has the trainer tell of its slots, through windows, where the settings say.
    void watch() {
        if (job_.watch.to_file) {
            observations_.emplace(directory_.path() / "observations.jsonl",
                                  before_.observations_bytes);
            lines_ = std::make_unique<JsonLinesObserver>(
                [this](const std::string& line) { observations_->pending() += line + '\n'; });
        } else if (job_.watch.to_address) {
            sent_ = std::make_unique<HttpLines>(*job_.watch.to_address);
            lines_ = std::make_unique<JsonLinesObserver>(
                [this](const std::string& line) { sent_->send(line); });
        } else {
            lines_ = std::make_unique<ConsoleObserver>(
                [this](const std::string& line) { reporter_.note(line); });
        }
        window_ = std::make_unique<WindowObserver>(job_.watch.window, *lines_);
        trainer_.watch(job_.watch.every, *window_);
    }

    void tell_sent() {
        const auto [delivered, lost] = sent_->finish();
        if (lost == 0) return;
        reporter_.warning(
            fmt::format("{} of {} observations were lost (nobody took them at {}:{}{} in time)",
                        lost, delivered + lost, job_.watch.to_address->host,
                        job_.watch.to_address->port, job_.watch.to_address->path));
    }

    void report_start() {
        const Part part = job_.task->signature().validates ? Part::validation : Part::train;
        reporter_.started(part, trainer_.evaluate(part, Snapshot::now).front());
    }

    TrainingResult loop(const std::atomic<int>& interrupt) {
        if (job_.keeps_weights() && before_.identity_json.empty()) report_start();
        double saved = now();
        double begin = saved;
        while (!trainer_.finished()) {
            const auto is_time = [&] { return now() - saved >= seconds_between_saves; };
            const auto report =
                trainer_.run_epoch([&] { return interrupt.load() == 0 && !is_time(); });
            if (report) {
                note(*report, now() - begin);
                begin = now();
            } else if (interrupt.load() != 0) {
                return finish(true);
            }
            if (!is_time()) continue;
            const double before = now();
            save();
            saved = now();
            begin += saved - before;  // No time of the epoch that goes on.
        }
        return finish(false);
    }

    void note(const EpochReport& report, double seconds) {
        for (std::size_t i = 0; i < report.individuals.size(); ++i)
            append(report.epoch, i, report.individuals[i]);
        timings_->pending() += fmt::format("{},{:.6f}\n", report.epoch, seconds);
        epochs_->flush();
        timings_->flush();
        if (observations_) observations_->flush();
        if (events_) events_->flush();
        if (now() - told_ >= seconds_between_states) {
            told_ = now();
            write_status("running", std::nullopt, "");
        }
        reporter_.epoch_done(report, best_individual(), seconds, trainer_.finished());
    }

    /// With the methods of targets there are two columns more for each slot.
    [[nodiscard]] std::string header_of_epochs() const {
        std::string header = epochs_header;
        if (job_.settings.method != TrainingMethod::gradient)
            for (const int slot : aiming_slots(network_))
                header += fmt::format(",slot.{0}.budget,slot.{0}.gap", slot);
        return header + '\n';
    }

    void append(std::int64_t epoch, std::size_t individual, const EpochScore& score) {
        const auto accuracy = [&](const Score& of) {
            return accuracy_ ? fmt::format("{}", of.accuracy) : std::string();
        };
        std::string text;
        text += fmt::format("{},{},{},{},{},", epoch, individual,
                            static_cast<float>(score.learning_rate), score.train.loss,
                            accuracy(score.train));
        text += score.validation
                    ? fmt::format("{},{},", score.validation->loss, accuracy(*score.validation))
                    : std::string(",,");
        text += fmt::format("{},{},{}", score.skipped, score.best ? 1 : 0, score.stopped ? 1 : 0);
        for (const SlotAim& aim : score.aims)
            text +=
                fmt::format(",{},{}", static_cast<float>(aim.budget), static_cast<float>(aim.gap));
        text += '\n';
        epochs_->pending() += text;
        if (events_) events_->append(text);
    }

    /// The one with the lowest watched loss so far.
    [[nodiscard]] std::int64_t best_individual() const {
        std::int64_t best = 0;
        for (std::int64_t i = 1; i < trainer_.individuals(); ++i)
            if (trainer_.best_loss(i) < trainer_.best_loss(best)) best = i;
        return best;
    }

    /// Whether an epoch of an individual had a loss that is a number.
    [[nodiscard]] bool has_kept(std::int64_t individual) const {
        return std::isfinite(trainer_.best_loss(individual));
    }

    /// The kept weights with the lowest loss. Without samples to validate with it is measured anew:
    /// the training loss of an epoch is that of weights which change from step to step.
    [[nodiscard]] Kept lowest_kept() {
        if (job_.task->signature().validates)
            return {best_individual(), trainer_.best_loss(best_individual())};
        const std::vector<Score> scores = trainer_.evaluate(Part::train, Snapshot::best);
        Kept lowest{best_individual(), std::numeric_limits<double>::infinity()};
        for (std::int64_t i = 0; i < trainer_.individuals(); ++i)
            if (const double loss = scores[static_cast<std::size_t>(i)].loss;
                loss < lowest.loss && (has_kept(i) || trainer_.epochs_done() == 0))
                lowest = {i, loss};
        return lowest;
    }

    [[noreturn]] static void diverged(const std::string& why) {
        throw ConfigError(fmt::format(
            "the training has diverged ({}) lower training.learning_rate or set training.clip_norm",
            why));
    }

    /// Whether an epoch has left weights whose loss is a number.
    [[nodiscard]] bool has_learned() const {
        return has_kept(best_individual()) && std::isfinite(kept_->loss);
    }

    void save() {
        directory_.require_own();
        write_checkpoint();
        kept_ = lowest_kept();
        // Before the first epoch has ended the start is the best there is.
        if (has_learned() || trainer_.epochs_done() == 0)
            write(kept_->individual, Snapshot::best, "best.cmb");
        if (write(kept_->individual, Snapshot::now, "last.cmb")) return;
        std::filesystem::remove(directory_.path() / "last.cmb");
        reporter_.note(fmt::format("last.cmb is left out: weights of individual {} are not finite",
                                   kept_->individual));
    }

    /// The network with its genes: those of network.initial, so that its relatives align.
    [[nodiscard]] evolve::Genome named_genome() const {
        if (job_.initial) return job_.initial->genomes.front();
        RandomStream unused(random_key(0, "train/genes"), 0);
        return evolve::sample_genome(network_, unused, 0);
    }

    /// A loss as evolution and 'cambrian evaluate' measure it: fitness is compared between
    /// networks, whoever made them. Nothing where the targets are scaled by several factors, or
    /// fitness is no loss of the same rows.
    [[nodiscard]] std::optional<double> loss_in_units(double loss) const {
        const evolve::TaskSignature signature = job_.task->signature();
        if (!signature.loss || signature.windows) return std::nullopt;
        if (!units_) return loss;
        return units_->factor ? std::optional(loss * *units_->factor) : std::nullopt;
    }

    /// What 'cambrian evaluate' says of a network with a loss, measured where that is no other form
    /// of it. Nothing, which is told, where there is no memory for all rows at once.
    [[nodiscard]] std::optional<double> fitness_of(const evolve::Genome& genome,
                                                   evolve::Phase phase, double loss) {
        if (const auto told = loss_in_units(loss)) return -*told;
        if (!measures_) return std::nullopt;
        try {
            if (!evaluator_)
                evaluator_ =
                    std::make_unique<evolve::Evaluator>(backend_, *job_.task, job_.settings.seed);
            const std::array<const evolve::Genome*, 1> genomes{&genome};
            return evaluator_->evaluate(genomes, {phase, 0}).front().fitness;
        } catch (const OutOfMemoryError& error) {
            measures_ = false;
            evaluator_ = nullptr;
            reporter_.note(fmt::format("networks are written without a fitness: {}", error.what()));
            return std::nullopt;
        }
    }

    /// The epoch that left some weights; the last one where an older training.cmb does not say.
    [[nodiscard]] std::int64_t epoch_of(std::int64_t individual, Snapshot snapshot) const {
        const std::int64_t last = trainer_.epochs_done();
        return snapshot == Snapshot::best ? trainer_.best_epoch(individual).value_or(last) : last;
    }

    /// Writes nothing and returns false where a weight is not finite.
    bool write(std::int64_t individual, Snapshot snapshot, const char* file) {
        NetworkFile content;
        content.genome = named_genome();
        content.genome.weights = trainer_.weights(individual, snapshot);
        if (!std::ranges::all_of(content.genome.weights, [](float x) { return std::isfinite(x); }))
            return false;
        content.identity_json = job_.identity_json;
        content.preparation = job_.task->preparation();
        content.generation = static_cast<std::uint64_t>(epoch_of(individual, snapshot));
        content.birth = static_cast<std::uint64_t>(individual);
        if (snapshot == Snapshot::best && std::isfinite(kept_->loss)) {
            const bool validates = job_.task->signature().validates;
            kept_fitness_ = fitness_of(content.genome,
                                       validates ? evolve::Phase::validation : evolve::Phase::train,
                                       kept_->loss);
            if (kept_fitness_) content.fitness = *kept_fitness_;
            if (validates) content.validated = kept_fitness_;
        }
        write_network(directory_.path() / file, content);
        return true;
    }

    TrainingResult finish(bool interrupted) {
        if (window_) window_->finish();
        if (sent_) tell_sent();
        save();
        if (!interrupted && !has_learned()) diverged("no epoch has a finite loss");
        TrainingResult result{.epochs = trainer_.epochs_done(),
                              .individual = kept_->individual,
                              .best_loss = kept_->loss,
                              .test = {},
                              .interrupted = interrupted};
        if (!interrupted && job_.task->signature().tests)
            result.test = trainer_.evaluate(
                Part::test, Snapshot::best)[static_cast<std::size_t>(result.individual)];
        if (result.test) {
            evolve::Genome genome = named_genome();
            genome.weights = trainer_.weights(result.individual, Snapshot::best);
            tested_ = fitness_of(genome, evolve::Phase::test, result.test->loss);
        }
        if (!interrupted && job_.keeps_weights() &&
            trainer_.weights(result.individual, Snapshot::best) == job_.settings.initial_weights)
            reporter_.note("no epoch was better than the start: best.cmb is network.initial");
        write_status(interrupted ? "interrupted" : "done",
                     interrupted ? exit_interrupted : exit_done,
                     interrupted                            ? "interrupted"
                     : result.epochs < job_.settings.epochs ? "every individual has stopped"
                                                            : "all epochs are done");
        return result;
    }

    void write_status(const char* state, std::optional<int> exit_code, const std::string& reason) {
        // While it runs the lowest so far where losses tell, at the end that of best.cmb.
        std::optional<double> best = kept_fitness_;
        if (!exit_code)
            if (const auto lowest = loss_in_units(trainer_.best_loss(best_individual())))
                best = -*lowest;
        RunStatus status;
        status.state = state;
        status.exit_code = exit_code;
        status.generation = static_cast<std::uint64_t>(trainer_.epochs_done());
        if (best && std::isfinite(*best)) {
            status.best = best;
            if (job_.task->signature().validates) status.validated = best;
        }
        status.tested = tested_;
        status.reason = reason;
        directory_.write_status(status);
    }

    const TrainingJob& job_;
    Backend& backend_;
    std::optional<evolve::LossUnits> units_;
    RunDirectory directory_;
    TrainingReporter& reporter_;
    bool accuracy_;
    std::string arithmetic_;
    std::string identity_;
    TrainingCheckpoint before_;  ///< What is gone on from, without the state.
    Network network_;
    Trainer trainer_;
    std::optional<AppendFile> epochs_;
    std::optional<AppendFile> timings_;
    std::optional<EventLog> events_;  ///< Of epochs.csv, for TensorBoard.
    std::optional<Kept> kept_;
    std::optional<AppendFile> observations_;
    std::unique_ptr<HttpLines> sent_;
    std::unique_ptr<Observer> lines_;
    std::unique_ptr<WindowObserver> window_;
    std::unique_ptr<evolve::Evaluator> evaluator_;  ///< Made when it is needed first.
    bool measures_ = true;                          ///< Whether it finds memory.
    std::optional<double> kept_fitness_;            ///< Of best.cmb.
    std::optional<double> tested_;
    double told_ = 0.0;  ///< When status.json was written.
};

}  // namespace

TrainingResult run_training(const TrainingJob& job, Backend& backend, TrainingReporter& reporter,
                            const std::atomic<int>& interrupt, bool resume) {
    return Run(job, backend, reporter, resume).train(interrupt);
}

}  // namespace cambrian::distributed
