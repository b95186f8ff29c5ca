#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// Checkpoints, and the thread that writes files.
namespace cambrian::distributed {
namespace {

/// Writing checkpoints takes at most about a tenth of a run, however short its generations are.
constexpr double checkpoint_share = 0.1;
constexpr double status_seconds = 1.0;
/// While rank 0 waits for the writer, it looks this often for words of the workers.
constexpr std::chrono::milliseconds writer_patience{2};

}  // namespace

bool Coordinator::checkpoint_when_due() {
    if (seconds_since(last_status_) >= status_seconds) {
        write_status("running", std::nullopt, "");
        last_status_ = Clock::now();
    }
    const CheckpointSettings& settings = experiment_.checkpoint;
    const double waited = seconds_since(last_checkpoint_);
    const std::uint64_t generations = next_generation() - checkpoint_generation_;
    const bool wanted = (settings.every > 0 && generations >= settings.every) ||
                        ancestry_.bytes() > settings.max_held_bytes;
    const bool affordable =
        waited * checkpoint_share >= checkpoint_cost_.load() && !checkpoint_running_.load();
    return !((wanted && affordable) || waited >= settings.seconds) || checkpoint();
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
    // Rows are inputs of what develops, not of the members.
    if (!develops(experiment_.variation)) {
        state.preparation = experiment_.task_at(last_ ? last_->generation : 0)->preparation();
    }
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

}  // namespace cambrian::distributed
