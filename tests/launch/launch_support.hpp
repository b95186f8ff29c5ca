#pragma once

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cambrian/launch/main.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::launch::test {

/// The text of the error that a body throws; empty, and a failed test, when it throws none.
template <class Error, class Body>
std::string failure(const Body& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "no error of the expected kind";
    return "";
}

using cambrian::test::TemporaryDirectory;

/// The bytes of a file; empty where there is none.
inline std::string content(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

/// What a command printed and returned.
struct Result {
    int code = 0;
    std::string out;
    std::string err;
};

inline Result run(const std::vector<std::string>& arguments,
                  const evolve::TaskRegistry& tasks = evolve::standard_tasks()) {
    std::ostringstream out;
    std::ostringstream err;
    Result result;
    result.code = run_program(arguments, tasks, out, err);
    result.out = out.str();
    result.err = err.str();
    return result;
}

/// A quick experiment in a folder; returns the path of its config.
inline std::string write_xor(const TemporaryDirectory& directory, const std::string& name = "xor") {
    return directory.write(
        name + ".json",
        R"({"run": {"name": "small", "directory": ")" + directory.file("run-" + name) +
            R"(", "stop": {"generations": 3}}, "population": {"size": 12}, "task": {"type": "xor"},
            "network": {"layers": [{"type": "dense", "out": 3, "activation": "tanh"}, {"type": "dense"}],
                        "grid": {"layers_per_cell": 3}}})");
}

/// Cells of a CSV text, header first.
inline std::vector<std::vector<std::string>> cells(const std::string& text) {
    std::vector<std::vector<std::string>> result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream row(line);
        result.emplace_back();
        for (std::string cell; std::getline(row, cell, ',');) result.back().push_back(cell);
    }
    return result;
}

}  // namespace cambrian::launch::test
