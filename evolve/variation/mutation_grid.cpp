#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/network/ties.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"

namespace cambrian::evolve {

namespace {

/// Numbers of slots in a grid with a layer more in each cell.
class LargerGrid {
  public:
    /// @param gap the slot of the larger grid that is left empty in its cell.
    LargerGrid(const GridSize& grid, int gap) : layers_(grid.layers_per_cell), head_(grid.slots()) {
        // The gap is counted in the numbers before: slots from it on in its cell move by one.
        cell_ = (gap < head_ ? gap : head_ - 1) / layers_;
        gap_ = gap - cell_ * layers_;
    }

    [[nodiscard]] int number(int slot) const {
        if (slot == input_port) {
            return input_port;
        }
        const int cell = slot / layers_;
        const int layer = slot % layers_;
        if (slot == head_) {
            return cell * (layers_ + 1);
        }
        return cell * (layers_ + 1) + layer + (cell == cell_ && layer >= gap_ ? 1 : 0);
    }
    [[nodiscard]] int gap() const { return cell_ * (layers_ + 1) + gap_; }

  private:
    int layers_;
    int head_;
    int cell_ = 0;
    int gap_ = 0;
};

}  // namespace

std::optional<LargerGenome> with_larger_grid(const Genome& genome, int slot, std::int64_t limit) {
    const GridSize& grid = genome.blueprint.grid;
    const std::int64_t cells = grid.slots() / grid.layers_per_cell;
    if (grid.slots() + cells > std::min<std::int64_t>(limit, largest_grid)) {
        return std::nullopt;
    }
    const LargerGrid larger(grid, slot);
    LargerGenome result{.genome = genome, .empty = larger.gap()};
    Blueprint& blueprint = result.genome.blueprint;
    ++blueprint.grid.layers_per_cell;
    const auto slots = static_cast<std::size_t>(blueprint.grid.slots());
    blueprint.slots.assign(slots, std::nullopt);
    result.genome.slot_genes.assign(slots, Gene{});
    for (int from = 0; from < grid.slots(); ++from) {
        const auto before = static_cast<std::size_t>(from);
        const auto after = static_cast<std::size_t>(larger.number(from));
        blueprint.slots[after] = genome.blueprint.slots[before];
        result.genome.slot_genes[after] = genome.slot_genes[before];
    }
    for (Link& link : blueprint.links) {
        link.source = larger.number(link.source);
        link.target = larger.number(link.target);
    }
    renumber_ties(blueprint, [&](int lender) { return larger.number(lender); });
    return result;
}

}  // namespace cambrian::evolve
