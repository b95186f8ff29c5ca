#include "cambrian/distributed/generation/kept_children.hpp"

#include <utility>

#include "cambrian/distributed/generation/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"

namespace cambrian::distributed {

namespace {

/// At least so many births for each child that is kept here: they are few.
constexpr std::uint64_t sparse = 16;
/// Of more, a list is walked sooner than so many are looked up.
constexpr std::size_t max_few = 4096;

}  // namespace

void KeptChildren::keep(std::uint64_t births, std::span<const std::uint32_t> positions,
                        std::span<SharedIndividual> children, ThreadPool& threads) {
    const std::size_t kept = few_.size() + children.size();
    if (all_.empty() && (kept > max_few || sparse * kept > births)) {
        spread(births);
    }
    if (!all_.empty()) {
        CAMBRIAN_EXPECT(all_.size() == births);
        for_each_index(threads, children.size(), block_of_births,
                       [&](std::size_t i) { all_[positions[i]] = std::move(children[i]); });
        return;
    }
    bits_.resize(births / 64 + 1);
    for (std::size_t i = 0; i < children.size(); ++i) {
        bits_[positions[i] / 64] |= std::uint64_t{1} << (positions[i] % 64);
        few_[positions[i]] = std::move(children[i]);
    }
}

SharedIndividual KeptChildren::at(std::uint64_t position) const {
    if (!all_.empty()) {
        return position < all_.size() ? all_[position] : nullptr;
    }
    if (position / 64 >= bits_.size() || !is_here(position)) {
        return nullptr;
    }
    return few_.at(position);
}

void KeptChildren::clear(ThreadPool& threads) {
    for_each_index(threads, all_.size(), block_of_births,
                   [this](std::size_t position) { all_[position].reset(); });
    *this = {};
}

void KeptChildren::spread(std::uint64_t births) {
    all_.resize(births);
    for (auto& [position, child] : few_) {
        all_[position] = std::move(child);
    }
    few_.clear();
    bits_.clear();
}

}  // namespace cambrian::distributed
