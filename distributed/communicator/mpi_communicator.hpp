#pragma once

#include "cambrian/distributed/communicator/communicator.hpp"

namespace cambrian::distributed {

/// This rank's end of MPI's world; MPI must be initialised. Throws Error without MPI in the build.
[[nodiscard]] Communicator make_mpi_communicator();

}  // namespace cambrian::distributed
