#include "cambrian/evolve/variation/hyperneat/substrate_search.hpp"

#include <map>
#include <utility>

#include "cambrian/evolve/variation/hyperneat/square_division.hpp"

namespace cambrian::evolve {

namespace {

class Search {
  public:
    Search(const Substrate& substrate, Cppn& cppn)
        : substrate_(substrate),
          settings_(substrate.settings().search),
          cppn_(cppn),
          division_(settings_, cppn),
          phenotype_(substrate) {}

    Phenotype run() {
        for (std::size_t i = 0; i < substrate_.inputs().size(); ++i) {
            send(substrate_.inputs()[i], static_cast<std::int64_t>(i), 0);
        }
        std::size_t first = 0;
        for (std::int64_t round = 1; round <= settings_.iteration_level; ++round) {
            const std::size_t end = hidden_.size();
            for (; first < end; ++first) {
                const Hidden node = hidden_[first];
                send(node.place, phenotype_.source(node.neuron), round);
            }
        }
        for (std::size_t i = 0; i < substrate_.outputs().size(); ++i) {
            receive(substrate_.outputs()[i], static_cast<std::int64_t>(i));
        }
        if (substrate_.settings().bias) {
            set_biases();
        }
        return std::move(phenotype_);
    }

  private:
    struct Hidden {
        SubstratePoint place{};
        std::int64_t neuron = 0;
        std::int64_t round = 0;  ///< In which it was found.
    };

    [[nodiscard]] bool full() const {
        return phenotype_.connections() >= settings_.maximum_connections;
    }

    /// The hidden node at a place, a new one where there is none; null where there is no room.
    const Hidden* node_at(const SubstratePoint& place, std::int64_t round) {
        const auto known = numbers_.find(place);
        if (known != numbers_.end()) {
            return &hidden_[known->second];
        }
        if (std::ssize(hidden_) >= settings_.maximum_nodes) {
            return nullptr;
        }
        numbers_.emplace(place, hidden_.size());
        hidden_.push_back({place, phenotype_.add_neuron(), round});
        return &hidden_.back();
    }

    /// Connects a node with hidden nodes; new ones are of a round.
    void send(const SubstratePoint& from, std::int64_t source, std::int64_t round) {
        for (const SquareDivision::Found& found : division_.find(from, true)) {
            const float weight = cppn_.connection_weight(found.answer);
            const Hidden* target = weight == 0.0F || full() ? nullptr : node_at(found.place, round);
            if (target == nullptr) {
                continue;
            }
            const bool back = target->round < round;
            if (!back || substrate_.settings().recurrent) {
                phenotype_.connect(source, target->neuron, weight, back ? 1 : 0);
            }
        }
    }

    /// Connects hidden nodes that were found with an output.
    void receive(const SubstratePoint& to, std::int64_t output) {
        for (const SquareDivision::Found& found : division_.find(to, false)) {
            const float weight = cppn_.connection_weight(found.answer);
            const auto known = numbers_.find(found.place);
            if (weight != 0.0F && known != numbers_.end() && !full()) {
                phenotype_.connect(phenotype_.source(hidden_[known->second].neuron), output,
                                   weight);
            }
        }
    }

    void set_biases() {
        for (const SubstratePoint& output : substrate_.outputs()) {
            cppn_.ask(output, SubstratePoint{});
        }
        for (const Hidden& node : hidden_) {
            cppn_.ask(node.place, SubstratePoint{});
        }
        // Outputs are the first neurons, hidden ones follow as they were found.
        std::int64_t neuron = 0;
        for (const Cppn::Answer& answer : cppn_.answers()) {
            phenotype_.set_bias(neuron++, cppn_.bias(answer));
        }
    }

    const Substrate& substrate_;
    const SubstrateSearch& settings_;
    Cppn& cppn_;
    SquareDivision division_;
    Phenotype phenotype_;
    std::vector<Hidden> hidden_;
    std::map<SubstratePoint, std::size_t> numbers_;  ///< Of hidden nodes, by place.
};

}  // namespace

Phenotype search(const Substrate& substrate, Cppn& cppn) {
    return Search(substrate, cppn).run();
}

}  // namespace cambrian::evolve
