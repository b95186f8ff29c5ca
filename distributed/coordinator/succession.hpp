#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/runs/run_directory.hpp"

namespace cambrian::distributed {

/// Notes in the run directory who coordinates. Only for the holder of the directory's lock. Throws
/// InputError where the disk refuses.
void write_reign(const std::filesystem::path& directory, const Reign& reign);
/// Who coordinates, as the run directory says; nothing where it says nothing that can be read.
[[nodiscard]] std::optional<Reign> read_reign(const std::filesystem::path& directory);
/// Throws Deposed where the run directory says that another rank coordinates since.
void require_reign(const std::filesystem::path& directory, const Reign& own);

/// Keeps a coordinator that wakes late from writing: one that was stopped, and whose lock was lost.
class ReignWatch {
  public:
    /// @param directory must outlive it
    /// @param own what the directory says of this rank.
    ReignWatch(const RunDirectory& directory, Reign own);
    /// Throws Deposed where the directory says that another rank coordinates since, and InputError
    /// where it is another one by now. From any thread.
    void check();

  private:
    const RunDirectory& directory_;
    std::filesystem::path file_;
    Reign own_;
    std::mutex mutex_;
    /// Of the file that was read last: its number and when it was written.
    std::array<std::int64_t, 3> seen_{};
};

/// What a rank does each time it has looked for a successor, with the message that came meanwhile;
/// null: none did. The word of a coordinator that speaks again is the last one.
using Meanwhile = std::function<void(const Message*)>;

/// After the silence of a coordinator: who follows. The directory's lock decides: it is free when
/// the coordinator has died, and the first rank that gets it follows. Ranks try one after another,
/// all of them within half a second: none waits long for ranks that have died, too.
/// While the lock is held the coordinator lives, stopped or cut off, and all wait for it; `say` is
/// told so once. With `kill_stopped` its process is killed where it is stopped on this host.
/// Returns the former reign where the coordinator speaks again, and nothing when interrupted or
/// when that one says that the run is over. Throws Deposed where another job has begun in the
/// directory, InputError where that is another one by now, and OutputError where the system refuses
/// to have it read or written for some seconds.
[[nodiscard]] std::optional<Reign> await_successor(
    const std::filesystem::path& directory, Communicator& communicator, const Reign& former,
    const std::atomic<int>& interrupt, const std::function<void(const std::string&)>& say,
    bool kill_stopped = false, const Meanwhile& meanwhile = {});
/// The same for a rank that the lock does not keep out: it never follows itself, and waits for
/// another one for so many seconds, two tries of each rank, and as long as a directory may fail
/// those. Then it throws `lost`, which names the former reign.
[[nodiscard]] std::optional<Reign> await_other_successor(
    const std::filesystem::path& directory, Communicator& communicator, const CoordinatorLost& lost,
    const std::atomic<int>& interrupt, double seconds, const Meanwhile& meanwhile = {});

}  // namespace cambrian::distributed
