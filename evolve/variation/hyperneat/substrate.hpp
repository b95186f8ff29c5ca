#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "cambrian/evolve/variation/hyperneat/substrate_settings.hpp"

namespace cambrian::evolve {

/// Where a node of a substrate is; coordinates beyond its dimensions are 0.
using SubstratePoint = std::array<float, 3>;

/// A substrate whose settings were checked, with the places of all nodes that the config names.
/// Stanley, D'Ambrosio and Gauci, "A Hypercube-Based Encoding for Evolving Large-Scale Neural
/// Networks", 2009.
class Substrate {
  public:
    /// Connections that a substrate of layers may have, and evaluations of a CPPN that a search may
    /// take: more is a mistake of a config.
    static constexpr std::int64_t connection_limit = std::int64_t{1} << 20U;
    static constexpr std::int64_t evaluation_limit = std::int64_t{1} << 26U;

    /// @param time whether networks see steps in order. Throws ConfigError that names the key.
    Substrate(SubstrateSettings settings, std::int64_t inputs, std::int64_t outputs, bool time);

    [[nodiscard]] const SubstrateSettings& settings() const { return settings_; }
    /// Nodes by layer: inputs, hidden layers, outputs.
    [[nodiscard]] std::span<const std::vector<SubstratePoint>> layers() const { return layers_; }
    [[nodiscard]] const std::vector<SubstratePoint>& inputs() const { return layers_.front(); }
    [[nodiscard]] const std::vector<SubstratePoint>& outputs() const { return layers_.back(); }
    /// Whether nodes of a layer send to another without delay.
    [[nodiscard]] bool sends(std::size_t from, std::size_t to) const {
        return settings_.links == SubstrateLinks::later ? from < to : from + 1 == to;
    }

    [[nodiscard]] std::int64_t dimensions() const { return settings_.dimensions; }
    [[nodiscard]] std::int64_t cppn_inputs() const {
        return 2 * dimensions() + (settings_.distance ? 1 : 0);
    }
    [[nodiscard]] std::int64_t cppn_outputs() const {
        return 1 + (settings_.link_expression ? 1 : 0) + (settings_.bias ? 1 : 0);
    }

  private:
    void check(bool time) const;
    void check_size() const;

    SubstrateSettings settings_;
    std::vector<std::vector<SubstratePoint>> layers_;
};

}  // namespace cambrian::evolve
