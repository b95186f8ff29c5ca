#pragma once

#include <string>

namespace cambrian::launch {

// What the environment says about the program that started this process; nothing here starts MPI.

/// Whether mpirun, srun or another launcher of ranks started this process.
[[nodiscard]] bool under_launcher();

/// Rank of this process by its launcher's word; 0 without one.
[[nodiscard]] int launcher_rank();

/// Place of this process among the ranks on its host, by its launcher's word; 0 without one.
[[nodiscard]] int launcher_local_rank();

/// Ranks on this host by the launcher's word; 1 without one.
[[nodiscard]] int launcher_local_size();

/// Ends an error with the exit code it stands for, also for launch/mpi, which reads it from the
/// file that CAMBRIAN_STATUS_FILE names (mpirun hides exit codes when it survives dead ranks).
void record_exit_code(int exit_code);
/// What launch/mpi looks for to know that MPI did not start; empty where it cannot be seen there.
[[nodiscard]] std::string file_of_failed_start();
/// Tells launch/mpi that every rank heeds signals from now on.
void record_start();

}  // namespace cambrian::launch
