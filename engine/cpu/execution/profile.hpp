#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/engine/cpu/execution/kernel.hpp"

namespace cambrian::cpu {

/// Calls, time and traffic of the kernels of all programs of a backend, by op and result. Kernels
/// are wrapped when a program is compiled, so a backend without a profile runs them as they are.
class Profile {
  public:
    /// The kernel of a node, timed.
    /// @param in_body whether it is run by a scan, whose own time is what its kernels leave.
    [[nodiscard]] std::unique_ptr<Kernel> timed(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                                const Node& node, bool in_body);
    /// A copy of so many elements for each individual.
    [[nodiscard]] std::unique_ptr<Kernel> timed_copy(std::unique_ptr<Kernel> kernel,
                                                     std::int64_t elements);
    /// Since the last call, most expensive first.
    [[nodiscard]] std::vector<KernelTime> take();

    /// What threads count up.
    struct Sum {
        std::atomic<std::int64_t> calls{0};
        std::atomic<std::int64_t> nanoseconds{0};
        std::atomic<std::int64_t> inner_nanoseconds{0};  ///< Of the kernels that a scan ran.
        std::atomic<std::int64_t> bytes{0};
    };

  private:
    [[nodiscard]] Sum& sum(const std::string& name) { return sums_[name]; }

    std::map<std::string, Sum> sums_;
};

}  // namespace cambrian::cpu
