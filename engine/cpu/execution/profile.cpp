#include "cambrian/engine/cpu/execution/profile.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian::cpu {

namespace {

/// Bytes that a kernel moves: for each individual, and at every call.
struct Traffic {
    std::int64_t own = 0;
    std::int64_t shared = 0;

    void add(std::int64_t elements, bool per_individual) {
        (per_individual ? own : shared) += elements * word_bytes;
    }
};

class TimedKernel : public Kernel {
  public:
    TimedKernel(std::unique_ptr<Kernel> kernel, Traffic traffic, Profile::Sum& sum,
                Profile::Sum* outer)
        : kernel_(std::move(kernel)), traffic_(traffic), sum_(&sum), outer_(outer) {}

    void run(Frame& frame, std::int64_t count) const override {
        const auto start = std::chrono::steady_clock::now();
        kernel_->run(frame, count);
        const std::chrono::nanoseconds time = std::chrono::steady_clock::now() - start;
        sum_->calls.fetch_add(1, std::memory_order_relaxed);
        sum_->nanoseconds.fetch_add(time.count(), std::memory_order_relaxed);
        sum_->bytes.fetch_add(traffic_.shared + traffic_.own * count, std::memory_order_relaxed);
        if (outer_ != nullptr)
            outer_->inner_nanoseconds.fetch_add(time.count(), std::memory_order_relaxed);
    }

  private:
    std::unique_ptr<Kernel> kernel_;
    Traffic traffic_;
    Profile::Sum* sum_;
    Profile::Sum* outer_;
};

const std::string scan_name{name(Op::scan)};

}  // namespace

std::unique_ptr<Kernel> Profile::timed(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                       const Node& node, bool in_body) {
    Traffic traffic;
    const auto add = [&](ValueId id) {
        traffic.add(graph.value(id).shape.elements(), graph.value(id).per_individual);
    };
    for (const ValueId id : graph.operands(node)) add(id);
    for (std::uint32_t r = 0; r < node.result_count; ++r) add(ValueId{node.first_result + r});
    std::string text(name(node.op));
    // All scans are one row: the time of one in the body of another is taken off once.
    if (node.op != Op::scan) text += " " + graph.value(ValueId{node.first_result}).shape.text();
    return std::make_unique<TimedKernel>(std::move(kernel), traffic, sum(text),
                                         in_body ? &sum(scan_name) : nullptr);
}

std::unique_ptr<Kernel> Profile::timed_copy(std::unique_ptr<Kernel> kernel, std::int64_t elements) {
    Traffic traffic;
    traffic.add(2 * elements, true);
    return std::make_unique<TimedKernel>(std::move(kernel), traffic, sum("copy to an output"),
                                         nullptr);
}

std::vector<KernelTime> Profile::take() {
    constexpr double nanosecond = 1e-9;
    std::vector<KernelTime> times;
    for (auto& [kernel, sum] : sums_) {
        const std::int64_t calls = sum.calls.exchange(0);
        const std::int64_t time = sum.nanoseconds.exchange(0) - sum.inner_nanoseconds.exchange(0);
        const std::int64_t bytes = sum.bytes.exchange(0);
        if (calls > 0)
            times.push_back({.kernel = kernel,
                             .dispatches = calls,
                             .seconds = nanosecond * static_cast<double>(time),
                             .bytes = bytes});
    }
    std::ranges::stable_sort(times, std::ranges::greater{}, &KernelTime::seconds);
    return times;
}

}  // namespace cambrian::cpu
