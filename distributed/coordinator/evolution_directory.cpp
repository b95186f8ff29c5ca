#include "cambrian/distributed/coordinator/evolution_directory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "cambrian/distributed/coordinator/journal.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

bool is_there(const fs::path& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

/// The lines that a checkpoint counts are not those that it counted, or no log has them. No older
/// one helps: the user must know, and can put the file back.
class ChangedLog : public InputError {
  public:
    using InputError::InputError;
};

/// GenerationLog::changed for the lengths and checksums of a checkpoint or an entry of the journal.
std::optional<std::string> changed_log(const fs::path& directory, const auto& of,
                                       GenerationLog::Prefixes& known) {
    try {
        return GenerationLog::changed(directory, of.logs, of.checksums, known);
    } catch (const OutputError&) {
        throw;
    } catch (const InputError& error) {
        throw ChangedLog(error.what());
    }
}

}  // namespace

EvolutionDirectory::EvolutionDirectory(fs::path path, std::uint64_t keep)
    : RunDirectory(std::move(path)), keep_(std::max<std::uint64_t>(keep, 1)) {}

void EvolutionDirectory::make_logs() const {
    std::error_code error;
    const fs::path logs = path() / "logs";
    fs::create_directory(logs, error);
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(logs, ignored))) {
        return;
    }
    const bool other = !error || error == std::errc::file_exists;
    throw OutputError(fmt::format(
        "{} cannot be made ({}) {}", logs.string(),
        other ? "a file or link has its name" : error.message(),
        other ? "remove it, or choose another run.directory" : "check the permissions of the run"));
}

/// An entry whose lines are no longer there counts as little as one that was never written.
std::vector<JournalEntry> EvolutionDirectory::committed_after(const Checkpoint& checkpoint) {
    std::vector<JournalEntry> entries = Journal::read(path(), checkpoint.generation);
    const auto sound = [this](const JournalEntry& entry) {
        return !GenerationLog::shorter(path(), entry.logs) &&
               !changed_log(path(), entry, logs_read_);
    };
    // An entry has all lines of those before it, and each of them would be a look at whole files.
    if (!entries.empty() && !sound(entries.back())) {
        entries.erase(std::ranges::partition_point(entries, sound), entries.end());
    }
    return entries;
}

bool EvolutionDirectory::load_newest(const Accept& accept,
                                     const std::function<void(const std::string&)>& warn) {
    std::vector<OlderCheckpoint> candidates = older_checkpoints(path());
    if (is_there(path() / newest_checkpoint)) {
        candidates.insert(candidates.begin(), {path() / newest_checkpoint, 0});
    }
    std::vector<fs::path> refused;
    for (const OlderCheckpoint& candidate : candidates) {
        try {
            Checkpoint checkpoint =
                decode_checkpoint(read_file(candidate.path), candidate.path.string());
            if (const auto log = GenerationLog::shorter(path(), checkpoint.logs)) {
                throw InputError(
                    fmt::format("{} cannot be used ({} is shorter than it says) restore that log",
                                candidate.path.string(), *log));
            }
            if (const auto log = changed_log(path(), checkpoint, logs_read_)) {
                throw ChangedLog(changed_text(path() / *log));
            }
            const std::uint64_t generation = checkpoint.generation;
            const std::vector<JournalEntry> entries = committed_after(checkpoint);
            accept(std::move(checkpoint), entries);
            if (candidate.path.filename() == newest_checkpoint) {
                newest_ = generation;
            }
            // Out of the way of the next save, and kept for whoever wants to look.
            for (const fs::path& path : refused) {
                fs::rename(path, path.string() + ".damaged");
            }
            return true;
        } catch (const ChangedLog&) {
            throw;
        } catch (const OtherVersionError&) {
            // Sound, and left as it is for that version.
            throw;
        } catch (const OutputError&) {
            // It may be sound, too.
            throw;
        } catch (const InputError& error) {
            warn(fmt::format("{}; trying an older checkpoint", error.what()));
            refused.push_back(candidate.path);
        }
    }
    if (!candidates.empty()) {
        throw InputError(
            fmt::format("no checkpoint in {} can be used ({} tried) start the run anew "
                        "in another directory",
                        path().string(), candidates.size()));
    }
    return false;
}

void EvolutionDirectory::save(const Checkpoint& checkpoint) {
    const std::vector<std::byte> bytes = encode(checkpoint);
    const fs::path newest = path() / newest_checkpoint;
    if (newest_ && *newest_ != checkpoint.generation && is_there(newest)) {
        fs::rename(newest, path() / older_checkpoint(*newest_));
    }
    write_file_atomically(newest, bytes);
    newest_ = checkpoint.generation;
    const std::vector<OlderCheckpoint> past = older_checkpoints(path());
    for (std::size_t i = keep_ - 1; i < past.size(); ++i) {
        fs::remove(past[i].path);
    }
    const std::size_t kept = std::min<std::size_t>(past.size(), keep_ - 1);
    Journal::remove_before(path(), kept == 0 ? checkpoint.generation : past[kept - 1].generation);
}

}  // namespace cambrian::distributed
