#pragma once

#include <string>
#include <string_view>

#include "cambrian/distributed/communicator/communicator.hpp"
#include "cambrian/distributed/experiment.hpp"
#include "cambrian/distributed/protocol/message.hpp"
#include "cambrian/engine/backend/backend.hpp"

namespace cambrian::distributed {

/// Before the processors that a rank is bound to, in its fingerprint; not there where it is not.
inline constexpr std::string_view bound_to = ", bound to ";

/// What this rank says of itself.
[[nodiscard]] Handshake introduce(const Experiment& experiment, const Backend& backend);

/// Tells all workers that there will be no run; of rank 0, before it ever answered one of them.
void dismiss(Communicator& communicator, const std::string& why);

/// Tells the coordinator why this rank takes no part in the run, before it ever did.
void decline(Communicator& communicator, const std::string& why, int coordinator = 0);

/// Throws ConfigError naming the rank when it runs another program or experiment, or (unless
/// `mixed`) would compute other bits.
void check_same(const Handshake& own, const Handshake& other, int rank, bool mixed);

}  // namespace cambrian::distributed
