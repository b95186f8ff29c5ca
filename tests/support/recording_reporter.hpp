#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cambrian/distributed/run.hpp"

namespace cambrian::test {

/// Keeps what it is told; `on_generation` may act on it.
class RecordingReporter final : public distributed::Reporter {
  public:
    void started(const distributed::Experiment&, const std::vector<std::string>& rank_lines,
                 std::uint64_t generation) override {
        ranks = rank_lines;
        first_generation = generation;
    }
    void progressed(std::uint64_t, std::uint64_t, std::uint64_t) override {}
    void generation_done(const distributed::GenerationReport& report) override {
        reports.push_back(report);
        if (on_generation) on_generation(report);
    }
    void warning(const std::string& text) override { warnings.push_back(text); }

    std::vector<std::string> ranks;
    std::uint64_t first_generation = 0;
    std::vector<distributed::GenerationReport> reports;
    std::vector<std::string> warnings;
    std::function<void(const distributed::GenerationReport&)> on_generation;
};

}  // namespace cambrian::test
