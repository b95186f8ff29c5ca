#pragma once

#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch::test::trials_tests {

/// Rows of a table without what differs from run to run, the seconds at the end.
inline std::vector<std::string> rows_of(const std::filesystem::path& table) {
    std::istringstream lines(content(table));
    std::vector<std::string> rows;
    for (std::string line; std::getline(lines, line);)
        rows.push_back(line.substr(0, line.rfind(',')));
    return rows;
}

/// xor with a quick way to solve it.
inline std::string write_solvable(const TemporaryDirectory& directory) {
    return directory.write(
        "xor.json",
        R"({"run": {"name": "small", "stop": {"generations": 60, "solved": true}},
            "population": {"size": 40}, "task": {"type": "xor"}, "mutation": {"weight_power": 0.5},
            "network": {"layers": [{"type": "dense", "out": 4, "activation": "tanh"},
                                   {"type": "dense", "activation": "sigmoid"}]}})");
}

inline Result trials(const TemporaryDirectory& directory, std::vector<std::string> more) {
    std::vector<std::string> arguments{"trials", write_solvable(directory), "--directory",
                                       directory.file("set")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
}

}  // namespace cambrian::launch::test::trials_tests
