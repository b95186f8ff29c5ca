#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <ostream>
#include <string>
#include <vector>

#include "cambrian/launch/config/training_reader.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch::train_test {

using distributed::TrainingJob;
using distributed::TrainingResult;

/// Trains, telling of every epoch.
inline TrainingResult train_aloud(const TrainingJob& job, Backend& backend, std::ostream& out,
                                  const std::atomic<int>& interrupt, bool resume = false) {
    ConsoleTrainingReporter reporter(out, false, 0.0, job);
    return distributed::run_training(job, backend, reporter, interrupt, resume);
}

using test::content;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

inline std::string sample(const std::string& name) {
    return std::string(CAMBRIAN_SOURCE_DIR) + "/configs/" + name;
}

class Train : public testing::Test {
  protected:
    /// Runs a config of configs/ in a directory of its own.
    Result train(const std::string& name, const std::string& directory,
                 std::vector<std::string> arguments = {}) const {
        arguments.insert(arguments.begin(), {"train", sample(name), "--set",
                                             "run.directory=" + directory_.file(directory)});
        return run(arguments);
    }

    TemporaryDirectory directory_;
};

}  // namespace cambrian::launch::train_test
