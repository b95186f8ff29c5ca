#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/evolve/tasks/task.hpp"

// Tensors that a task gives to the graphs of all individuals, and what it has of them. Tasks may be
// anyone's: what does not hold what it says is a ConfigError that names the task.
namespace cambrian::evolve {

/// Task::data, checked.
[[nodiscard]] std::vector<Tensor> data_of(const Task& task, Phase phase);
/// Task::draws, checked.
[[nodiscard]] std::vector<Tensor> draws_of(const Task& task, Phase phase, std::uint64_t seed,
                                           std::uint64_t round);

/// Throws ConfigError for an output of Task::build in a graph that is no such value.
/// @param what it is: "fitness"
void require_output(const Task& task, const Graph& graph, std::string_view what, Var value,
                    ValueType type, int rank);

/// Such tensors on a backend. Programs are compiled for their shapes, which stay.
class SharedTensors {
  public:
    /// Throws ConfigError where others than those of before come, of other shapes or types.
    /// @param what they are: "draws"
    void upload(Backend& backend, const Task& task, std::string_view what,
                std::span<const Tensor> tensors);

    [[nodiscard]] std::vector<Var> inputs(Graph& graph, std::string_view name) const;
    void bind(std::vector<Binding>& bindings) const;

  private:
    void allocate(Backend& backend, std::span<const Tensor> tensors);

    bool allocated_ = false;
    std::vector<ValueInfo> infos_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
};

}  // namespace cambrian::evolve
