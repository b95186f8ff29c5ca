#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cambrian/evolve/tasks/task.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

// Tasks of programs, and networks for them.
namespace cambrian::evolve::external_test {

/// Networks that answer with their own number, whatever they see.
class NumberedNetworks final : public Population {
  public:
    explicit NumberedNetworks(std::vector<float> numbers) : numbers_(std::move(numbers)) {}
    [[nodiscard]] std::size_t size() const override { return numbers_.size(); }
    [[nodiscard]] std::vector<float> outputs(std::span<const float>, std::int64_t batch) override {
        return step({}, batch);
    }
    [[nodiscard]] std::vector<float> step(std::span<const float> observations,
                                          std::int64_t batch) override {
        seen_.emplace_back(observations.begin(), observations.end());
        std::vector<float> outputs;
        for (const float number : numbers_)
            outputs.insert(outputs.end(), static_cast<std::size_t>(batch), number);
        return outputs;
    }
    void reset() override { seen_.clear(); }
    void reset(std::span<const std::uint8_t>) override {}
    [[nodiscard]] std::optional<BirthId> origin(std::size_t network) const override {
        return 100 + network;
    }
    [[nodiscard]] Genome genome(std::size_t network) const override {
        Genome genome = founder_genome(
            blueprint_from_json({{"layers", {{{"type", "dense"}, {"activation", "tanh"}}}}}, 1, 1),
            0);
        genome.weights = {0.25F, numbers_[network]};
        return genome;
    }
    [[nodiscard]] const std::vector<std::vector<float>>& seen() const { return seen_; }
    void count_steps(std::size_t, std::uint64_t steps) override { steps_ += steps; }
    [[nodiscard]] std::uint64_t steps() const { return steps_; }

  private:
    std::uint64_t steps_ = 0;
    std::vector<float> numbers_;
    std::vector<std::vector<float>> seen_;
};

inline const std::string folder = CAMBRIAN_SOURCE_DIR "/tests/evolve/tasks/external";

struct Made {
    std::vector<std::string> warnings;
    std::unique_ptr<Task> task;
};

inline nlohmann::json settings(std::vector<std::string> command) {
    return {{"type", "external"}, {"command", std::move(command)}, {"episodes", 2}};
}

inline std::unique_ptr<Made> make(const nlohmann::json& json) {
    auto made = std::make_unique<Made>();
    made->task = standard_tasks().make(
        json, {.base_directory = folder,
               .warn = [&](const std::string& text) { made->warnings.push_back(text); }});
    return made;
}

/// Seconds that no program needs.
inline constexpr double patience = 60.0;

/// The interpreter itself: what PATH finds may be a script that takes long to find it.
inline const std::string& interpreter() {
    static const std::string path = [] {
        std::string text(4096, '\0');
        FILE* pipe = popen("python3 -c 'import sys; print(sys.executable, end=\"\")'", "r");
        text.resize(pipe == nullptr ? 0 : std::fread(text.data(), 1, text.size(), pipe));
        if (pipe != nullptr) pclose(pipe);
        return text;
    }();
    return path;
}

inline std::vector<std::string> simulator(const std::string& mode) {
    return {interpreter(), "-I", "-S", "misbehaving.py", mode};
}

inline std::unique_ptr<Made> misbehaving(const std::string& mode, double seconds = patience) {
    nlohmann::json json = settings(simulator(mode));
    json["seconds"] = seconds;
    return make(json);
}

/// How a program is spoken to.
struct Speech {
    const char* level;
    const char* frames;
};

inline std::unique_ptr<Made> misbehaving(const Speech& speech, const std::string& mode,
                                         double seconds = patience) {
    nlohmann::json json = settings(simulator(mode));
    json["seconds"] = seconds;
    json["level"] = speech.level;
    json["frames"] = speech.frames;
    return make(json);
}

inline std::vector<double> evaluate(const Task& task, Population& population) {
    return task.evaluate(population, Phase::train, 1, 0);
}

}  // namespace cambrian::evolve::external_test
