#include "cambrian/engine/network/observe/id_reader.hpp"

#include <optional>
#include <type_traits>
#include <variant>
#include <vector>

namespace cambrian {
namespace {

/// What reads the numbers of a row as ids: of several the embedding of the smallest vocabulary.
class IdReaders {
  public:
    [[nodiscard]] const Embedding* smallest() const { return smallest_; }

    /// Whether a row goes on through the layer as it is.
    bool meet(const AnyLayer& layer) {
        std::visit(
            [this]<class L>(const L& concrete) {
                if constexpr (std::is_same_v<L, Embedding>) take(concrete);
                if constexpr (requires { concrete.layers; }) meet_chain(concrete.layers);
                if constexpr (requires { concrete.branches; }) {
                    for (const AnyLayer& branch : concrete.branches) meet(branch);
                    for (const AnyLayer& gate : concrete.gate) meet(gate);
                }
            },
            layer.variant());
        return std::holds_alternative<Dropout>(layer.variant());  // Nothing at inference.
    }

  private:
    void meet_chain(const std::vector<AnyLayer>& layers) {
        for (const AnyLayer& layer : layers)
            if (!meet(layer)) return;
    }
    void take(const Embedding& embedding) {
        if (smallest_ == nullptr || embedding.vocabulary < smallest_->vocabulary)
            smallest_ = &embedding;
    }

    const Embedding* smallest_ = nullptr;
};

}  // namespace

const Embedding* id_reader(const Blueprint& blueprint) {
    IdReaders readers;
    for (const std::optional<Slot>& slot : blueprint.slots)
        if (slot && slot->enabled && !readers.meet(slot->layer)) return readers.smallest();
    readers.meet(blueprint.head);
    return readers.smallest();
}

}  // namespace cambrian
