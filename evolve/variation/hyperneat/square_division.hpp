#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/evolve/variation/hyperneat/cppn.hpp"

namespace cambrian::evolve {

/// Finds the places that one node of a substrate is connected with: where the pattern of weights
/// that the CPPN draws for its connections has information (Risi and Stanley, "An Enhanced
/// Hypercube-Based Encoding for Evolving the Placement, Density, and Connectivity of Neurons",
/// 2012). For one thread.
class SquareDivision {
  public:
    struct Found {
        SubstratePoint place{};
        Cppn::Answer answer;
    };

    /// Both must outlive it.
    SquareDivision(const SubstrateSearch& settings, Cppn& cppn)
        : settings_(settings), cppn_(cppn) {}

    /// In a fixed order; each place once. Valid until the next call.
    /// @param outgoing whether connections begin at the node, else they end there.
    [[nodiscard]] std::span<const Found> find(const SubstratePoint& node, bool outgoing);

  private:
    /// A part of the plane: its centre, half of its side, and the answer for its centre.
    struct Square {
        SubstratePoint centre{};
        float half = 1.0F;
        std::int64_t depth = 0;    ///< Divisions that it came from.
        std::size_t children = 0;  ///< The first of four; 0: none.
        Cppn::Answer answer{};
    };

    void ask(const SubstratePoint& place);
    void divide();
    void extract(std::size_t square);
    void keep_bands();
    void add_leaves(std::size_t square);
    /// Of the weights of the undivided squares within one.
    [[nodiscard]] double variance(std::size_t square);

    const SubstrateSearch& settings_;
    Cppn& cppn_;
    SubstratePoint node_{};
    bool outgoing_ = true;
    std::vector<Square> squares_;
    std::vector<std::size_t> candidates_;  ///< Squares that may become connections.
    std::vector<double> leaves_;
    std::vector<Found> found_;
};

}  // namespace cambrian::evolve
