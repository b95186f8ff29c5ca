#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch::evaluate_tests {

using Json = nlohmann::json;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::HasSubstr;

/// Three networks trained on classes 10, 20 and 30, or on numbers, from seeds of their own.
class Evaluate : public testing::Test {
  protected:
    static constexpr int rows = 90;

    Evaluate() {
        std::string text = "p,q,label\n";
        for (int i = 0; i < rows; ++i) {
            const double p = std::round(8.0 + 8.0 * std::sin(1.7 * i));
            const double q = std::round(8.0 + 8.0 * std::cos(2.9 * i));
            text += fmt::format("{},{},{}\n", p, q, p > 10.0 ? 30 : q > 8.0 ? 20 : 10);
        }
        directory_.write("rows.csv", text);
    }
    static std::string classes(const std::string& more = "") {
        return R"({"type": "dataset", "source": {"type": "csv", "files": ["rows.csv"],
            "targets": ["label"], "classes": true, "scale": 0.0625},
            "split": {"validation": 0.3, "test": 0.3}, "loss": {"type": "cross_entropy"})" +
               more + "}";
    }
    std::vector<std::string> trained(const std::string& task, int count = 3,
                                     const std::string& layers = "") {
        std::vector<std::string> files;
        for (int seed = 1; seed <= count; ++seed) {
            const std::string place = directory_.file(fmt::format("run-{}", ++trained_));
            const std::string config = directory_.write(
                "train.json", fmt::format(R"({{"run": {{"directory": "{}", "seed": {}}}, "task": {},
                "network": {{"layers": [{}{{"type": "dense"}}]}},
                "training": {{"epochs": 3, "batch": 8, "learning_rate": 0.05}}}})",
                                          place, seed, task, layers));
            const Result result = run({"train", config});
            EXPECT_EQ(result.code, 0) << result.err;
            files.push_back(place + "/best.cmb");
        }
        return files;
    }
    static Json json_of(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "evaluate");
        arguments.emplace_back("--json");
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 0) << result.err;
        return Json::parse(result.out);
    }
    TemporaryDirectory directory_;

  private:
    int trained_ = 0;
};

inline std::vector<std::string> with(std::vector<std::string> files,
                                     const std::vector<std::string>& more) {
    files.insert(files.end(), more.begin(), more.end());
    return files;
}

}  // namespace cambrian::launch::evaluate_tests
