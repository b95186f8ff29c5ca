#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/engine/network/network_tap.hpp"
#include "cambrian/engine/train/loss.hpp"

// A pass over a batch of which every slot is known by itself: no gradient leaves a slot.
namespace cambrian {

/// What one slot reads of another.
struct TracedRead {
    SlotRead which;
    int tick = 0;     ///< Of the reader.
    Var value{};      ///< A leaf: gradients with respect to it are those of the reader alone.
    Var disturbed{};  ///< The same with noise; none where none was asked for or can be added.
    std::optional<std::size_t> source{};  ///< Site that gives it; none: the port, or the start.
};

/// What a slot takes (with what its links add) or gives at a tick: 0 but for networks that read
/// the previous step, which are unrolled.
struct TracedSite {
    int slot = 0;  ///< slots() for the head.
    int tick = 0;
    bool input = false;  ///< What it takes.
    Var value{};         ///< Depends on what it reads, on its weights and those of links to it.
    Var disturbed{};     ///< What it is where all reads are disturbed.
    std::vector<std::size_t> reads{};
};

struct SlotTrace {
    std::vector<TracedRead> reads;
    std::vector<TracedSite> sites;  ///< In the order of the computation.
    LossTerms loss;
    std::vector<BufferUpdate> statistics;  ///< What the running statistics become.
    std::int64_t rows = 0;                 ///< Of the batch.
    bool last_tick_only = false;           ///< The loss sees no output of an earlier tick.
};

/// Where the noise of reads comes from.
struct ReadNoise {
    Var key;  ///< Integer [2].
    double deviation = 0.0;
};

/// Samples of a pass and the key and number of its random numbers.
struct TracedBatch {
    Var inputs;
    Var targets;
    Var key;   ///< Integer [2].
    Var pass;  ///< Integer scalar.
};

/// More sites of an unrolled network are refused.
inline constexpr std::int64_t largest_trace = 4096;
/// Throws ConfigError or ShapeError unless such inputs, [rows, (time,) features], can be traced.
void check_traceable(const Network& network, const Shape& inputs);

/// Writes the pass into the graph of `parts`, the weights tensor by tensor.
[[nodiscard]] SlotTrace trace_slots(const Network& network, const Loss& loss,
                                    std::span<const Var> parts, const TracedBatch& batch,
                                    const std::optional<ReadNoise>& noise);

/// The layer of a slot or of the head.
[[nodiscard]] const AnyLayer& layer_of(const Blueprint& blueprint, int slot);
/// Whether a slot is passed by.
[[nodiscard]] bool is_disabled(const Blueprint& blueprint, int slot);

}  // namespace cambrian
