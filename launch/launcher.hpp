#pragma once

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

}  // namespace cambrian::launch
