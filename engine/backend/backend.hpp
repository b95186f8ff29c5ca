#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/core/thread_pool.hpp"
#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/weights/inherited_weights.hpp"

namespace cambrian {

/// Memory of a backend: `elements` words of one ValueType. Freed with the object; never outlives
/// its backend.
class Buffer {
  public:
    virtual ~Buffer() = default;
    [[nodiscard]] virtual ValueType type() const = 0;
    [[nodiscard]] virtual std::int64_t elements() const = 0;
};

/// A buffer bound to an input or output. A per-individual value needs population × shape elements
/// from `first`, individual after individual; a shared value needs its shape's.
struct Binding {
    Buffer* buffer = nullptr;
    std::int64_t first = 0;
};

/// A piece of a child whose weights lie on a backend. Bindings begin with the piece; what a source
/// does not read is not bound.
struct WeightTask {
    WeightPiece piece;
    std::uint32_t child = 0;  ///< Among the draws of a call.
    Binding to;
    Binding first;  ///< The first parent, or literals.
    Binding second;
};

/// A compiled graph. May be run by one thread at a time.
class Program {
  public:
    virtual ~Program() = default;
    /// Runs for `population` individuals (>= 1; 1 for a graph without a population axis). One
    /// binding for each input and output, in order. Outputs lie apart from everything else that is
    /// bound, only the new content of an input (Graph::update) may be bound right where the input
    /// is; bindings without elements meet nothing. Throws OutOfMemoryError, before anything
    /// is taken, when the temporaries do not fit beside what is in use. Throws InputError for data
    /// errors (a gather out of range); some elements of the outputs are then those of this run and
    /// some are as they were, and so is what is updated in place: whoever wants to go on fills them
    /// anew. Where runs are asynchronous a later call throws it: a run, or a download, at the
    /// latest one of what the run has written.
    virtual void run(std::int64_t population, std::span<const Binding> inputs,
                     std::span<const Binding> outputs) = 0;
    /// Bytes of temporaries a run with that population needs beyond its bindings: exactly what it
    /// allocates, all programs of a backend sharing them.
    [[nodiscard]] virtual std::int64_t peak_bytes(std::int64_t population) const = 0;
    /// The largest population of a run, whatever the memory: the values of all are no more than
    /// kernels index. A run of more throws OutOfMemoryError.
    [[nodiscard]] virtual std::int64_t max_population() const {
        return std::numeric_limits<std::int64_t>::max();
    }
};

/// What determines the bits of the results: two fingerprints that are equal promise equal results.
struct ArithmeticFingerprint {
    std::string kind;  ///< "cpu", "reference", "vulkan".
    std::string
        device;  ///< Processor or GPU name; empty under strict math, where it does not matter.
    /// Kernels of contractions, or driver and number of the kernels; empty under strict math.
    std::string library;
    std::string math;   ///< "fast" or "strict".
    std::string build;  ///< Version of the arithmetic: changes when any kernel's bits change.
    bool operator==(const ArithmeticFingerprint&) const = default;
    [[nodiscard]] std::string text() const;
};

/// Which contractions a program may use. Elementwise functions are the same in both.
enum class Math : std::uint8_t {
    fast,    ///< Contractions in the order of the device: repeatable on one kind of it.
    strict,  ///< Ordered multiply-then-add: bit-equal on every device.
};

/// Time and traffic of one kernel or op over all its calls since the profile was taken last.
struct KernelTime {
    std::string kernel;
    std::int64_t dispatches = 0;  ///< Of a GPU; calls on a CPU.
    double seconds = 0.0;         ///< Of the device; on a CPU of all threads together.
    std::int64_t bytes = 0;       ///< Of the operands it read and the results it wrote.
};

/// Compiles graphs and owns memory. Not thread-safe; one per rank. Whatever it made must end before
/// it does.
///
/// Where a device, the system or the memory limit has no more, a call waits for what is pending,
/// gives back what is held for speed alone, and tries once more before it throws OutOfMemoryError.
class Backend {
  public:
    virtual ~Backend() = default;
    /// Throws OutOfMemoryError where a single value is more than kernels index.
    [[nodiscard]] virtual std::unique_ptr<Program> compile(const Graph& graph) = 0;
    /// Zero-filled. Throws OutOfMemoryError when there is no more, leaving the count of bytes
    /// unchanged.
    [[nodiscard]] virtual std::unique_ptr<Buffer> allocate(ValueType type,
                                                           std::int64_t elements) = 0;
    virtual void upload(Buffer& buffer, std::int64_t first, std::span<const float> values) = 0;
    virtual void upload(Buffer& buffer, std::int64_t first, std::span<const double> values) = 0;
    virtual void upload(Buffer& buffer, std::int64_t first,
                        std::span<const std::int32_t> values) = 0;
    virtual void download(const Buffer& buffer, std::int64_t first, std::span<float> values) = 0;
    virtual void download(const Buffer& buffer, std::int64_t first, std::span<double> values) = 0;
    virtual void download(const Buffer& buffer, std::int64_t first,
                          std::span<std::int32_t> values) = 0;

    /// The elements of a buffer where they lie in memory of the host, as float or std::int32_t: to
    /// be written there instead of uploaded. Empty where no buffer lies there. Not while a run is
    /// pending.
    [[nodiscard]] virtual std::span<float> reals_on_host(Buffer&) { return {}; }
    [[nodiscard]] virtual std::span<std::int32_t> integers_on_host(Buffer&) { return {}; }

    /// Room for elements of a buffer that are written there instead of being uploaded, as float or
    /// std::int32_t: by the caller, all of them, before its next call but for more room. What lies
    /// there is undefined, and reading it may be slow. Empty where an upload does as well.
    [[nodiscard]] virtual std::span<float> reals_to_write(Buffer&, std::int64_t /*first*/,
                                                          std::int64_t /*count*/) {
        return {};
    }
    [[nodiscard]] virtual std::span<std::int32_t> integers_to_write(Buffer&, std::int64_t /*first*/,
                                                                    std::int64_t /*count*/) {
        return {};
    }

    /// Whether weights of individuals should lie here while they are inherited.
    [[nodiscard]] virtual bool inherits() const { return false; }
    /// Writes pieces of children, bit for bit as write_weights (engine/weights) does on the host.
    /// No piece lies where another one is read or written. Contract: inherits().
    virtual void inherit(std::span<const WeightDraws> children, std::span<const WeightTask> tasks);

    struct Memory {
        std::int64_t used = 0;         ///< Bytes of buffers, programs and temporaries of the queue.
        std::int64_t limit = 0;        ///< Of used; 0 = none.
        std::int64_t temporaries = 0;  ///< Of used: the next run, of any program, takes them over.
        std::int64_t pooled = 0;       ///< Bytes held beside them, for what is allocated next.
        std::int64_t buffers = 0;      ///< That live.
        std::int64_t programs = 0;     ///< That live.
        std::int64_t allocations =
            0;  ///< From the system or driver, so far: a pool serves the rest.
    };
    [[nodiscard]] virtual Memory memory() const = 0;
    /// Waits for pending work and gives back what is held for speed alone: temporaries between runs
    /// and pooled memory. The next runs allocate it again.
    virtual void trim() {}
    /// Data errors of runs so far that nobody was told of are thrown by no later call: for whoever
    /// goes on after an exception, to whose runs they do not belong. What those runs have written
    /// is not to be used.
    virtual void forget_errors() {}
    /// What ran since the last call, most expensive first; empty unless the backend was made with
    /// a profile.
    [[nodiscard]] virtual std::vector<KernelTime> take_profile() { return {}; }
    [[nodiscard]] virtual ArithmeticFingerprint describe() const = 0;
    /// Neighbouring individuals that may wait for each other where they take different ways through
    /// an interpreter, at most; 1: none do. About speed alone.
    [[nodiscard]] virtual std::int64_t lockstep() const { return 1; }
    /// Whether a program's run returns before its results are there, so that the caller's threads
    /// may prepare the next one. Runs and uploads take effect in the order of their calls.
    [[nodiscard]] virtual bool asynchronous() const { return false; }
    /// How many runs may be computed beside each other, each on a queue of its own.
    [[nodiscard]] virtual std::size_t queues() const { return 1; }
    /// Runs from now on go to this queue, below queues(). About speed alone: a run still finds what
    /// those before it have written, and waits for them where it does.
    /// @param of how many are in use by turns, this one among them.
    virtual void use_queue(std::size_t /*queue*/, std::size_t /*of*/) {}
    /// The threads of this rank, for whoever prepares or reads what the backend computes.
    [[nodiscard]] virtual ThreadPool& threads() = 0;
};

/// Compiles and runs a graph once on host tensors: inputs in order, a per-individual input with an
/// extra leading population axis; outputs likewise. For tests, tools and one-off work.
[[nodiscard]] std::vector<Tensor> evaluate(Backend& backend, const Graph& graph,
                                           std::int64_t population, std::span<const Tensor> inputs);

/// Version of the arithmetic of every backend (ArithmeticFingerprint::build): changes whenever the
/// bits of any op or random number change. One for all, since strict math promises equal bits on
/// all of them.
inline constexpr std::string_view arithmetic_version = "14";

/// What two ranks, or a run and its resume, must have in common to compute equal bits: the whole
/// fingerprint under fast math, only the version of the arithmetic under strict.
[[nodiscard]] std::string arithmetic_of(const Backend& backend);

}  // namespace cambrian
