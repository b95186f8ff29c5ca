#include <algorithm>
#include <array>

#include "cambrian/engine/cpu/execution/compiled_graph.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/cpu/kernels/selective_scan.hpp"

// Walks the steps backward. Only the states before every chunk of steps are kept; the states inside
// of a chunk are computed again when the walk reaches it.
namespace cambrian::cpu {
namespace {

constexpr std::int64_t chunk_steps = 64;
constexpr std::size_t operand_count = 9;
constexpr std::size_t result_count = 7;

/// Sums eight lanes at a time: the order depends on the length alone.
float sum_of_products(const float* a, const float* b, std::int64_t length) {
    std::array<float, 8> lanes{};
    std::int64_t i = 0;
    for (; i + 8 <= length; i += 8)
        for (std::size_t lane = 0; lane < 8; ++lane)
            lanes[lane] +=
                a[i + static_cast<std::int64_t>(lane)] * b[i + static_cast<std::int64_t>(lane)];
    float sum = ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) +
                ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
    for (; i < length; ++i) sum += a[i] * b[i];
    return sum;
}

class SelectiveScanGradientKernel : public Kernel {
  public:
    explicit SelectiveScanGradientKernel(const KernelContext& context)
        : sizes_(context),
          chunks_((sizes_.steps + chunk_steps - 1) / chunk_steps),
          hold_(context.attribute<SelectiveScanAttribute>().discretization ==
                Discretization::zero_order_hold),
          work_(context.owner.scratch(work_words())) {
        for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i] = context.operands[i];
        for (std::size_t i = 0; i < results_.size(); ++i) results_[i] = context.results[i];
    }

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            for (const std::size_t summed : {log_decay, skip}) {
                const BufferView& ref = results_[summed];
                std::fill_n(frame.at<float>(ref) + i * ref.stride,
                            summed == skip ? sizes_.channels : sizes_.state(), 0.0F);
            }
            Work work(*this, frame);
            for (std::int64_t sequence = 0; sequence < sizes_.sequences; ++sequence) {
                const Sequence at = sequence_at(frame, i, sequence);
                if (hold_)
                    run_sequence<true>(at, work);
                else
                    run_sequence<false>(at, work);
            }
            // Sums over sequences were gathered with channels innermost.
            add_transposed(work.log_decay, results_[log_decay], frame, i);
        }
    }

  private:
    static constexpr std::size_t log_decay = 2;
    static constexpr std::size_t skip = 5;

    struct Sequence {
        std::array<const float*, operand_count> operand;
        std::array<float*, result_count> result;
    };

    /// Scratch memory. States are [states, channels].
    struct Work {
        float* rate;
        float* starts;     ///< Before every chunk.
        float* states;     ///< Before every step of a chunk, and after its last.
        float* carried;    ///< Gradient of the state after the step.
        float* log_decay;  ///< Gradient, summed over sequences.
        float* delta;
        float* delta_gradient;
        float* weighted;  ///< Gradient of the state times its input weight.

        Work(const SelectiveScanGradientKernel& owner, const Frame& frame) {
            const std::int64_t state = owner.sizes_.state();
            rate = frame.at<float>(owner.work_);
            starts = rate + state;
            states = starts + owner.chunks_ * state;
            carried = states + (chunk_steps + 1) * state;
            log_decay = carried + state;
            delta = log_decay + state;
            delta_gradient = delta + owner.sizes_.channels;
            weighted = delta_gradient + owner.sizes_.channels;
            std::fill_n(log_decay, state, 0.0F);
        }
    };

    [[nodiscard]] std::int64_t work_words() const {
        return (chunks_ + chunk_steps + 4) * sizes_.state() + 3 * sizes_.channels;
    }

    [[nodiscard]] Sequence sequence_at(const Frame& frame, std::int64_t individual,
                                       std::int64_t sequence) const {
        const std::int64_t wide = sizes_.steps * sizes_.channels;
        const std::int64_t narrow = sizes_.steps * sizes_.states;
        // u, raw_delta, log_decay, b, c, skip, state, and the upstreams of y and of the state.
        const std::array<std::int64_t, operand_count> words{
            wide, wide, 0, narrow, narrow, 0, sizes_.state(), wide, sizes_.state()};
        Sequence at{};
        const auto start = [&](const BufferView& ref, std::size_t i) {
            return frame.at<float>(ref) + individual * ref.stride + sequence * words[i];
        };
        for (std::size_t i = 0; i < operand_count; ++i) at.operand[i] = start(operands_[i], i);
        for (std::size_t i = 0; i < result_count; ++i) at.result[i] = start(results_[i], i);
        return at;
    }

    template <bool hold>
    void run_sequence(const Sequence& at, Work& work) const {
        const std::int64_t state = sizes_.state();
        transpose(at.operand[log_decay], work.rate, sizes_.channels, sizes_.states);
        for (std::int64_t k = 0; k < state; ++k) work.rate[k] = -elementary::exp(work.rate[k]);
        transpose(at.operand[6], work.starts, sizes_.channels, sizes_.states);
        for (std::int64_t chunk = 0; chunk + 1 < chunks_; ++chunk) {
            std::copy_n(work.starts + chunk * state, state, work.starts + (chunk + 1) * state);
            for (std::int64_t step = chunk * chunk_steps; step < (chunk + 1) * chunk_steps; ++step)
                advance<hold>(at, work, step, work.starts + (chunk + 1) * state,
                              work.starts + (chunk + 1) * state);
        }
        transpose(at.operand[8], work.carried, sizes_.channels, sizes_.states);
        for (std::int64_t chunk = chunks_ - 1; chunk >= 0; --chunk)
            run_chunk<hold>(at, work, chunk);
        transpose(work.carried, at.result[6], sizes_.states, sizes_.channels);
    }

    template <bool hold>
    void run_chunk(const Sequence& at, Work& work, std::int64_t chunk) const {
        const std::int64_t state = sizes_.state();
        const std::int64_t first = chunk * chunk_steps;
        const std::int64_t last = std::min(first + chunk_steps, sizes_.steps);
        std::copy_n(work.starts + chunk * state, state, work.states);
        for (std::int64_t step = first; step < last; ++step) {
            float* const before = work.states + (step - first) * state;
            advance<hold>(at, work, step, before, before + state);
        }
        for (std::int64_t step = last - 1; step >= first; --step)
            step_back<hold>(at, work, step, work.states + (step - first) * state);
    }

    /// The state after a step, which may take the place of the one before.
    template <bool hold>
    void advance(const Sequence& at, Work& work, std::int64_t step, const float* before,
                 float* after) const {
        const float* const u = at.operand[0] + step * sizes_.channels;
        const float* const b = at.operand[3] + step * sizes_.states;
        find_delta(at, work, step);
        for (std::int64_t n = 0; n < sizes_.states; ++n) {
            const std::int64_t row = n * sizes_.channels;
            for (std::int64_t d = 0; d < sizes_.channels; ++d) {
                const float z = work.delta[d] * work.rate[row + d];
                const float weight = hold ? work.delta[d] * growth(z) : work.delta[d];
                after[row + d] = elementary::exp(z) * before[row + d] + weight * b[n] * u[d];
            }
        }
    }

    void find_delta(const Sequence& at, Work& work, std::int64_t step) const {
        const float* const raw = at.operand[1] + step * sizes_.channels;
        for (std::int64_t d = 0; d < sizes_.channels; ++d) work.delta[d] = softplus(raw[d]);
    }

    /// @param before the state before the step; the one after lies after it.
    template <bool hold>
    void step_back(const Sequence& at, Work& work, std::int64_t step, const float* before) const {
        const std::int64_t channels = sizes_.channels;
        const float* const u = at.operand[0] + step * channels;
        const float* const raw = at.operand[1] + step * channels;
        const float* const upstream = at.operand[7] + step * channels;
        float* const u_gradient = at.result[0] + step * channels;
        find_delta(at, work, step);
        std::fill_n(work.delta_gradient, channels, 0.0F);
        for (std::int64_t d = 0; d < channels; ++d) {
            u_gradient[d] = at.operand[skip][d] * upstream[d];
            at.result[skip][d] += upstream[d] * u[d];
        }
        for (std::int64_t n = 0; n < sizes_.states; ++n) {
            const std::int64_t at_step = step * sizes_.states + n;
            const float* const after = before + sizes_.state() + n * channels;
            at.result[4][at_step] = sum_of_products(upstream, after, channels);
            state_back<hold>(at.operand[3][at_step], at.operand[4][at_step], u, upstream,
                             before + n * channels, u_gradient, n, work);
            at.result[3][at_step] = sum_of_products(work.weighted, u, channels);
        }
        float* const raw_gradient = at.result[1] + step * channels;
        for (std::int64_t d = 0; d < channels; ++d)
            raw_gradient[d] = elementary::sigmoid(raw[d]) * work.delta_gradient[d];
    }

    /// State n of every channel.
    template <bool hold>
    void state_back(float b, float c, const float* __restrict__ u,
                    const float* __restrict__ upstream, const float* __restrict__ before,
                    float* __restrict__ u_gradient, std::int64_t n, Work& work) const {
        const std::int64_t row = n * sizes_.channels;
        const float* const __restrict__ rate = work.rate + row;
        const float* const __restrict__ delta = work.delta;
        float* const __restrict__ carried = work.carried + row;
        float* const __restrict__ log_decay_gradient = work.log_decay + row;
        float* const __restrict__ delta_gradient = work.delta_gradient;
        float* const __restrict__ weighted = work.weighted;
        for (std::int64_t d = 0; d < sizes_.channels; ++d) {
            const float z = delta[d] * rate[d];
            const float decay = elementary::exp(z);
            const float grown = hold ? growth(z) : 1.0F;
            const float weight = delta[d] * grown;
            const float g = carried[d] + c * upstream[d];
            const float input = b * u[d];
            const float faded = decay * before[d];
            weighted[d] = g * weight;
            u_gradient[d] += g * weight * b;
            const float weight_slope =
                hold ? input * delta[d] * growth_slope(z, decay, grown) : 0.0F;
            log_decay_gradient[d] += g * (faded * z + weight_slope);
            delta_gradient[d] += g * (faded * rate[d] + (hold ? decay * input : input));
            carried[d] = decay * g;
        }
    }

    void add_transposed(const float* sums, const BufferView& ref, const Frame& frame,
                        std::int64_t individual) const {
        transpose(sums, frame.at<float>(ref) + individual * ref.stride, sizes_.states,
                  sizes_.channels);
    }

    SelectiveScanSizes sizes_;
    std::int64_t chunks_;
    bool hold_;
    BufferView work_;
    std::array<BufferView, operand_count> operands_;
    std::array<BufferView, result_count> results_;
};

}  // namespace

std::unique_ptr<Kernel> make_selective_scan_gradient(const KernelContext& context) {
    return std::make_unique<SelectiveScanGradientKernel>(context);
}

}  // namespace cambrian::cpu
