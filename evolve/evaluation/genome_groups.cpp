#include "cambrian/evolve/evaluation/genome_groups.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

namespace cambrian::evolve {
namespace {

/// No group, no genome.
constexpr std::uint32_t vacant = UINT32_MAX;

}  // namespace

void GenomeGroups::arrange(std::span<const GenomeStructure> structures, std::int64_t lockstep) {
    find(structures);
    sort();
    place(grain(lockstep));
}

void GenomeGroups::find(std::span<const GenomeStructure> structures) {
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

void GenomeGroups::sort() {
    sorted_.resize(groups_.size());
    std::iota(sorted_.begin(), sorted_.end(), 0U);
    const auto structure = [this](std::size_t i) -> const GenomeStructure& {
        return groups_[sorted_[i]].structure;
    };
    std::ranges::stable_sort(sorted_, {}, [this](std::uint32_t index) {
        const GenomeStructure& of = groups_[index].structure;
        return std::tuple(of.size_class, of.path, -of.cost);
    });
    runs_.clear();
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
        const bool new_path = i == 0 || structure(i).size_class != structure(i - 1).size_class ||
                              structure(i).path != structure(i - 1).path;
        if (new_path)
            runs_.push_back(
                {.first = i, .size_class = structure(i).size_class, .dearest = structure(i).cost});
        runs_.back().last = i + 1;
        runs_.back().count += groups_[sorted_[i]].count;
    }
    std::ranges::stable_sort(
        runs_, {}, [](const Run& run) { return std::pair(run.size_class, -run.dearest); });
}

std::size_t GenomeGroups::grain(std::int64_t lockstep) const {
    // Repeated genomes are work for nothing; where paths are many, neighbours differ anyway.
    constexpr std::size_t max_repeated_share = 8;
    for (auto grain = static_cast<std::size_t>(lockstep); grain > 1; grain /= 2) {
        std::size_t repeated = 0;
        for (const Run& run : runs_) repeated += (grain - run.count % grain) % grain;
        if (repeated * max_repeated_share <= group_of_.size()) return grain;
    }
    return 1;
}

void GenomeGroups::place(std::size_t grain) {
    std::size_t position = 0;
    std::size_t class_begin = 0;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
        const Run& run = runs_[i];
        for (std::size_t at = run.first; at < run.last; ++at) {
            Group& group = groups_[sorted_[at]];
            group.begin = group.end = position;
            position += group.count;
        }
        if (run.size_class == as_graph) continue;
        const bool ends_class = i + 1 == runs_.size() || runs_[i + 1].size_class != run.size_class;
        if (ends_class)
            class_ends_[run.size_class] = class_begin = position;
        else
            position = class_begin + (position - class_begin + grain - 1) / grain * grain;
    }
    order_.assign(position, vacant);
    for (std::size_t i = 0; i < group_of_.size(); ++i)
        order_[groups_[group_of_[i]].end++] = static_cast<std::uint32_t>(i);
    fill_gaps();
}

void GenomeGroups::fill_gaps() {
    for (std::size_t i = 1; i < order_.size(); ++i)
        if (order_[i] == vacant) order_[i] = order_[i - 1];
}

std::size_t GenomeGroups::end_of_program(std::size_t position) const {
    const Group& group = group_at(position);
    return group.structure.size_class == as_graph ? group.end
                                                  : class_ends_[group.structure.size_class];
}

}  // namespace cambrian::evolve
