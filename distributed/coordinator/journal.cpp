#include "cambrian/distributed/coordinator/journal.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container_sequence.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::distributed {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "journal-";
constexpr std::string_view suffix = ".cmb";
constexpr const char* journal_kind = "journal";
// The checkpoints tell the format: nobody reads a journal without the one before it.
constexpr std::array<WantedSection, 1> journal_sections{{{"entry"}}};

fs::path path_of(const fs::path& directory, std::uint64_t generation) {
    return directory / fmt::format("{}{}{}", prefix, generation, suffix);
}

/// The generation in the name of a journal; nothing for another file.
std::optional<std::uint64_t> generation_of(const fs::path& path) {
    const std::string name = path.filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) {
        return std::nullopt;
    }
    const std::string_view digits =
        std::string_view(name).substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    std::uint64_t generation = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), generation);
    return error == std::errc() && end == digits.data() + digits.size() ? std::optional(generation)
                                                                        : std::nullopt;
}

std::vector<fs::path> journals(const fs::path& directory) {
    std::vector<fs::path> found;
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
        if (generation_of(entry.path())) {
            found.push_back(entry.path());
        }
    }
    return found;
}

std::vector<std::byte> encode(const JournalEntry& entry) {
    ArchiveWriter archive;
    archive.write(entry.generation);
    archive.write(entry.digest);
    archive.write(std::span<const std::byte>(entry.decision));
    write_report(archive, entry.report);
    write_champion(archive, entry.champion);
    archive.write(entry.elapsed_seconds);
    for (const std::uint64_t length : entry.logs) {
        archive.write(length);
    }
    for (const Hash128& checksum : entry.checksums) {
        archive.write(checksum);
    }
    write_tests(archive, entry.report.tests);
    Container container{journal_kind, {}};
    container.add("entry", archive.take());
    return cambrian::encode(container);
}

JournalEntry decode(const Container& container, const std::string& source) {
    ArchiveReader archive(container.section("entry"), source);
    JournalEntry entry;
    archive.read(entry.generation);
    archive.read(entry.digest);
    archive.read(entry.decision);
    entry.report = read_report(archive);
    entry.champion = read_champion(archive);
    archive.read(entry.elapsed_seconds);
    for (std::uint64_t& length : entry.logs) {
        archive.read(length);
    }
    for (Hash128& checksum : entry.checksums) {
        archive.read(checksum);
    }
    entry.report.tests = read_tests(archive);
    archive.finish();
    return entry;
}

/// Where each sound entry of a journal ends, and the entries.
struct Contents {
    std::vector<JournalEntry> entries;
    std::vector<std::uint64_t> ends;
};

Contents contents_of(const fs::path& path, std::uint64_t generation) {
    Contents contents;
    std::error_code error;
    if (!fs::is_regular_file(fs::symlink_status(path, error))) {
        return contents;
    }
    ContainerSequence sequence(path, journal_kind, journal_sections);
    try {
        while (const auto container = sequence.next()) {
            JournalEntry entry = decode(*container, path.string());
            if (entry.generation != generation + contents.entries.size()) {
                break;
            }
            contents.entries.push_back(std::move(entry));
            contents.ends.push_back(sequence.position());
        }
    } catch (const InputError&) {
        // The run goes on from the entry before.
    }
    return contents;
}

}  // namespace

Journal::Journal(const fs::path& directory, std::uint64_t generation)
    : Journal(std::make_unique<AppendFile>(path_of(directory, generation), 0)) {}

Journal Journal::go_on(const fs::path& directory, std::uint64_t generation, std::size_t entries) {
    const std::uint64_t end = generation + entries;
    for (const fs::path& path : journals(directory)) {
        if (*generation_of(path) > end) {
            fs::remove(path);  // Of generations that never came to be.
        }
    }
    for (std::uint64_t first = generation;;) {
        const fs::path path = path_of(directory, first);
        const Contents contents = contents_of(path, first);
        const std::size_t kept = std::min<std::size_t>(end - first, contents.entries.size());
        if (kept < contents.entries.size() || kept == 0 || first + kept == end) {
            const std::uint64_t length = kept == 0 ? 0 : contents.ends[kept - 1];
            return Journal(std::make_unique<AppendFile>(path, length));
        }
        first += kept;
    }
}

std::uint64_t Journal::append(const JournalEntry& entry) {
    const std::vector<std::byte> bytes = encode(entry);
    file_->append(bytes);
    file_->flush();
    return bytes.size();
}

std::vector<JournalEntry> Journal::read(const fs::path& directory, std::uint64_t generation) {
    std::vector<JournalEntry> entries;
    for (std::uint64_t next = generation;;) {
        Contents contents = contents_of(path_of(directory, next), next);
        if (contents.entries.empty()) {
            return entries;
        }
        next += contents.entries.size();
        std::move(contents.entries.begin(), contents.entries.end(), std::back_inserter(entries));
    }
}

void Journal::remove_before(const fs::path& directory, std::uint64_t generation) {
    for (const fs::path& path : journals(directory)) {
        if (*generation_of(path) < generation) {
            fs::remove(path);
        }
    }
}

}  // namespace cambrian::distributed
