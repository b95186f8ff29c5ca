#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/run.hpp"

namespace cambrian::distributed {

/// Notes in the run directory who coordinates. Only for the holder of the directory's lock. Throws
/// InputError where the disk refuses.
void write_reign(const std::filesystem::path& directory, const Reign& reign);
/// Who coordinates, as the run directory says; nothing where it says nothing that can be read.
[[nodiscard]] std::optional<Reign> read_reign(const std::filesystem::path& directory);

/// After the silence of a coordinator: who follows. The directory's lock decides: it is free when
/// the coordinator has died, and the first rank that gets it follows. Ranks try one after another.
/// While the lock is held the coordinator lives, stopped or cut off, and all wait for it; `say` is
/// told so once. Returns the former reign where the coordinator speaks again, and nothing when
/// interrupted.
[[nodiscard]] std::optional<Reign> await_successor(
    const std::filesystem::path& directory, Communicator& communicator, const Reign& former,
    const std::atomic<int>& interrupt, const std::function<void(const std::string&)>& say);

}  // namespace cambrian::distributed
