#pragma once

#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/message.hpp"
#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::distributed {

/// What this rank says of itself.
[[nodiscard]] Hello introduce(const Experiment& experiment, const Backend& backend);

/// Whether a backend's results depend on its device: then ranks must have one fingerprint.
[[nodiscard]] bool device_dependent(const Backend& backend);

/// Throws ConfigError naming the rank when it runs another program or experiment, or (unless
/// `mixed`) would compute other bits.
void check_same(const Hello& own, const Hello& other, int rank, bool fingerprints_matter);

}  // namespace cambrian::distributed
