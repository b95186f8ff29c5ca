#pragma once

#include <array>
#include <exception>
#include <string>
#include <string_view>

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

struct ExitCodeRow {
    ExitCode code{};
    std::string_view meaning;
};
/// As documentation tells them.
inline constexpr std::array exit_codes{
    ExitCodeRow{exit_done, "Done."},
    ExitCodeRow{exit_failed,
                "Failed in a way that no other code says; also a bound of check that is passed."},
    ExitCodeRow{exit_config, "Wrong usage, or a wrong config."},
    ExitCodeRow{exit_input, "A wrong input file, or one that cannot be read or written."},
    ExitCodeRow{exit_device, "A device is missing, fails or has too little memory."},
    ExitCodeRow{exit_interrupted, "Ended by a signal, with a checkpoint: resume goes on."},
    ExitCodeRow{exit_unsolved, "Ended below its goal, where --require-solved was given."}};

/// An error as the program reports it.
struct Failure {
    int exit_code = exit_failed;
    std::string text;
};
[[nodiscard]] Failure failure_of(const std::exception_ptr& error);

/// The line by which a program says an error, to be written in one piece: mpirun and other ranks
/// may say something at the same time.
[[nodiscard]] std::string error_line(std::string_view text, std::string_view program = "cambrian");

}  // namespace cambrian
