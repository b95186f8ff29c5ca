#pragma once

#include <cstddef>
#include <memory>

#include "cambrian/tests/support/forwarding_backend.hpp"

namespace cambrian::distributed {

/// The CPU as a device that is as late as it may be: what is uploaded and run waits until somebody
/// reads, and then happens in the order of the calls.
class LateBackend : public test::ForwardingBackend {
  public:
    using ForwardingBackend::ForwardingBackend;
    /// The most runs that waited for one who reads.
    [[nodiscard]] virtual std::size_t max_waiting() const = 0;
};

/// @param refused_run for which there is no memory, counted from 1; 0: none.
[[nodiscard]] std::unique_ptr<LateBackend> make_late_backend(int threads,
                                                             std::size_t refused_run = 0);

}  // namespace cambrian::distributed
