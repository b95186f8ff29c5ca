#pragma once

#include <limits>
#include <string>

#include "cambrian/distributed/communicator/communicator.hpp"

namespace cambrian::distributed {

/// Whether this build speaks MPI.
[[nodiscard]] bool mpi_available();

/// This rank's end of MPI's world; MPI must be initialised. Throws Error without MPI in the build.
/// @param largest_count of MPI's, which are ints; longer messages take another way.
[[nodiscard]] Communicator make_mpi_communicator(
    int largest_count = std::numeric_limits<int>::max());

/// Seconds that the ranks of a job wait for each other at its end.
constexpr double longest_farewell = 10.0;

/// Seconds that they wait where they have waited a lease for their coordinator already.
constexpr double farewell_without_coordinator = 0.5;

/// Owns MPI_Init and MPI_Finalize. Ignores SIGPIPE (a dead peer must not kill us) and guards both
/// with a timer (SIGALRM), because they can hang after a peer died.
class MpiSession {
  public:
    /// Ends the process with exit code 1 when not every rank has come within `start_seconds`; then
    /// nothing has begun, and the file `not_started` is made where a name is given. Throws
    /// ConfigError when the launcher promises several ranks but MPI sees one (srun without PMI),
    /// and when MPI is not built in but the launcher started several ranks.
    MpiSession(double start_seconds, const std::string& not_started);
    ~MpiSession();
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;

    [[nodiscard]] int rank() const;
    [[nodiscard]] int size() const;
    /// Ranks of this job on this host, and our place among them.
    [[nodiscard]] int local_rank() const;
    [[nodiscard]] int local_size() const;
    [[nodiscard]] Communicator communicator();
    /// At the end a peer that is dead, stopped or cut off is waited for no longer than a lease, and
    /// never longer than longest_farewell.
    void set_lease(double seconds);
    /// Seconds that MPI_Finalize and abort() may take.
    [[nodiscard]] double patience() const;
    /// What the process exits with when MPI_Finalize hangs; 0 unless set.
    void set_exit_code(int exit_code);
    /// Ends the whole job; only the coordinator may.
    [[noreturn]] void abort(int exit_code);

  private:
    int rank_ = 0;
    int size_ = 1;
    int local_rank_ = 0;
    int local_size_ = 1;
    int exit_code_ = 0;
    double patience_ = longest_farewell;
};

/// Ranks the launcher says it started, from SLURM_STEP_NUM_TASKS, PMI_SIZE or OMPI_COMM_WORLD_SIZE;
/// 1 without a launcher.
[[nodiscard]] int launched_ranks();

}  // namespace cambrian::distributed
