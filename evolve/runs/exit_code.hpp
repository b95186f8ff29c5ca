#pragma once

#include <exception>
#include <string>

namespace cambrian {

/// What the program tells its caller.
enum ExitCode : int {
    exit_done = 0,
    exit_failed = 1,  ///< Anything the others do not say.
    exit_config = 2,  ///< Wrong usage or config.
    exit_input = 3,   ///< Wrong input file.
    exit_device = 4,
    exit_interrupted = 5,  ///< Ended by a signal, with a checkpoint.
    exit_unsolved = 6,     ///< Ended unsolved, where --require-solved was given.
};

/// An error as the program reports it.
struct Failure {
    int exit_code = exit_failed;
    std::string text;
};
[[nodiscard]] Failure failure_of(const std::exception_ptr& error);

}  // namespace cambrian
