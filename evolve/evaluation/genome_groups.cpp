#include "cambrian/evolve/evaluation/genome_groups.hpp"

#include <algorithm>
#include <bit>

namespace cambrian::evolve {
namespace {

/// No group, no genome.
constexpr std::uint32_t vacant = UINT32_MAX;

}  // namespace

void GenomeGroups::arrange(std::span<const GenomeStructure> structures, std::int64_t lockstep) {
    find(structures);
    find_runs();
    sort();
    place(grain(lockstep));
}

template <class Differs>
std::uint32_t& GenomeGroups::bucket_of(std::size_t first, const Differs& differs) {
    std::size_t bucket = first;
    while (buckets_[bucket] != vacant && differs(buckets_[bucket]))
        bucket = (bucket + 1) & (buckets_.size() - 1);
    return buckets_[bucket];
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
        std::uint32_t& group = bucket_of(structure.hash.low & (slots - 1), differs);
        if (group == vacant) {
            group = static_cast<std::uint32_t>(groups_.size());
            groups_.push_back({.structure = structure});
        }
        ++groups_[group].count;
        group_of_.push_back(group);
    }
}

/// Which groups share a class and a path, how many genomes these are, and what the dearest costs.
void GenomeGroups::find_runs() {
    const std::size_t slots = std::bit_ceil(groups_.size() * 2);
    // Paths differ in few bits, which a multiplication spreads over the first ones.
    const auto unused_bits = 64 - std::bit_width(slots - 1);
    buckets_.assign(slots, vacant);
    runs_.clear();
    for (Group& group : groups_) {
        const auto& [hash, size_class, path, cost] = group.structure;
        const auto differs = [&](std::uint32_t run) {
            return runs_[run].path != path || runs_[run].size_class != size_class;
        };
        std::uint32_t& number =
            bucket_of((path ^ size_class) * 0x9E3779B97F4A7C15U >> unused_bits, differs);
        if (number == vacant) {
            number = static_cast<std::uint32_t>(runs_.size());
            runs_.push_back({.path = path, .size_class = size_class});
        }
        group.run = number;
        Run& run = runs_[group.run];
        run.count += group.count;
        run.dearest = std::max(run.dearest, cost);
    }
}

/// By class, then by run, that of the dearest network first, then the dear before the cheap.
void GenomeGroups::sort() {
    std::int64_t dearest = 0;
    for (const Run& run : runs_) dearest = std::max(dearest, run.dearest);
    const auto bits = std::bit_width(static_cast<std::uint64_t>(dearest));
    const auto key = [&](std::size_t first, std::int64_t cost) {
        return std::uint64_t{first} << bits | static_cast<std::uint64_t>(dearest - cost);
    };
    std::vector<RadixSort::Item>& items = sort_.items();
    items.clear();
    for (std::uint32_t i = 0; i < runs_.size(); ++i)
        items.push_back({.key = key(runs_[i].size_class, runs_[i].dearest), .value = i});
    std::size_t rank = 0;
    for (const RadixSort::Item& item : sort_.sort()) runs_[item.value].rank = rank++;
    items.clear();
    for (std::uint32_t i = 0; i < groups_.size(); ++i)
        items.push_back(
            {.key = key(runs_[groups_[i].run].rank, groups_[i].structure.cost), .value = i});
    sort_.sort();
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
    const std::vector<RadixSort::Item>& sorted = sort_.items();
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        Group& group = groups_[sorted[i].value];
        group.begin = group.end = position;
        position += group.count;
        const Group* next = i + 1 < sorted.size() ? &groups_[sorted[i + 1].value] : nullptr;
        const std::size_t size_class = group.structure.size_class;
        if (size_class == as_graph || (next != nullptr && next->run == group.run)) continue;
        if (next == nullptr || next->structure.size_class != size_class)
            class_ends_[size_class] = class_begin = position;
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
