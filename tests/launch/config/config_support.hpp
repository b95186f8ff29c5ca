#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/launch/config/config_file.hpp"
#include "cambrian/launch/config/experiment_reader.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

/// What tests of configs share.
namespace cambrian::launch::config_tests {

using test::failure;
using test::TemporaryDirectory;

inline Json minimal() {
    return Json::parse(R"({"task": {"type": "xor"}})");
}

inline ResolvedConfig resolved(const Json& json, const std::vector<std::string>& overrides = {},
                               const Environment& environment = nullptr) {
    return resolve(
        document_from(json, "test.json", std::filesystem::current_path(), overrides), Schema(),
        environment ? environment
                    : [](const std::string&) { return std::optional<std::string>(); });
}

inline std::string refusal(const Json& json, const std::vector<std::string>& overrides = {}) {
    return failure<ConfigError>([&] { (void)resolved(json, overrides); });
}

inline distributed::Experiment experiment(const Json& json,
                                          const std::vector<std::string>& overrides) {
    return make_experiment(resolved(json, overrides), Schema(), evolve::standard_tasks());
}

}  // namespace cambrian::launch::config_tests
