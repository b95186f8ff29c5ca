#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/evaluation/calibration.hpp"
#include "cambrian/evolve/evaluation/evaluator.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve::testing {

/// A folder for the files of one test, removed with the object.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
        path_ = std::filesystem::path(::testing::TempDir()) /
                (std::string("cambrian_") + test->test_suite_name() + "_" + test->name());
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~TemporaryFolder() { std::filesystem::remove_all(path_); }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    /// Writes a file and returns its path.
    std::string write(std::string_view name, std::string_view text) const {
        const std::filesystem::path file = path_ / name;
        std::ofstream(file, std::ios::binary) << text;
        return file.string();
    }
    [[nodiscard]] std::string path() const { return path_.string(); }

  private:
    std::filesystem::path path_;
};

/// The text of the error a call throws, or what went wrong instead.
template <class Expected, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const Expected& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another kind of error: ") + error.what();
    }
    return "no error";
}

inline std::unique_ptr<Task> standard_task(std::string_view settings,
                                           const std::string& folder = "") {
    return standard_tasks().make(nlohmann::json::parse(settings), {.base_directory = folder});
}

/// A genome for a task from a config's "network" object.
inline Genome genome_for(const Task& task, std::string_view network, std::uint64_t id = 0) {
    const Blueprint blueprint = blueprint_from_json(
        nlohmann::json::parse(network), task.signature().observations, task.signature().outputs);
    RandomStream rng(random_key(5, "test"), id);
    return sample_genome(blueprint, rng, id);
}

inline std::vector<const Genome*> pointers_to(const std::vector<Genome>& genomes) {
    std::vector<const Genome*> result;
    for (const Genome& genome : genomes) result.push_back(&genome);
    return result;
}

/// The same network in float32, of the numbers that its codes stand for.
inline Genome decoded(const Genome& genome) {
    Genome plain = with_formats(genome, {});
    plain.weights = evaluated_weights(Network(genome.blueprint), genome.weights);
    return plain;
}

inline Evaluation evaluate_one(Backend& backend, const Task& task, const Genome& genome,
                               const EvaluationRound& round = {}, std::uint64_t seed = 1) {
    Evaluator evaluator(backend, task, seed);
    const Genome* const genomes[] = {&genome};
    return evaluator.evaluate(genomes, round)[0];
}

}  // namespace cambrian::evolve::testing
