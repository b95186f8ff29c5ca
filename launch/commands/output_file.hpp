#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/io/container.hpp"

namespace cambrian::launch {

struct CommandContext;

/// Where a command writes what it is asked for: a file, or standard output, for no path, "-" and
/// one that leads there, such as /dev/stdout.
class Destination {
  public:
    /// Opens nothing yet, but takes a descriptor that is named. Throws ConfigError where a file
    /// would be replaced, by whatever path or link, that is one of the `inputs` ("-": standard
    /// input) or that a run has written: nothing brings that back; and for the file that standard
    /// output goes to.
    Destination(const CommandContext& context, std::string path,
                const std::vector<std::string>& inputs);

    /// Standard output then has the result alone.
    [[nodiscard]] bool standard() const { return standard_; }
    /// Whether a file is there that would be gone; devices, pipes and descriptors are only written
    /// to.
    [[nodiscard]] bool replaces() const;
    /// What lines about the result call it.
    [[nodiscard]] std::string name() const { return standard_ ? "standard output" : path_; }
    /// Where they go: to standard error where standard output has the result.
    [[nodiscard]] std::ostream& lines() const { return lines_; }

    /// Part by part; a file stays as it was until finish(). Throw InputError where the place takes
    /// no more.
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text);
    void finish();

  private:
    OutputFile& file();

    std::string path_;
    bool standard_;
    std::ostream& out_;
    std::ostream& lines_;
    std::optional<OutputFile> file_;
};

/// Throws InputError where standard output has not taken what it was given.
void flush_standard_output(std::ostream& out);

}  // namespace cambrian::launch
