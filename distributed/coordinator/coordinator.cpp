#include "cambrian/distributed/coordinator/coordinator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "cambrian/distributed/protocol/handshake.hpp"
#include "cambrian/distributed/protocol/initial_networks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// The frame of a run: opening, the loop, checkpoints, the end. coordinator_generation.cpp holds
// what happens within one generation.
namespace cambrian::distributed {

namespace {

/// Writing checkpoints takes at most about a tenth of a run, however short its generations are.
constexpr double checkpoint_share = 0.1;
constexpr double status_seconds = 1.0;
/// Generations that may wait to be written.
constexpr std::size_t writer_room = 2;
/// How long the lock of a dead coordinator may be in the hands of ranks that only try it.
constexpr std::chrono::seconds longest_contest{5};
/// While rank 0 waits for the writer, it looks this often for words of the workers.
constexpr std::chrono::milliseconds writer_patience{2};

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

// Better now than after a generation of failures: no shard is small enough for such a network.
void check_memory(const Experiment& experiment, std::int64_t limit) {
    if (experiment.distribution.fallback) return;
    const std::int64_t bytes = Network(experiment.variation.founder).weight_count() *
                               static_cast<std::int64_t>(sizeof(float));
    if (limit > 0 && bytes > limit) {
        throw OutOfMemoryError(
            fmt::format("one network of {} weights needs {} bytes (engine.memory_limit gives {}) "
                        "use a smaller network or raise the limit",
                        bytes / static_cast<std::int64_t>(sizeof(float)), bytes, limit));
    }
}

}  // namespace

Coordinator::Coordinator(Communicator& communicator, Backend& backend, const Experiment& experiment,
                         Reporter& reporter, const std::atomic<int>& interrupt, const Reign& reign)
    : experiment_(experiment),
      reporter_(reporter),
      interrupt_(interrupt),
      signature_(experiment.task->signature()),
      fingerprint_(backend.describe().text()),
      arithmetic_(arithmetic_of(backend)),
      identity_(run_identity(experiment)),
      scheduler_(communicator, backend, experiment, ancestry_, reporter, interrupt, reign),
      memory_limit_(backend.memory().limit),
      own_rank_(static_cast<std::uint32_t>(communicator.rank())),
      reign_(reign),
      writer_(writer_room) {
    ancestry_.begin(scheduler_.follower().newest()->strategy, {});
}

RunResult Coordinator::run(Start start) {
    check_memory(experiment_, memory_limit_);
    check_changes(experiment_);
    check_stop(experiment_);
    try {
        open(start);
        write_status("running", std::nullopt, "");
        scheduler_.gather();
        reporter_.started(experiment_, scheduler_.rank_lines(), next_generation());
        scheduler_.warn_of_sharing();
        scheduler_.warn_of_window();
        return result(loop());
    } catch (const std::exception& error) {
        fail(error);
        throw;
    }
}

void Coordinator::open(Start start) {
    directory_ = own_directory();
    const std::string place = directory_->path().string();
    if (const auto line = directory_->unfinished("generations")) {
        reporter_.warning(*line);
    }
    const bool going_on = start != Start::fresh && holds_checkpoint(directory_->path());
    if (!going_on && start != Start::resume) {
        refuse_overwriting(start);
    }
    GenerationLog::Lengths lengths{};
    const auto accept = [&](Checkpoint&& checkpoint, std::span<const JournalEntry> committed) {
        lengths = committed.empty() ? checkpoint.logs : committed.back().logs;
        restore(std::move(checkpoint), committed);
    };
    const bool found = going_on && directory_->load_newest(accept, [this](const std::string& text) {
        reporter_.warning(text);
    });
    if (!found && start == Start::resume) {
        throw InputError(
            fmt::format("{} holds no checkpoint (nothing was run there, or it ended before the "
                        "first one) start it with 'cambrian evolve CONFIG --continue'",
                        place));
    }
    begin_reign();
    directory_->make_logs();
    if (const auto& initial = experiment_.variation.initial) {
        write_initial(directory_->path(), initial->genomes);
    }
    directory_->write_config(experiment_.resolved_json, fingerprint_);
    log_ = std::make_unique<GenerationLog>(directory_->path(), lengths, last_,
                                           logged_parts(experiment_));
    journal_ = found ? Journal::go_on(directory_->path(), checkpoint_read_, committed_)
                     : Journal(directory_->path(), 0);
    begun_ = found;
    checkpoint_generation_ = next_generation();
}

std::unique_ptr<EvolutionDirectory> Coordinator::own_directory() const {
    const Clock::time_point end = Clock::now() + longest_contest;
    for (;;) {
        try {
            return std::make_unique<EvolutionDirectory>(experiment_.directory,
                                                        experiment_.checkpoint.keep);
        } catch (const ConfigError&) {
            // After a death others try the lock, too, and let go of it at once.
            if (reign_.epoch == 0 || Clock::now() > end) {
                throw;
            }
            Clock::sleep(writer_patience);
        }
    }
}

void Coordinator::begin_reign() {
    if (reign_.epoch == 0) {
        const auto former = read_reign(directory_->path());
        reign_.epoch = former ? former->epoch + 1 : 1;
        write_reign(directory_->path(), reign_);
    }
    scheduler_.set_reign(reign_);
    reign_watch_.emplace(directory_->path(), reign_);
}

void Coordinator::refuse_overwriting(Start start) const {
    const std::string place = directory_->path().string();
    // Without a checkpoint tables are begun anew, and lose nothing; networks may be all there is.
    if (const auto network = directory_->kept_network();
        network && !holds_checkpoint(directory_->path())) {
        throw ConfigError(
            fmt::format("the directory {} holds {} and no checkpoint (a run would overwrite it) "
                        "move it away, or give another run.directory",
                        place, *network));
    }
    if (const auto file = start == Start::fresh ? directory_->kept_file() : std::nullopt) {
        throw ConfigError(
            fmt::format("the directory {} already holds a run (starting again would overwrite its "
                        "{}) give --continue, or another run.directory or run.seed",
                        place, *file));
    }
}

void Coordinator::restore(Checkpoint&& checkpoint, std::span<const JournalEntry> committed) {
    const std::string source = experiment_.directory.string();
    check_identity(checkpoint.identity_json, identity_, source);
    if (!experiment_.distribution.mixed && checkpoint.arithmetic != arithmetic_) {
        throw ConfigError(
            fmt::format("{} was computed with other arithmetic (it was {}, here it is "
                        "{}) resume on an equal device, or set engine.mixed to accept "
                        "other bits",
                        source, checkpoint.arithmetic, arithmetic_));
    }
    const auto refuse = [&](const std::string& why) {
        throw InputError(fmt::format(
            "{} holds a checkpoint that contradicts itself ({}) use an older one", source, why));
    };
    const SharedStrategy start = make_strategy(experiment_)->load(checkpoint.strategy);
    if (start->told() != checkpoint.generation) {
        refuse("its generations differ");
    }
    PoolGenomes genomes;
    for (const SharedStrategy& state : open_states(start)) {
        for (const evolve::Member& member : state->parent_pool()) {
            const auto at = checkpoint.genomes.find(member.origin);
            if (at == checkpoint.genomes.end()) {
                refuse(fmt::format("member {} is missing", member.birth));
            }
            genomes.push_back(at->second);
        }
    }
    Ancestry ancestry;
    ancestry.begin(start, genomes);
    std::size_t followed = 0;
    for (const JournalEntry& entry : committed) {
        // A journal of another run may lie there under the same name.
        if (entry.digest != ancestry.last()->digest()) {
            break;
        }
        ancestry.add(entry.decision);
        ++followed;
    }
    committed = committed.first(followed);
    const SharedStrategy end = ancestry.last();
    std::optional<Champion> champion = std::move(checkpoint.champion);
    std::vector<evolve::BirthId> origins;
    for (const SharedStrategy& state : open_states(end)) {
        for (const evolve::Member& member : state->parent_pool()) {
            origins.push_back(member.origin);
        }
    }
    const std::size_t members = origins.size();
    if (!committed.empty()) {
        const SharedIndividual known = champion ? champion->genome : nullptr;
        // What the same genome has learned in another generation is something else.
        const bool same = champion && committed.back().champion &&
                          champion->origin == committed.back().champion->origin &&
                          (!experiment_.learning.on() ||
                           champion->generation == committed.back().champion->generation);
        champion = committed.back().champion;
        if (champion && same) {
            champion->genome = known;
        } else if (champion) {
            origins.push_back(champion->origin);
        }
    }
    Ancestry::Genomes made = scheduler_.make_again(ancestry, origins);
    if (champion && !champion->genome) {
        champion->genome = scheduler_.grown(made.at(champion->origin), champion->generation);
    }
    Follower& follower = scheduler_.follower();
    follower.load(end->save(), std::vector<std::uint32_t>(members, own_rank_));
    genomes.clear();
    for (std::size_t ahead = 0; ahead < follower.open(); ++ahead) {
        const Round& round = *follower.round(next_generation() + ahead);
        for (std::size_t place = 0; place < round.holders.size(); ++place) {
            genomes.push_back(made.at(round.strategy->parent_pool()[place].origin));
            follower.fill(round, place, genomes.back());
        }
    }
    ancestry_.begin(end, genomes);
    checkpoint_read_ = checkpoint.generation;
    committed_ = committed.size();
    champion_ = std::move(champion);
    champion_on_disk_ = false;  // A crash may have come after the checkpoint and before best.cmb.
    last_ = committed.empty() ? checkpoint.last : std::optional(committed.back().report);
    if (last_ && !experiment_.changes.empty()) {
        last_->task = experiment_.task_number(last_->generation);
    }
    elapsed_before_ =
        committed.empty() ? checkpoint.elapsed_seconds : committed.back().elapsed_seconds;
}

StopReason Coordinator::loop() {
    if (experiment_.stop.generations == 0) {
        return StopReason::generations;
    }
    for (;;) {
        if (last_) {
            if (const auto reason = reached(*last_)) {
                return *reason;
            }
        }
        if (interrupt_.load() != 0 || !advance() || !checkpoint_when_due()) {
            return StopReason::interrupted;
        }
    }
}

RunResult Coordinator::result(StopReason reason) {
    scheduler_.rest();
    if (!checkpoint()) {
        // The journal has all that the checkpoint would.
        reason = StopReason::interrupted;
    }
    drain();
    // Not before the checkpoint: a run that goes on from it must not see this validation.
    if (reason != StopReason::interrupted) {
        reason = !judge_last() ? StopReason::interrupted
                 : last_       ? reached(*last_).value_or(reason)
                               : reason;
    }
    const bool interrupted = reason == StopReason::interrupted;
    RunResult result;
    result.reason = reason;
    if (last_) {
        result.last = *last_;
    }
    result.last.elapsed_seconds = elapsed();
    const Champion* champion = present_champion();
    if (champion != nullptr) {
        result.best_fitness = champion->fitness;
        result.best_validated = champion->validated;
    }
    if (champion != nullptr && signature_.tests && !interrupted) {
        const auto tested = judge_all({{champion->genome, 0, champion->origin}},
                                      {evolve::Phase::test, 0}, last_->generation);
        if (tested) {
            result.best_tested = tested->front();
        }
    }
    scheduler_.set_farewell(fmt::format("the run has ended ({})", name(reason)));
    result.solved = solved();
    const bool unsolved = experiment_.stop.require_solved && !result.solved.value_or(true);
    write_status(interrupted ? "interrupted" : "done",
                 interrupted ? exit_interrupted
                 : unsolved  ? exit_unsolved
                             : 0,
                 name(reason), result.best_tested);
    return result;
}

double Coordinator::elapsed() const {
    return elapsed_before_ + seconds_since(started_);
}

double Coordinator::compared_fitness(const GenerationReport& report) const {
    switch (experiment_.stop.fitness_of) {
        case FitnessOf::mean:
            return report.mean;
        case FitnessOf::least:
            return report.invalid > 0 ? evolve::worst_fitness : report.worst;
        case FitnessOf::best:
            break;
    }
    return signature_.validates ? report.validated.value_or(evolve::worst_fitness) : report.best;
}

std::optional<StopReason> Coordinator::reached(const GenerationReport& report) const {
    if (experiment_.stop.solved && report.tests.passed) {
        return StopReason::solved;
    }
    if (compared_fitness(report) >= experiment_.stop.fitness &&
        experiment_.has_last_task(report.generation)) {
        return StopReason::fitness;
    }
    if (report.generation + 1 >= experiment_.stop.generations) {
        return StopReason::generations;
    }
    if (report.evaluations >= experiment_.stop.evaluations) {
        return StopReason::evaluations;
    }
    if (elapsed() >= experiment_.stop.seconds) {
        return StopReason::seconds;
    }
    return std::nullopt;
}

bool Coordinator::checkpoint_when_due() {
    if (seconds_since(last_status_) >= status_seconds) {
        write_status("running", std::nullopt, "");
        last_status_ = Clock::now();
    }
    const CheckpointSettings& settings = experiment_.checkpoint;
    const double waited = seconds_since(last_checkpoint_);
    const std::uint64_t generations = next_generation() - checkpoint_generation_;
    const bool by_count = settings.every > 0 && generations >= settings.every &&
                          waited * checkpoint_share >= checkpoint_cost_.load() &&
                          !checkpoint_running_.load();
    return !(by_count || waited >= settings.seconds) || checkpoint();
}

Checkpoint Coordinator::state_of(const evolve::Strategy& strategy) const {
    Checkpoint state;
    state.identity_json = identity_;
    state.arithmetic = arithmetic_;
    state.generation = strategy.told();
    state.strategy = strategy.save();
    state.champion = champion_;
    state.last = last_;
    state.elapsed_seconds = elapsed();
    return state;
}

bool Coordinator::checkpoint() {
    const Clock::time_point gathering = Clock::now();
    if (!scheduler_.gather_parents()) {
        return false;
    }
    const double gathered = seconds_since(gathering);
    Follower& follower = scheduler_.follower();
    const SharedStrategy strategy = follower.newest()->strategy;
    const auto saved = std::make_shared<Checkpoint>(state_of(*strategy));
    Checkpoint& state = *saved;
    PoolGenomes members;
    std::vector<evolve::BirthId> origins;
    for (std::size_t ahead = 0; ahead < follower.open(); ++ahead) {
        const Round& round = *follower.round(next_generation() + ahead);
        const std::shared_ptr<const PoolGenomes> parents = follower.parents(round);
        for (std::size_t place = 0; place < parents->size(); ++place) {
            origins.push_back(round.strategy->parent_pool()[place].origin);
            members.push_back((*parents)[place]);
        }
    }
    const auto genomes = scheduler_.on_host(std::move(members));
    if (!genomes) {
        return false;
    }
    for (std::size_t i = 0; i < origins.size(); ++i) {
        state.genomes.try_emplace(origins[i], (*genomes)[i]);
    }
    begun_ = true;
    ancestry_.begin(strategy, *genomes);
    checkpoint_generation_ = state.generation;
    last_checkpoint_ = Clock::now();
    checkpoint_running_ = true;
    const bool news = !std::exchange(champion_on_disk_, true);
    write([this, saved, news, gathered] {
        const Clock::time_point start = Clock::now();
        reign_watch_->check();
        // The lines it counts must be there before it is.
        log_->sync();
        saved->logs = log_->lengths();
        saved->checksums = log_->checksums();
        directory_->save(*saved);
        journal_ = Journal(directory_->path(), saved->generation);
        if (news) {
            write_best(saved->champion);
        }
        checkpoint_cost_ = gathered + seconds_since(start);
        checkpoint_running_ = false;
    });
    return true;
}

void Coordinator::write(TaskThread::Task task) {
    while (!writer_.has_room(writer_patience)) {
        scheduler_.listen();
    }
    writer_.submit(std::move(task));
}

void Coordinator::drain() {
    while (!writer_.drained(writer_patience)) {
        scheduler_.listen();
    }
    writer_.drain();
}

void Coordinator::write_best(const std::optional<Champion>& champion) const {
    if (champion) {
        write_networks(
            directory_->path() / "best.cmb", directory_->path() / "best_genotype.cmb",
            {evolve::genome_of(*champion->genome), experiment_.identity_json, champion->generation,
             champion->birth, champion->fitness, champion->validated,
             experiment_.task_at(champion->generation)->preparation()},
            scheduler_.variation());
    }
}

std::optional<bool> Coordinator::solved() const {
    if (experiment_.stop.solved) {
        return last_ && last_->tests.passed;
    }
    if (std::isinf(experiment_.stop.fitness)) {
        return std::nullopt;
    }
    return last_ && reached(*last_) == StopReason::fitness;
}

void Coordinator::write_status(const char* state, std::optional<int> exit_code,
                               std::string_view reason, std::optional<double> tested) {
    RunStatus status;
    status.state = state;
    status.exit_code = exit_code;
    status.generation = next_generation();
    if (const Champion* champion = present_champion()) {
        status.best = champion->fitness;
        status.validated = champion->validated;
    }
    status.tested = tested;
    status.solved = solved();
    if (experiment_.stop.solved) {
        status.champion_tests = last_ ? last_->tests.count : 0;
    }
    status.reason = reason;
    if (const std::uint64_t generations = written_.generations.load(); generations > 0) {
        const auto mean = [generations](const std::atomic<std::uint64_t>& bytes) {
            return static_cast<double>(bytes.load()) / static_cast<double>(generations);
        };
        status.journal_bytes = mean(written_.journal_bytes);
        status.individuals_bytes = mean(written_.individuals_bytes);
    }
    reign_watch_->check();
    directory_->write_status(status);
}

void Coordinator::fail(const std::exception& error) noexcept {
    // A directory that was refused belongs to another run.
    if (!log_) {
        return;
    }
    try {
        writer_.drain();
    } catch (const std::exception&) {
        // It is this error, or one that came after it.
    }
    try {
        scheduler_.set_farewell(error.what());
        write_status("failed", failure_of(std::current_exception()).exit_code, error.what());
    } catch (const Deposed&) {
        scheduler_.set_farewell(std::nullopt);
    } catch (const std::exception&) {
        // The error on its way to the user matters more than this one.
    }
}

std::string_view name(StopReason reason) {
    switch (reason) {
        case StopReason::generations:
            return "generations";
        case StopReason::fitness:
            return "fitness";
        case StopReason::solved:
            return "solved";
        case StopReason::evaluations:
            return "evaluations";
        case StopReason::seconds:
            return "seconds";
        case StopReason::interrupted:
            break;
    }
    return "interrupted";
}

}  // namespace cambrian::distributed
