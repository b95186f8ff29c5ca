#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/engine/eager/eager_session.hpp"

namespace cambrian {

/// Keeps what a session records, so that it can be differentiated, computed or not. What was
/// recorded before the tape began counts as constant. Tapes may be nested: gradients are operations
/// like others, so an outer tape differentiates them again.
class GradientTape {
  public:
    /// Records until it ends, or is stopped.
    explicit GradientTape(EagerSession& session);
    ~GradientTape();
    GradientTape(const GradientTape&) = delete;
    GradientTape& operator=(const GradientTape&) = delete;

    /// Records the gradients of a rank-0 real tensor with respect to each of others, by the
    /// gradient rules of the graph. Intermediate values are computed again in the program of the
    /// gradients, which merges them with those that still wait. Throws ShapeError for a value of
    /// another rank or type, for one that does not depend on one of the others by what is on the
    /// tape, and where it depends on one through a function of the host.
    [[nodiscard]] std::vector<EagerTensor> gradient(
        const EagerTensor& value, std::span<const EagerTensor> with_respect_to) const;

    /// Records nothing more; gradients can be asked for still.
    void stop();
    /// Forgets what was recorded.
    void clear() { records_.clear(); }
    /// Operations on the tape.
    [[nodiscard]] std::size_t size() const { return records_.size(); }

  private:
    std::shared_ptr<EagerState> state_;
    std::vector<std::shared_ptr<const EagerRecord>> records_;
};

}  // namespace cambrian
