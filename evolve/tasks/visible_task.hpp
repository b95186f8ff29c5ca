#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/picture.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// What a host task is derived from beside Task where its episodes can be seen (`cambrian report`).
/// Environments draw themselves by Environment::picture.
class VisibleTask {
  public:
    virtual ~VisibleTask() = default;
    /// The best of the episodes that `evaluate` runs in such a round, with the pictures of at most
    /// so many steps.
    /// @param network a population of one.
    [[nodiscard]] virtual DrawnEpisode play(Population& network, const HostRound& round,
                                            std::int64_t max_steps) const = 0;
};

/// make_simulator_task with VisibleTask::play.
[[nodiscard]] std::unique_ptr<Task> make_visible_task(
    std::string type, TaskSignature signature,
    std::function<std::vector<double>(Population&, const HostRound&)> fitness,
    std::function<DrawnEpisode(Population&, const HostRound&, std::int64_t max_steps)> play);

}  // namespace cambrian::evolve
