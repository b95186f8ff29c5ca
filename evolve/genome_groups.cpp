#include "cambrian/evolve/genome_groups.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>

namespace cambrian::evolve {

void GenomeGroups::arrange(std::span<const GenomeStructure> structures) {
    find(structures);
    place();
}

void GenomeGroups::find(std::span<const GenomeStructure> structures) {
    constexpr std::uint32_t vacant = UINT32_MAX;
    const std::size_t slots = std::bit_ceil(structures.size() * 2);
    buckets_.assign(slots, vacant);
    groups_.clear();
    group_of_.clear();
    for (const GenomeStructure& structure : structures) {
        const auto differs = [&](std::uint32_t group) {
            return groups_[group].structure.hash != structure.hash;
        };
        std::size_t bucket = structure.hash.low & (slots - 1);
        while (buckets_[bucket] != vacant && differs(buckets_[bucket]))
            bucket = (bucket + 1) & (slots - 1);
        if (buckets_[bucket] == vacant) {
            buckets_[bucket] = static_cast<std::uint32_t>(groups_.size());
            groups_.push_back({.structure = structure});
        }
        ++groups_[buckets_[bucket]].count;
        group_of_.push_back(buckets_[bucket]);
    }
}

void GenomeGroups::place() {
    sorted_.resize(groups_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0U);
    std::ranges::stable_sort(sorted_, {}, [this](std::uint32_t index) {
        const GenomeStructure& structure = groups_[index].structure;
        return std::tuple(structure.size_class, structure.path, structure.cost);
    });
    std::size_t position = 0;
    for (const std::uint32_t index : sorted_) {
        Group& group = groups_[index];
        group.begin = group.end = position;
        position += group.count;
        if (group.structure.size_class != as_graph)
            class_ends_[group.structure.size_class] = position;
    }
    order_.resize(group_of_.size());
    for (std::size_t i = 0; i < group_of_.size(); ++i)
        order_[groups_[group_of_[i]].end++] = static_cast<std::uint32_t>(i);
}

std::size_t GenomeGroups::end_of_program(std::size_t position) const {
    const Group& group = group_at(position);
    return group.structure.size_class == as_graph ? group.end
                                                  : class_ends_[group.structure.size_class];
}

}  // namespace cambrian::evolve
