#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cambrian/distributed/message.hpp"
#include "cambrian/distributed/run.hpp"
#include "cambrian/evolve/birth.hpp"

namespace cambrian::distributed {

/// A file that only grows: text is collected, written once a generation, synced at checkpoints.
class AppendFile {
  public:
    /// Opens or creates it and cuts it to `length` bytes. Throws InputError when it is shorter or
    /// the disk refuses.
    AppendFile(std::filesystem::path path, std::uint64_t length);
    ~AppendFile();
    AppendFile(const AppendFile&) = delete;
    AppendFile& operator=(const AppendFile&) = delete;

    [[nodiscard]] std::string& pending() { return pending_; }
    void flush();
    void sync();
    /// Bytes written so far.
    [[nodiscard]] std::uint64_t length() const { return length_; }

  private:
    std::filesystem::path path_;
    int file_ = -1;
    std::uint64_t length_ = 0;
    std::string pending_;
};

/// Seconds of one rank in one generation.
struct RankSeconds {
    int rank = 0;
    WorkSeconds seconds;
};

/// generations.csv, individuals.csv and timings.csv of a run directory. The first two depend on the
/// run's identity only: numbers are written in their shortest form that reads back the same.
class GenerationLog {
  public:
    static constexpr std::size_t files = 3;
    using Lengths = std::array<std::uint64_t, files>;

    /// Continues files of these lengths (what is longer is cut); zero lengths begin new ones.
    GenerationLog(const std::filesystem::path& directory, const Lengths& lengths);

    /// Appends one generation and hands it to the system.
    void append(const GenerationReport& report, std::span<const evolve::Birth> births,
                std::span<const evolve::Outcome> outcomes, std::span<const RankSeconds> seconds);
    /// Makes everything appended survive a power cut.
    void sync();
    [[nodiscard]] Lengths lengths() const;
    /// Whether the files hold at least these lengths.
    [[nodiscard]] static bool long_enough(const std::filesystem::path& directory,
                                          const Lengths& lengths);

  private:
    AppendFile generations_;
    AppendFile individuals_;
    AppendFile timings_;
};

}  // namespace cambrian::distributed
