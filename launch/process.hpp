#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cambrian/distributed/communicator/mpi_session.hpp"

// The process that a command runs in: who started it, its descriptors and signals. Nothing here
// starts MPI.
namespace cambrian::launch {

/// Whether mpirun, srun or another launcher of ranks started this process.
[[nodiscard]] bool under_launcher();

/// Rank of this process by its launcher's word; 0 without one.
[[nodiscard]] int launcher_rank();

/// Place of this process among the ranks on its host, by its launcher's word; 0 without one.
[[nodiscard]] int launcher_local_rank();

/// Ranks on this host by the launcher's word; 1 without one.
[[nodiscard]] int launcher_local_size();

/// Tells launch/mpi the exit code of the run, in the file that CAMBRIAN_STATUS_FILE names (mpirun
/// hides exit codes when it survives dead ranks).
/// @param patience seconds that the ranks wait for each other at the end.
void record_exit_code(int exit_code, double patience = distributed::longest_farewell);
/// Tells launch/mpi that this rank is about to start MPI: it starts a job again of which a rank
/// dies meanwhile. → The file to be made where MPI does not start; empty where launch/mpi would not
/// see it.
[[nodiscard]] std::string announce_mpi();
/// Tells launch/mpi that MPI has started on every rank, and that all heed signals from now on.
void record_start();
/// Tells launch/mpi that the other ranks have heard of rank 0, and go on where it dies.
void record_running();

/// Opens /dev/null on each of the descriptors 0, 1 and 2 that is closed: the next file that is
/// opened would get its number, and what is meant for the console would be written into it. Throws
/// Error when /dev/null cannot be opened.
void open_standard_descriptors();

/// While it lives, SIGINT, SIGTERM, SIGHUP and SIGUSR1 set a flag instead of ending the process, so
/// that a run can save itself. A second SIGINT, SIGTERM or SIGHUP, of any of the three, ends it at
/// once, wherever it is; within 0.3 s of the first it is taken for the same request told twice, as
/// launchers and terminals do. SIGUSR1 never ends it: mpirun passes it on as often as it is asked.
/// A SIGHUP that is ignored (nohup) stays so. The handlers before it come back at the end. One at a
/// time.
class SignalGuard {
  public:
    SignalGuard();
    ~SignalGuard();
    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

    /// The number of the signal that came, or 0.
    [[nodiscard]] const std::atomic<int>& flag() const;

  private:
    struct Saved;
    std::unique_ptr<Saved> saved_;
};

}  // namespace cambrian::launch
