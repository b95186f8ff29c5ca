#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/evolve/runs/run_file.hpp"

namespace cambrian::distributed {

/// TensorBoard takes every file with "tfevents" in its name; this one tells of no host and no time.
inline constexpr const char* events_name = "events.out.tfevents.0.cambrian";

/// CRC-32C (Castagnoli), as RFC 3720 has it.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes);

/// The numbers of a table of a run (generations.csv, epochs.csv) as scalars for TensorBoard: an
/// event for each line, its step the first column, and a scalar for each other cell that is not
/// empty, named as its column. Scalars are float32, as that format has them.
///
/// The events follow from the table but for the time they were written at, which is why no
/// checkpoint knows of them: whoever opens them compares them with the table, keeps those that are
/// right and writes the rest. So a resume has no step twice, and an event that a crash cut short is
/// written again.
///
/// Format: records of length (u64), masked CRC of these bytes (u32), content and its masked CRC;
/// the content is the message Event of TensorFlow's event.proto.
class EventLog {
  public:
    /// Makes the events beside a table say what its whole lines do.
    /// @param several whether the table has lines of several individuals, by whose number scalars
    /// are told apart: "train_loss/3". Throws InputError when the disk refuses, and for events that
    /// are no regular file.
    EventLog(const std::filesystem::path& table, bool several);

    /// The event of a line that the table gets, once it is flushed.
    void append(std::string_view line);
    /// The last line has become this one: an event of the same step has what it did not say before,
    /// so that who reads along is not disturbed.
    void amend(std::string_view line);
    void flush() { file_->flush(); }
    void sync() { file_->sync(); }

  private:
    [[nodiscard]] std::string record_of(std::string_view line) const;

    std::vector<std::string> columns_;
    bool several_;
    std::optional<AppendFile> file_;
    std::string last_line_;
};

}  // namespace cambrian::distributed
