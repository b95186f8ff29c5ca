#include "cambrian/engine/cpu/kernels/selective_scan.hpp"

#include <array>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

// Walks the steps once, all channels of a state side by side: the additions of a result have the
// order of the lowering, so its bits are the same.
namespace cambrian::cpu {
namespace {

class SelectiveScanKernel : public Kernel {
  public:
    explicit SelectiveScanKernel(const KernelContext& context)
        : sizes_(context),
          hold_(context.attribute<SelectiveScanAttribute>().discretization ==
                Discretization::zero_order_hold),
          work_(context.owner.scratch(2 * sizes_.state() + sizes_.channels)) {
        for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i] = context.operands[i];
        for (std::size_t i = 0; i < results_.size(); ++i) results_[i] = context.results[i];
    }

    void run(Frame& frame, std::int64_t count) const override {
        float* const rate = frame.at<float>(work_);
        float* const state = rate + sizes_.state();
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
                const Sequence at = sequence_at(frame, i, sequence);
                if (i == 0 || operands_[log_decay].stride != 0) {
                    transpose(at.log_decay, rate, sizes_.channels, sizes_.states);
                    for (std::int64_t k = 0; k < sizes_.state(); ++k)
                        rate[k] = -elementary::exp(rate[k]);
                }
                transpose(at.state, state, sizes_.channels, sizes_.states);
                if (hold_)
                    walk<true>(at, rate, state);
                else
                    walk<false>(at, rate, state);
                transpose(state, at.end, sizes_.states, sizes_.channels);
            }
    }

  private:
    static constexpr std::size_t log_decay = 2;
    /// Operands and results of one sequence of one individual.
    struct Sequence {
        const float* u;
        const float* raw_delta;
        const float* log_decay;
        const float* b;
        const float* c;
        const float* skip;
        const float* state;
        float* y;
        float* end;
    };

    [[nodiscard]] Sequence sequence_at(const Frame& frame, std::int64_t individual,
                                       std::int64_t sequence) const {
        const auto start = [&](const BufferView& ref, std::int64_t words) {
            return frame.at<float>(ref) + individual * ref.stride + sequence * words;
        };
        const std::int64_t wide = sizes_.steps * sizes_.channels;
        const std::int64_t narrow = sizes_.steps * sizes_.states;
        return {start(operands_[0], wide),
                start(operands_[1], wide),
                start(operands_[2], 0),
                start(operands_[3], narrow),
                start(operands_[4], narrow),
                start(operands_[5], 0),
                start(operands_[6], sizes_.state()),
                start(results_[0], wide),
                start(results_[1], sizes_.state())};
    }

    template <bool hold>
    void walk(const Sequence& at, const float* rate, float* state) const {
        float* const delta = state + sizes_.state();
        const std::int64_t channels = sizes_.channels;
        for (std::int64_t step = 0; step < sizes_.steps; ++step) {
            const float* const u = at.u + step * channels;
            float* const y = at.y + step * channels;
            const float* const raw = at.raw_delta + step * channels;
            for (std::int64_t d = 0; d < channels; ++d) delta[d] = softplus(raw[d]);
            for (std::int64_t n = 0; n < sizes_.states; ++n)
                advance<hold>(n == 0, at.b[step * sizes_.states + n],
                              at.c[step * sizes_.states + n], u, delta, rate + n * channels,
                              state + n * channels, y);
            for (std::int64_t d = 0; d < channels; ++d) y[d] = y[d] + at.skip[d] * u[d];
        }
    }

    /// State n of every channel.
    template <bool hold>
    void advance(bool first, float in, float out, const float* __restrict__ u,
                 const float* __restrict__ delta, const float* __restrict__ rate,
                 float* __restrict__ state, float* __restrict__ y) const {
        for (std::int64_t d = 0; d < sizes_.channels; ++d) {
            const float z = delta[d] * rate[d];
            const float weight = hold ? delta[d] * growth(z) : delta[d];
            const float after = elementary::exp(z) * state[d] + weight * in * u[d];
            state[d] = after;
            y[d] = first ? after * out : y[d] + after * out;
        }
    }

    SelectiveScanSizes sizes_;
    bool hold_;
    BufferView work_;
    std::array<BufferView, 7> operands_;
    std::array<BufferView, 2> results_;
};

}  // namespace

std::unique_ptr<Kernel> make_selective_scan(const KernelContext& context) {
    return std::make_unique<SelectiveScanKernel>(context);
}

}  // namespace cambrian::cpu
