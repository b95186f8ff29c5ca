#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cambrian/engine/eager/batch_programs.hpp"
#include "cambrian/engine/eager/buffer_pool.hpp"
#include "cambrian/engine/eager/eager_session.hpp"

namespace cambrian {

/// The records of one tape, in the order in which they were made.
using TapeRecords = std::vector<std::shared_ptr<const EagerRecord>>;

/// What the tensors of a session share. Internal to engine/eager.
class EagerState : public std::enable_shared_from_this<EagerState> {
  public:
    EagerState(Backend& backend, const EagerOptions& options);

    [[nodiscard]] EagerTensor tensor(const Tensor& value);
    [[nodiscard]] std::vector<EagerTensor> record(std::span<const EagerTensor> operands,
                                                  const EagerBuild& build);
    /// Makes tensors for the results of an operation, and remembers it.
    [[nodiscard]] std::vector<EagerTensor> append(EagerRecord record,
                                                  std::span<const ValueInfo> results);
    /// The values of tensors, which must be this session's.
    [[nodiscard]] std::vector<std::shared_ptr<EagerValue>> values(
        std::span<const EagerTensor> tensors) const;
    void run();
    [[nodiscard]] Tensor read(const EagerValue& value);
    [[nodiscard]] EagerStatistics statistics() const;
    void trim();

    void begin(TapeRecords& tape) { tapes_.push_back(&tape); }
    void end(const TapeRecords& tape) { std::erase(tapes_, &tape); }

  private:
    [[nodiscard]] std::vector<std::shared_ptr<EagerValue>> wanted() const;

    Backend& backend_;
    EagerOptions options_;
    std::shared_ptr<BufferPool> pool_;
    BatchPrograms programs_;
    std::vector<std::weak_ptr<EagerValue>> recorded_;  ///< Since the last run.
    std::vector<TapeRecords*> tapes_;
    EagerStatistics counts_;
    bool running_ = false;
};

}  // namespace cambrian
