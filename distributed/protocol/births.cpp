#include "cambrian/distributed/protocol/message_blocks.hpp"

#include <utility>

#include "cambrian/distributed/protocol/words.hpp"

namespace cambrian::distributed::detail {

namespace {

constexpr std::size_t birth_words = 3;  ///< Of one without parents.
constexpr std::size_t parent_words = 4;

void write_parent(WordWriter& words, const evolve::Parent& parent) {
    words.write(parent.birth);
    words.write(parent.genome);
    words.write(parent.fitness);
}

evolve::Parent read_parent(WordReader& words) {
    evolve::Parent parent;
    parent.birth = words.word();
    parent.genome = words.hash();
    parent.fitness = words.real();
    return parent;
}

evolve::Parent read_listed(WordReader& words, std::span<const evolve::Parent> list) {
    const std::uint64_t place = words.word();
    if (place >= list.size()) {
        words.fail("a birth has a parent that is not in the list");
    }
    return list[place];
}

/// The least and the most parents that a recipe takes.
std::pair<std::uint64_t, std::uint64_t> parents_of(evolve::Recipe recipe) {
    switch (recipe) {
        case evolve::Recipe::sample:
            return {0, 0};
        case evolve::Recipe::carry:
            return {1, 1};
        case evolve::Recipe::vary:
            break;
    }
    return {1, evolve::Parents::most};
}

evolve::Birth read_birth(WordReader& words, const ParentList& list) {
    evolve::Birth birth;
    birth.id = words.word();
    const std::uint64_t recipe = words.word();
    if (recipe > static_cast<std::uint64_t>(evolve::Recipe::vary)) {
        words.fail("a birth has an unknown recipe");
    }
    birth.recipe = static_cast<evolve::Recipe>(recipe);
    const std::uint64_t parents = words.count(list ? 1 : parent_words);
    const auto [least, most] = parents_of(birth.recipe);
    if (parents < least || parents > most) {
        words.fail("a birth has an impossible number of parents");
    }
    for (std::uint64_t i = 0; i < parents; ++i) {
        birth.parents.push_back(list ? read_listed(words, *list) : read_parent(words));
    }
    return birth;
}

}  // namespace

void write_parents(ArchiveWriter& archive, std::span<const evolve::Parent> parents) {
    WordWriter words(1 + parents.size() * parent_words);
    words.write(static_cast<std::uint64_t>(parents.size()));
    for (const evolve::Parent& parent : parents) {
        write_parent(words, parent);
    }
    archive.write(words.bytes());
}

void read_parents(ArchiveReader& archive, std::vector<evolve::Parent>& parents) {
    WordReader words(archive);
    parents.resize(words.count(parent_words));
    for (std::size_t i = 0; i < parents.size(); ++i) {
        parents[i] = read_parent(words);
        parents[i].member = static_cast<std::uint32_t>(i);
    }
    words.finish();
}

void write_births(ArchiveWriter& archive, std::span<const evolve::Birth> births, ParentsAs form) {
    WordWriter words(1 + births.size() * (birth_words + evolve::Parents::most * parent_words));
    words.write(static_cast<std::uint64_t>(births.size()));
    for (const evolve::Birth& birth : births) {
        words.write(birth.id);
        words.write(static_cast<std::uint64_t>(birth.recipe));
        words.write(static_cast<std::uint64_t>(birth.parents.size()));
        for (const evolve::Parent& parent : birth.parents) {
            if (form == ParentsAs::places) {
                words.write(std::uint64_t{parent.member});
            } else {
                write_parent(words, parent);
            }
        }
    }
    archive.write(words.bytes());
}

void read_births(ArchiveReader& archive, std::vector<evolve::Birth>& births,
                 const ParentList& list) {
    WordReader words(archive);
    const std::uint64_t count = words.count(birth_words);
    births.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
        births.push_back(read_birth(words, list));
    }
    words.finish();
}

}  // namespace cambrian::distributed::detail
