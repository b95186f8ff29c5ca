#include "cambrian/distributed/coordinator/succession.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "cambrian/engine/core/clock.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/evolve/runs/run_file.hpp"
#include "cambrian/evolve/runs/run_lock.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

constexpr const char* reign_name = "coordinator.json";
/// Between the tries of two ranks: longer than it takes to note that one has succeeded,
constexpr std::chrono::milliseconds longest_turn{150};
/// but of all ranks, however many there are. The lock decides between those that try at once.
constexpr std::chrono::milliseconds longest_round{500};
constexpr std::chrono::milliseconds patience{25};
/// A file system that fails may answer again: it had a part in the death of the coordinator.
constexpr std::chrono::seconds longest_failure{5};

Clock::duration turn_of(int ranks) {
    return std::min<Clock::duration>(longest_turn, Clock::duration(longest_round) / ranks);
}

/// Whether one reign comes after another. Throws Deposed where it is that of another job, whose
/// ranks have the same numbers.
bool follows(const Reign& reign, const Reign& former, const fs::path& directory) {
    if (reign.epoch > former.epoch && reign.job() != former.job()) {
        throw Deposed(fmt::format(
            "{} belongs to another job (it has begun there in epoch {}, after rank {} of this one "
            "had died) this rank ends; what was committed is the other's to go on with",
            directory.string(), reign.job(), former.rank));
    }
    return reign.epoch > former.epoch;
}

[[noreturn]] void refuse_other_directory(const fs::path& directory, const Reign& former) {
    throw InputError(
        fmt::format("{} is not this run's directory any more (it was moved or removed, and rank "
                    "{}, which coordinated the run, has died) resume it where it lies",
                    directory.string(), former.rank));
}

/// Takes the reign where the lock is free and nobody has taken it before.
std::optional<Reign> try_to_follow(const fs::path& directory, const Reign& former, int rank) {
    std::error_code unknown;
    if (!fs::exists(directory, unknown) && !unknown) {
        refuse_other_directory(directory, former);
    }
    try {
        const RunLock lock(directory);
        if (const auto other = read_reign(directory); other && follows(*other, former, directory)) {
            return other;
        }
        if (former.epoch > 0 && !fs::exists(directory / reign_name, unknown) && !unknown) {
            refuse_other_directory(directory, former);
        }
        Reign own{former.epoch + 1, rank, former.dead};
        own.dead.push_back(former.rank);
        write_reign(directory, own);
        return own;
    } catch (const LockHeld&) {
        return std::nullopt;
    } catch (const ConfigError& error) {
        throw OutputError(error.what());  // There were locks: who has them may answer again.
    }
}

/// Who has followed already.
std::optional<Reign> successor_of(const Reign& former, const fs::path& directory, int size) {
    const auto reign = read_reign(directory);
    const bool known =
        reign && follows(*reign, former, directory) && reign->rank < size && reign->rank >= 0;
    return known ? reign : std::nullopt;
}

/// What a rank hears in one look.
enum class Heard : std::uint8_t { nothing_new, goes_on, is_over };

Heard hear(Communicator& communicator, const Reign& former, const Meanwhile& meanwhile) {
    const auto message = communicator.receive(patience);
    const bool speaks = message && message->source == former.rank;
    if (speaks && message->kind == MessageKind::stop) {
        return Heard::is_over;
    }
    if (meanwhile) {
        meanwhile(message ? &*message : nullptr);
    }
    return speaks ? Heard::goes_on : Heard::nothing_new;
}

}  // namespace

void write_reign(const fs::path& directory, const Reign& reign) {
    replace_text(
        directory / reign_name,
        nlohmann::json{{"epoch", reign.epoch}, {"rank", reign.rank}, {"dead", reign.dead}}.dump() +
            "\n");
}

std::optional<Reign> read_reign(const fs::path& directory) {
    std::vector<std::byte> bytes;
    try {
        bytes = read_file(directory / reign_name);
    } catch (const InputError&) {
        return std::nullopt;
    }
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object() || !json.contains("epoch") || !json.contains("rank") ||
        !json["epoch"].is_number_unsigned() || !json["rank"].is_number_unsigned()) {
        return std::nullopt;
    }
    Reign reign{json["epoch"].get<std::uint64_t>(), json["rank"].get<int>(), {}};
    if (const auto dead = json.find("dead"); dead != json.end() && dead->is_array()) {
        for (const nlohmann::json& rank : *dead) {
            if (rank.is_number_unsigned()) {
                reign.dead.push_back(rank.get<int>());
            }
        }
    }
    return reign;
}

void require_reign(const fs::path& directory, const Reign& own) {
    const auto now = read_reign(directory);
    if (now && now->epoch > own.epoch) {
        throw Deposed(fmt::format(
            "this rank coordinates no more (rank {} has taken {} over in epoch {}, this was {}) "
            "what it had not committed is the other's to do; nothing was written",
            now->rank, directory.string(), now->epoch, own.epoch));
    }
}

ReignWatch::ReignWatch(const RunDirectory& directory, Reign own)
    : directory_(directory), file_(directory.path() / reign_name), own_(std::move(own)) {}

void ReignWatch::check() {
    directory_.require_own();
    struct stat about {};
    if (::stat(file_.c_str(), &about) != 0) {
        return;
    }
    const std::array<std::int64_t, 3> found{static_cast<std::int64_t>(about.st_ino),
                                            static_cast<std::int64_t>(about.st_mtim.tv_sec),
                                            static_cast<std::int64_t>(about.st_mtim.tv_nsec)};
    const std::lock_guard lock(mutex_);
    if (found == seen_) {
        return;
    }
    require_reign(file_.parent_path(), own_);
    seen_ = found;
}

std::optional<Reign> await_successor(const fs::path& directory, Communicator& communicator,
                                     const Reign& former, const std::atomic<int>& interrupt,
                                     const std::function<void(const std::string&)>& say,
                                     bool kill_stopped, const Meanwhile& meanwhile) {
    const int size = communicator.size();
    const int place = (communicator.rank() - former.rank - 1 + size) % size;
    Clock::time_point next = Clock::now() + place * turn_of(size);
    std::optional<Clock::time_point> failing;  // Since then.
    bool said = false;
    const auto look_at_holder = [&] {
        if (const auto killed = kill_stopped ? kill_stopped_holder(directory) : std::nullopt) {
            say(fmt::format("rank {} was silent and stopped: {} was killed", former.rank, *killed));
        } else if (!std::exchange(said, true)) {
            say(fmt::format(
                "rank {} is silent, and still holds {} (it is stopped, or its host was cut off) "
                "the run waits for it: end its process to have another rank go on",
                former.rank, directory.string()));
        }
    };
    while (interrupt.load() == 0) {
        if (const auto reign = successor_of(former, directory, size)) {
            return reign;
        }
        if (Clock::now() >= next) {
            try {
                if (const auto reign = try_to_follow(directory, former, communicator.rank())) {
                    return reign;
                }
                look_at_holder();
                failing.reset();
            } catch (const OutputError& error) {
                if (!failing) {
                    failing = Clock::now();
                    say(fmt::format("{}; it is tried again", error.what()));
                } else if (Clock::now() - *failing > longest_failure) {
                    throw;
                }
            }
            next = Clock::now() + (failing ? longest_turn : size * turn_of(size));
        }
        if (const Heard heard = hear(communicator, former, meanwhile);
            heard != Heard::nothing_new) {
            return heard == Heard::goes_on ? std::optional(former) : std::nullopt;
        }
    }
    return std::nullopt;
}

std::optional<Reign> await_other_successor(const fs::path& directory, Communicator& communicator,
                                           const CoordinatorLost& lost,
                                           const std::atomic<int>& interrupt, double seconds,
                                           const Meanwhile& meanwhile) {
    const Reign& former = lost.former.value();
    const int size = communicator.size();
    // As long as two turns of those that may follow, the first of which may find the lock in other
    // hands; and as a file system may fail them, or free the lock of a dead process late.
    const Clock::time_point end =
        Clock::now() + 2 * size * turn_of(size) + longest_failure + duration_of(seconds);
    while (interrupt.load() == 0) {
        if (const auto reign = successor_of(former, directory, communicator.size())) {
            return reign;
        }
        if (Clock::now() >= end) {
            throw lost;
        }
        if (const Heard heard = hear(communicator, former, meanwhile);
            heard != Heard::nothing_new) {
            return heard == Heard::goes_on ? std::optional(former) : std::nullopt;
        }
    }
    return std::nullopt;
}

}  // namespace cambrian::distributed
