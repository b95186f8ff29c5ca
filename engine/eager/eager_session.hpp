#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/eager/eager_options.hpp"
#include "cambrian/engine/eager/record.hpp"

namespace cambrian {

class EagerState;
class EagerTensor;

/// Appends what an operation computes to a graph: a Var for each operand in, the results out.
using EagerBuild = std::function<std::vector<Var>(std::span<const Var>)>;

/// Tensors that record what is done with them. Nothing is computed until one is read; then all that
/// is recorded and still wanted runs as one compiled program, with the passes and kernels of every
/// graph. A batch of the same structure is compiled once. Not thread-safe; the backend outlives the
/// session and its tensors. Shapes are checked when an operation is recorded, data (an index out of
/// range) when it runs.
///
///     EagerSession session(backend);
///     EagerTensor w = session.tensor(initial);
///     for (int step = 0; step < 100; ++step) {
///         GradientTape tape(session);
///         const EagerTensor loss = mean_all(square(matmul(x, w) - y));
///         w = w - 0.1 * tape.gradient(loss, std::array{w})[0];
///     }
///     const Tensor trained = w.read();
class EagerSession {
  public:
    /// Throws ConfigError for an option that is out of its range.
    explicit EagerSession(Backend& backend, const EagerOptions& options = {});

    /// A tensor with the elements of one on the host.
    [[nodiscard]] EagerTensor tensor(const Tensor& value);
    /// Records what `build` appends for operands of this session. Throws what its builders throw,
    /// and ShapeError for an operand of another session; then nothing is recorded.
    [[nodiscard]] std::vector<EagerTensor> record(std::span<const EagerTensor> operands,
                                                  const EagerBuild& build);
    /// Records a function of the host with these results. It is called with the operands' elements
    /// when the batch runs, which it divides in two; it has no gradient, and a tape that meets it
    /// says so. A result of another type or shape is a ShapeError then.
    [[nodiscard]] std::vector<EagerTensor> record_host(std::span<const EagerTensor> operands,
                                                       std::span<const ValueInfo> results,
                                                       HostFunction function);
    /// Computes all that is recorded and still held by a tensor, in one program between calls of
    /// host functions. A batch that fails leaves everything as it was.
    void run();
    [[nodiscard]] EagerStatistics statistics() const;
    /// Gives back buffers and programs that are kept for speed alone.
    void trim();

  private:
    friend class GradientTape;
    std::shared_ptr<EagerState> state_;
};

/// A tensor of a session; copies stand for the same value. See EagerSession.
class EagerTensor {
  public:
    /// Of no session: only good for being assigned to.
    EagerTensor() = default;

    [[nodiscard]] const Shape& shape() const;
    [[nodiscard]] ValueType type() const;
    /// Whether its elements are there, so that reading it runs nothing.
    [[nodiscard]] bool computed() const;
    /// Its elements, after a run of what is recorded unless they are there.
    [[nodiscard]] Tensor read() const;
    /// The element of a tensor of one; throws ShapeError for another.
    [[nodiscard]] double number(std::source_location where = std::source_location::current()) const;
    /// The session it belongs to. Throws ShapeError for a tensor of none.
    [[nodiscard]] EagerState& state() const;
    [[nodiscard]] const std::shared_ptr<EagerValue>& value() const { return handle_->value; }

  private:
    friend class EagerState;
    EagerTensor(std::weak_ptr<EagerState> state, std::shared_ptr<EagerHandle> handle)
        : state_(std::move(state)), handle_(std::move(handle)) {}

    std::weak_ptr<EagerState> state_;
    std::shared_ptr<EagerHandle> handle_;
};

/// EagerSession::record in the session of the operands, of which there is one at least.
[[nodiscard]] std::vector<EagerTensor> record(std::span<const EagerTensor> operands,
                                              const EagerBuild& build);

}  // namespace cambrian
