#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/evolve/genome/structure.hpp"
#include "cambrian/evolve/variation/hyperneat/substrate.hpp"

namespace cambrian::evolve {

/// A network that reads the places of two nodes, and says what is between them: a compositional
/// pattern-producing network (Stanley 2007). It has the bits that its evaluation as a network has.
/// For one thread.
class Cppn {
  public:
    /// What it says of a connection, and of its first node.
    struct Answer {
        float weight = 0.0F;  ///< In [-1, 1]; 0 where the CPPN gives no number.
        float link = 0.0F;    ///< There is a connection where it is above 0 (LEO).
        float bias = 0.0F;    ///< As weight.
    };

    /// Both must outlive it. Contract: the individual is a CPPN of the substrate, with its weights
    /// on the host.
    Cppn(const Substrate& substrate, const Individual& individual);

    /// One question more for answers().
    void ask(const SubstratePoint& source, const SubstratePoint& target);
    /// Of everything asked since the last call, in that order. Valid until the next call.
    [[nodiscard]] std::span<const Answer> answers();

    /// The weight of a connection; 0: there is none.
    [[nodiscard]] float connection_weight(const Answer& answer) const;
    [[nodiscard]] float bias(const Answer& answer) const;

  private:
    const Substrate& substrate_;
    const Structure::BytecodeForm& form_;
    std::vector<float> weights_;  ///< As the bytecode has them.
    std::vector<float> memory_;
    std::vector<float> questions_;
    std::vector<float> outputs_;
    std::vector<Answer> answers_;
    float scale_;  ///< Of what exceeds the threshold.
};

/// The network whose genes founders have: every input to every output, or, where the substrate has
/// a locality, bells of differences to the output that says where connections are (Verbancsics and
/// Stanley, "Constraining Connectivity to Encourage Modularity in HyperNEAT", 2011).
[[nodiscard]] Blueprint cppn_blueprint(const Substrate& substrate);

/// A weight of a founder that is not drawn.
struct SeedWeight {
    std::int64_t element = 0;
    float value = 0.0F;
};
/// Those of the bells in a founder, in their order.
[[nodiscard]] std::vector<SeedWeight> locality_weights(const Substrate& substrate,
                                                       const Genome& founder);

}  // namespace cambrian::evolve
