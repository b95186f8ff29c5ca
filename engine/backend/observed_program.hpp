#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"

namespace cambrian {

/// A program whose captured values (Graph::capture, capture_gradients) can be read by name.
///
/// It holds two programs of one graph. `run` is the plain one: names cost it nothing. `observe` is
/// compiled when it is first asked for, once for all its names, and keeps their values besides.
/// Both compute the same, in every bit under strict math; under fast math the last bits may differ
/// where a captured value would have been fused away.
class ObservedProgram {
  public:
    /// @param names that `observe` keeps. Throws ShapeError for one that nothing in the graph has.
    ObservedProgram(Backend& backend, Graph graph, std::vector<std::string> names);
    /// With all names of the graph and of the bodies of its scans.
    ObservedProgram(Backend& backend, const Graph& graph);

    /// Bindings as Program::run takes them, and what it throws.
    void run(std::int64_t population, std::span<const Binding> inputs,
             std::span<const Binding> outputs);
    /// The same, and the named values are those of this run afterwards.
    void observe(std::int64_t population, std::span<const Binding> inputs,
                 std::span<const Binding> outputs);

    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    /// The value of a name in the last run that was observed, with its population axis in front
    /// where every individual has its own; of a scan's body: [length, ...] for each. Throws
    /// ShapeError for a name that is not observed. Contract: a run was observed.
    [[nodiscard]] Tensor read(std::string_view name) const;
    /// The same on the backend, without a copy; good until the next run is observed.
    [[nodiscard]] const Buffer& buffer(std::string_view name) const;

  private:
    struct Held {
        ValueInfo info;
        std::unique_ptr<Buffer> buffer;
    };
    [[nodiscard]] const Held& held(std::string_view name) const;
    void hold(std::int64_t population);

    Backend& backend_;
    Graph graph_;
    std::vector<std::string> names_;
    std::unique_ptr<Program> plain_;
    std::unique_ptr<Program> observed_;
    std::vector<Held> held_;       ///< One for each name.
    std::int64_t population_ = 0;  ///< Of the last run that was observed.
};

}  // namespace cambrian
