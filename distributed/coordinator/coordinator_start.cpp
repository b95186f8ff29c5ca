#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "cambrian/distributed/coordinator/coordinator.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

// How a run begins or goes on: its directory, what lies there, the reign.
namespace cambrian::distributed {
namespace {

/// How long the lock of a dead coordinator may be in the hands of ranks that only try it.
constexpr std::chrono::seconds longest_contest{5};
constexpr std::chrono::milliseconds lock_patience{2};

}  // namespace

void Coordinator::open(Start start) {
    directory_ = own_directory();
    const std::string place = directory_->path().string();
    // Who takes over knows better.
    if (const auto line =
            reign_.epoch == 0 ? directory_->unfinished("generations") : std::nullopt) {
        reporter_.warning(*line);
    }
    const bool going_on = start != Start::fresh && holds_checkpoint(directory_->path());
    if (!going_on && start != Start::resume) {
        refuse_overwriting(start);
    }
    GenerationLog::Lengths lengths{};
    const auto accept = [&](Checkpoint&& checkpoint, std::span<const JournalEntry> committed) {
        lengths = checkpoint.logs;
        restore(std::move(checkpoint), committed);
        if (committed_ > 0) {
            lengths = committed[committed_ - 1].logs;
        }
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
                                           logged_parts(experiment_), directory_->take_logs_read());
    journal_ = found ? Journal::go_on(directory_->path(), checkpoint_read_, committed_)
                     : Journal(directory_->path(), 0);
    begun_ = found;
    checkpoint_generation_ = next_generation();
}

std::unique_ptr<EvolutionDirectory> Coordinator::own_directory() const {
    const Clock::time_point end = Clock::now() + longest_contest;
    const auto wait_or_throw = [&] {
        // It may have been stopped on the way here.
        require_own_reign();
        // After a death others try the lock, too, and let go of it at once; and a file system that
        // was in the way of the former coordinator may answer again.
        if (reign_.epoch == 0 || Clock::now() > end) {
            throw;
        }
        Clock::sleep(lock_patience);
    };
    for (;;) {
        try {
            auto directory = std::make_unique<EvolutionDirectory>(experiment_.directory,
                                                                  experiment_.checkpoint.keep);
            require_own_reign();
            return directory;
        } catch (const ConfigError&) {
            wait_or_throw();
        } catch (const OutputError&) {
            wait_or_throw();
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
    reign_watch_.emplace(*directory_, reign_);
}

void Coordinator::refuse_overwriting(Start start) const {
    const std::string place = directory_->path().string();
    if (std::filesystem::exists(directory_->path() / "trials.csv")) {
        throw ConfigError(
            fmt::format("the directory {} holds trials (a run would overwrite their config) give "
                        "another run.directory",
                        place));
    }
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
    const SharedStrategy start = evolve::state_of(*make_strategy(experiment_), checkpoint.strategy);
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
        const std::optional<Champion>& last = committed.back().champion;
        // What the same genome has learned in another generation is something else.
        const bool same = champion && last && champion->origin == last->origin &&
                          scheduler_.evaluated(champion->origin, champion->generation) ==
                              scheduler_.evaluated(last->origin, last->generation);
        champion = last;
        if (champion && same) {
            champion->genome = known;
        } else if (champion) {
            origins.push_back(champion->origin);
        }
    }
    Ancestry::Genomes made = scheduler_.make_again(ancestry, origins);
    if (champion && !champion->genome) {
        champion->genome =
            scheduler_.grown(made.at(champion->origin), champion->origin, champion->generation);
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

}  // namespace cambrian::distributed
