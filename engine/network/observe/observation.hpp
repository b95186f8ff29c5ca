#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cambrian/engine/graph/graph.hpp"
#include "cambrian/engine/network/network.hpp"
#include "cambrian/engine/tensor/tensor.hpp"

// What slots give and which gradients reach them, as a few numbers that the graph itself computes.
namespace cambrian {

enum class Direction : std::uint8_t {
    forward,   ///< What a slot gives.
    gradient,  ///< Of the loss, with respect to that.
};
[[nodiscard]] std::string_view name(Direction direction);

/// An element counts as active above it.
inline constexpr double active_above = 1e-6;

/// One slot of one individual in one pass over a batch, or in some of them together.
struct Observation {
    std::int64_t step = 0;   ///< Of the last pass.
    std::int64_t steps = 1;  ///< Passes together.
    std::int64_t individual = 0;
    int slot = 0;         ///< slots() for the head.
    std::string place{};  ///< As the summary of the network names it.
    std::string layer{};  ///< Its type.
    Direction direction = Direction::forward;
    double mean = 0.0;  ///< Of the finite elements, as max and min; 0 where there are none.
    double max = 0.0;
    double min = 0.0;
    double active = 0.0;          ///< Share of elements with |v| > active_above.
    std::int64_t count = 0;       ///< Elements.
    std::int64_t not_finite = 0;  ///< Of them infinite or no number.
    bool operator==(const Observation&) const = default;
};

/// A graph whose outputs are statistics, and what each of them is about.
class ObservedGraph {
  public:
    /// @param captured writes one pass of a WatchedNetwork with that prefix; its captures with the
    /// prefix are observed, wherever they are, and its outputs are not. Gradients are those of
    /// capture_gradients.
    ObservedGraph(const Graph& captured, const Network& network, std::string_view prefix);

    /// With the inputs of the graph it was made from, in order; updates nothing.
    [[nodiscard]] const Graph& graph() const { return graph_; }
    /// What the outputs of a run say, for every individual: slots in order, forward before
    /// gradient.
    [[nodiscard]] std::vector<Observation> read(std::int64_t step, std::int64_t population,
                                                std::span<const Tensor> outputs) const;

  private:
    struct Subject {
        int slot = 0;
        Direction direction = Direction::forward;
        std::string place;
        std::string layer;
        std::int64_t count = 0;
        bool per_individual = false;
    };
    Graph graph_;
    std::vector<Subject> subjects_;  ///< One for each output.
};

/// Captures the gradients of a rank-0 loss with respect to what the graph itself, not the body of a
/// scan, captures with that prefix.
void capture_watched_gradients(Var loss, std::string_view prefix);

}  // namespace cambrian
