#include "cambrian/distributed/protocol/message.hpp"

#include <algorithm>
#include <concepts>
#include <functional>
#include <optional>
#include <type_traits>

#include "cambrian/distributed/protocol/number_lists.hpp"
#include "cambrian/distributed/protocol/score_columns.hpp"

namespace cambrian::distributed {

namespace detail {

namespace {

/// Both ways of a message through an archive, so that its fields stand once.
class Writing {
  public:
    explicit Writing(ArchiveWriter& archive) : archive_(archive) {}

    template <typename... Values>
    void operator()(const Values&... values) {
        (archive_.write(values), ...);
    }
    void bytes(const std::vector<std::byte>& bytes) {
        archive_.write(std::span<const std::byte>(bytes));
    }
    void reals(const std::vector<float>& values) { archive_.write(std::span<const float>(values)); }
    template <typename Number>
    void numbers(const std::vector<Number>& numbers) {
        write_numbers<Number>(archive_, numbers);
    }
    /// @param smallest bytes of an element, at least.
    template <typename Element, typename Each>
    void list(const std::vector<Element>& elements, std::uint64_t /*smallest*/, const Each& each) {
        archive_.write(static_cast<std::uint64_t>(elements.size()));
        std::ranges::for_each(elements, each);
    }
    template <typename Part, typename Each>
    void optional(const std::optional<Part>& part, const Each& each) {
        archive_.write(part.has_value());
        if (part) {
            each(*part);
        }
    }
    /// Pairs of numbers as one list of them.
    template <typename Pair>
    void pairs(const std::vector<Pair>& pairs, std::uint32_t Pair::*first,
               std::uint32_t Pair::*second) {
        std::vector<std::uint32_t> all;
        for (const Pair& pair : pairs) {
            all.insert(all.end(), {pair.*first, pair.*second});
        }
        numbers(all);
    }
    void scores(const ShardScores& scores) { write_scores(archive_, scores); }
    void cost(const ShardCost& cost) { write_cost(archive_, cost); }

  private:
    ArchiveWriter& archive_;
};

class Reading {
  public:
    explicit Reading(ArchiveReader& archive) : archive_(archive) {}

    template <typename... Values>
    void operator()(Values&... values) {
        (archive_.read(values), ...);
    }
    void bytes(std::vector<std::byte>& bytes) { archive_.read(bytes); }
    void reals(std::vector<float>& values) { archive_.read(values); }
    template <typename Number>
    void numbers(std::vector<Number>& numbers) {
        read_numbers(archive_, numbers);
    }
    template <typename Element, typename Each>
    void list(std::vector<Element>& elements, std::uint64_t smallest, const Each& each) {
        archive_.read_list(elements, smallest, each);
    }
    template <typename Part, typename Each>
    void optional(std::optional<Part>& part, const Each& each) {
        bool present = false;
        archive_.read(present);
        if (present) {
            each(part.emplace());
        }
    }
    template <typename Pair>
    void pairs(std::vector<Pair>& pairs, std::uint32_t Pair::*first, std::uint32_t Pair::*second) {
        std::vector<std::uint32_t> all;
        numbers(all);
        require(all.size() % 2 == 0, "a list of pairs ends within one");
        for (std::size_t i = 0; i < all.size(); i += 2) {
            Pair& pair = pairs.emplace_back();
            pair.*first = all[i];
            pair.*second = all[i + 1];
        }
    }
    void scores(ShardScores& scores) { read_scores(archive_, scores); }
    void cost(ShardCost& cost) { read_cost(archive_, cost); }
    void require(bool right, std::string_view fault) const {
        if (!right) {
            archive_.fail(fault);
        }
    }

  private:
    ArchiveReader& archive_;
};

/// A message that is written, or one that is read.
template <typename Given, typename Message>
concept Is = std::same_as<std::remove_const_t<Given>, Message>;

void fields(auto& archive, Is<Handshake> auto& message) {
    archive(message.version, message.identity, message.variation, message.arithmetic,
            message.fingerprint, message.host, message.device, message.processors);
}

void fields(auto& archive, Is<Record> auto& record) {
    archive(record.generation);
    archive.bytes(record.decision);
    archive.pairs(record.holders, &HolderRange::end, &HolderRange::rank);
}

void fields(auto& archive, Is<RoundState> auto& state) {
    archive.bytes(state.strategy);
    archive.numbers(state.holders);
    archive.list(state.passed, sizeof(Hash128), [&](auto& digest) { archive(digest); });
}

void fields(auto& archive, Is<Request> auto& message) {
    archive(message.room, message.generation, message.digest);
    archive.list(message.results, 48, [&](auto& result) {
        archive(result.shard);
        archive.scores(result.scores);
        archive.cost(result.cost);
    });
}

void fields(auto& archive, Is<ShardOrder> auto& message) {
    archive.list(message.records, 24, [&](auto& record) { fields(archive, record); });
    archive.optional(message.state, [&](auto& state) { fields(archive, state); });
    archive(message.digest, message.generation, message.epoch, message.shard, message.begin,
            message.end);
    archive.numbers(message.absent);
    archive.list(message.children, 12, [&](auto& child) {
        archive.bytes(child.bytes);
        archive(child.retries);
    });
}

void check(const Reading& archive, const ShardOrder& message) {
    archive.require(message.begin <= message.end, "a shard ends before it begins");
    archive.require(
        message.children.empty() || message.children.size() == message.end - message.begin,
        "a shard has another number of children than births");
}

void fields(auto& archive, Is<RoundEnd> auto& message) {
    archive(message.epoch);
    fields(archive, message.record);
    archive.numbers(message.ranks);
    archive.pairs(message.shares, &FirstShare::births, &FirstShare::smallest_rest);
    archive(message.own_births);
    archive.numbers(message.absent);
}

void check(const Reading& archive, const RoundEnd& message) {
    // A rank that is there twice would pass it on for ever.
    archive.require(
        std::ranges::adjacent_find(message.ranks, std::greater_equal<>()) == message.ranks.end(),
        "its ranks are out of order");
    archive.require(message.shares.empty() || message.shares.size() == message.ranks.size(),
                    "its shares are those of other ranks");
}

void fields(auto&, Is<RoundRequest> auto&) {}

void fields(auto& archive, Is<GenomeRequest> auto& message) {
    archive.numbers(message.origins);
}

void fields(auto& archive, Is<GenomeReply> auto& message) {
    archive.list(message.structures, 8, [&](auto& structure) { archive.bytes(structure); });
    archive.list(message.genomes, 20, [&](auto& genome) {
        archive(genome.origin, genome.structure);
        archive.reals(genome.weights);
    });
    archive.numbers(message.gone);
}

/// Whoever reads a reply counts on both: that it costs no more than its genomes, and that each is
/// there or gone once.
void check(const Reading& archive, const GenomeReply& message) {
    archive.require(message.structures.size() <= message.genomes.size(),
                    "it has more structures than genomes");
    std::vector<evolve::BirthId> origins = message.gone;
    for (const NamedGenome& genome : message.genomes) {
        origins.push_back(genome.origin);
    }
    std::ranges::sort(origins);
    archive.require(std::ranges::adjacent_find(origins) == origins.end(),
                    "it names a genome twice");
}

void fields(auto& archive, Is<Heartbeat> auto& message) {
    archive.numbers(message.shards);
    archive(message.epoch);
}

void fields(auto& archive, Is<ShardFailure> auto& message) {
    archive(message.shard, message.text, message.leaving);
}

void fields(auto& archive, Is<Stop> auto& message) {
    archive(message.reason);
}

void fields(auto&, Is<InitialRequest> auto&) {}

void fields(auto& archive, Is<InitialReply> auto& message) {
    archive.list(message.genomes, 8, [&](auto& genome) { archive.bytes(genome); });
}

/// Whether what was read needs a check beyond those of its parts.
template <typename T>
concept Checked = requires(const Reading& archive, const T& message) {
    check(archive, message);
};

}  // namespace

template <typename T>
void write(ArchiveWriter& archive, const T& message) {
    Writing writing(archive);
    fields(writing, message);
}

template <typename T>
void read(ArchiveReader& archive, T& message) {
    Reading reading(archive);
    fields(reading, message);
    if constexpr (Checked<T>) {
        check(reading, message);
    }
}

template void write(ArchiveWriter&, const Handshake&);
template void read(ArchiveReader&, Handshake&);
template void write(ArchiveWriter&, const Request&);
template void read(ArchiveReader&, Request&);
template void write(ArchiveWriter&, const ShardOrder&);
template void read(ArchiveReader&, ShardOrder&);
template void write(ArchiveWriter&, const RoundEnd&);
template void read(ArchiveReader&, RoundEnd&);
template void write(ArchiveWriter&, const RoundRequest&);
template void read(ArchiveReader&, RoundRequest&);
template void write(ArchiveWriter&, const GenomeRequest&);
template void read(ArchiveReader&, GenomeRequest&);
template void write(ArchiveWriter&, const GenomeReply&);
template void read(ArchiveReader&, GenomeReply&);
template void write(ArchiveWriter&, const Heartbeat&);
template void read(ArchiveReader&, Heartbeat&);
template void write(ArchiveWriter&, const ShardFailure&);
template void read(ArchiveReader&, ShardFailure&);
template void write(ArchiveWriter&, const Stop&);
template void read(ArchiveReader&, Stop&);
template void write(ArchiveWriter&, const InitialRequest&);
template void read(ArchiveReader&, InitialRequest&);
template void write(ArchiveWriter&, const InitialReply&);
template void read(ArchiveReader&, InitialReply&);

}  // namespace detail

namespace {

/// What a rank sends to many takes its link so long that a few more steps on the way cost less:
/// three for a thousand ranks.
constexpr std::size_t told_at_once = 10;

}  // namespace

std::span<const std::uint32_t> RoundEnd::after(std::uint32_t rank) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank) - ranks.begin());
    if (place == ranks.size()) {
        return {};
    }
    const std::size_t begin = std::min((place + 1) * told_at_once, ranks.size());
    return std::span(ranks).subspan(begin, std::min(told_at_once, ranks.size() - begin));
}

std::span<const std::uint32_t> RoundEnd::first() const {
    return std::span(ranks).first(std::min(told_at_once, ranks.size()));
}

}  // namespace cambrian::distributed
