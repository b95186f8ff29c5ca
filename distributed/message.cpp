#include "cambrian/distributed/message.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "cambrian/distributed/blocks.hpp"
#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::uint32_t frame_magic = 0x474D4243;  // "CBMG"
constexpr std::uint32_t frame_version = 3;
constexpr std::size_t header_bytes = 32;

template <typename T>
void put(std::byte*& at, T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        *at++ = static_cast<std::byte>((value >> (8 * i)) & 0xFFU);
    }
}

template <typename T>
T get(const std::byte*& at) {
    T value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) {
        value |= static_cast<T>(std::to_integer<T>(*at++) << (8 * i));
    }
    return value;
}

[[noreturn]] void refuse(std::string_view source, std::string_view why) {
    throw InputError(fmt::format(
        "a message from {} cannot be read ({}) check that every rank runs the same program", source,
        why));
}

/// Words of many small things, written as one block: an archive takes long over single values.
class WordWriter {
  public:
    /// @param words that will be written, or more.
    explicit WordWriter(std::size_t words)
        : bytes_(sizeof(std::uint64_t) * words), at_(bytes_.data()) {}

    void write(std::uint64_t word) {
        CAMBRIAN_EXPECT(at_ + sizeof word <= bytes_.data() + bytes_.size());
        put(at_, word);
    }
    void write(double value) { write(std::bit_cast<std::uint64_t>(value)); }
    void write(Hash128 hash) {
        write(hash.high);
        write(hash.low);
    }
    void write(std::span<const double> values) {
        write(static_cast<std::uint64_t>(values.size()));
        for (double value : values) {
            write(value);
        }
    }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), at_}; }

  private:
    std::vector<std::byte> bytes_;
    std::byte* at_;
};

/// Reads a block of words from an archive within its bounds.
class WordReader {
  public:
    explicit WordReader(ArchiveReader& archive) : archive_(archive) {
        archive.read(bytes_);
        rest_ = bytes_;
    }

    /// A count of things of at least `smallest` words each, checked against what is left.
    std::uint64_t count(std::uint64_t smallest) {
        const std::uint64_t things = word();
        if (things > rest_.size() / (sizeof(std::uint64_t) * smallest)) {
            archive_.fail("a count does not fit into the words that are left");
        }
        return things;
    }
    std::uint64_t word() {
        if (rest_.size() < sizeof(std::uint64_t)) {
            archive_.fail("a block of words ends too early");
        }
        const std::byte* at = rest_.data();
        rest_ = rest_.subspan(sizeof(std::uint64_t));
        return get<std::uint64_t>(at);
    }
    double real() { return std::bit_cast<double>(word()); }
    Hash128 hash() {
        const std::uint64_t high = word();
        return {high, word()};
    }
    void read(std::vector<double>& values) {
        values.resize(count(1));
        for (double& value : values) {
            value = real();
        }
    }
    void finish() const {
        if (!rest_.empty()) {
            archive_.fail("a block of words has words left over");
        }
    }
    [[noreturn]] void fail(std::string_view why) const { archive_.fail(why); }

  private:
    ArchiveReader& archive_;
    std::vector<std::byte> bytes_;
    std::span<const std::byte> rest_;
};

constexpr std::size_t birth_words = 3;  ///< Of one without parents.
constexpr std::size_t parent_words = 4;
constexpr std::size_t outcome_words = 12;  ///< Of one without values in its arrays.

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

/// Births whose parents are places in a list that both sides have, or births with their parents.
enum class ParentsAs : std::uint8_t { places, themselves };

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

/// What places refer to; nothing where parents are there themselves.
using ParentList = std::optional<std::span<const evolve::Parent>>;

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

/// Outcomes in a block, which one thread reads: a few tens of microseconds.
constexpr std::size_t block_of_outcomes = 512;

void write_block(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes) {
    std::size_t values = 0;
    for (const evolve::Outcome& outcome : outcomes) {
        values += outcome.objectives.size() + outcome.behaviour.size() + outcome.per_sample.size();
    }
    WordWriter words(1 + outcomes.size() * outcome_words + values);
    words.write(static_cast<std::uint64_t>(outcomes.size()));
    for (const evolve::Outcome& outcome : outcomes) {
        words.write(outcome.id);
        words.write(static_cast<std::uint64_t>(outcome.status));
        words.write(outcome.fitness);
        words.write(std::span<const double>(outcome.objectives));
        words.write(std::span<const double>(outcome.behaviour));
        words.write(std::span<const double>(outcome.per_sample));
        words.write(outcome.evaluations);
        words.write(outcome.env_steps);
        words.write(outcome.parameters);
        words.write(static_cast<std::uint64_t>(outcome.redrawn));
        words.write(outcome.genome);
    }
    archive.write(words.bytes());
}

void write_outcomes(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes) {
    archive.write(
        static_cast<std::uint64_t>((outcomes.size() + block_of_outcomes - 1) / block_of_outcomes));
    for (std::size_t first = 0; first < outcomes.size(); first += block_of_outcomes) {
        write_block(archive,
                    outcomes.subspan(first, std::min(block_of_outcomes, outcomes.size() - first)));
    }
}

void read_outcome(WordReader& words, evolve::Outcome& outcome) {
    outcome.id = words.word();
    const std::uint64_t status = words.word();
    if (status > static_cast<std::uint64_t>(evolve::Status::failed)) {
        words.fail("an outcome has an unknown status");
    }
    outcome.status = static_cast<evolve::Status>(status);
    outcome.fitness = words.real();
    words.read(outcome.objectives);
    words.read(outcome.behaviour);
    words.read(outcome.per_sample);
    outcome.evaluations = words.word();
    outcome.env_steps = words.word();
    outcome.parameters = words.word();
    const std::uint64_t redrawn = words.word();
    if (redrawn > std::numeric_limits<std::uint32_t>::max()) {
        words.fail("an outcome was redrawn too often");
    }
    outcome.redrawn = static_cast<std::uint32_t>(redrawn);
    outcome.genome = words.hash();
}

void read_outcomes(ArchiveReader& archive, std::vector<evolve::Outcome>& outcomes,
                   ThreadPool& threads) {
    std::vector<WordReader> blocks;
    std::vector<std::size_t> ends;
    std::size_t all = 0;
    for (std::uint64_t left = archive.read_count(sizeof(std::uint64_t)); left > 0; --left) {
        all += blocks.emplace_back(archive).count(outcome_words);
        ends.push_back(all);
    }
    outcomes.resize(all);
    for_each_index(threads, blocks.size(), 1, [&](std::size_t block) {
        for (std::size_t i = block == 0 ? 0 : ends[block - 1]; i < ends[block]; ++i) {
            read_outcome(blocks[block], outcomes[i]);
        }
        blocks[block].finish();
    });
}

void write_cost(ArchiveWriter& archive, const ShardCost& cost) {
    archive.write(cost.evaluate);
    archive.write(cost.vary);
    archive.write(cost.wait);
    archive.write(cost.communicate);
    archive.write(cost.programs_compiled);
    archive.write(cost.memory_splits);
    archive.write(cost.fallbacks);
}

void read_cost(ArchiveReader& archive, ShardCost& cost) {
    archive.read(cost.evaluate);
    archive.read(cost.vary);
    archive.read(cost.wait);
    archive.read(cost.communicate);
    archive.read(cost.programs_compiled);
    archive.read(cost.memory_splits);
    archive.read(cost.fallbacks);
}

void write_all(ArchiveWriter& archive, const std::vector<std::vector<std::byte>>& blocks) {
    archive.write(static_cast<std::uint64_t>(blocks.size()));
    for (const std::vector<std::byte>& block : blocks) {
        archive.write(std::span<const std::byte>(block));
    }
}

void read_all(ArchiveReader& archive, std::vector<std::vector<std::byte>>& blocks) {
    blocks.resize(archive.read_count(8));
    for (std::vector<std::byte>& block : blocks) {
        archive.read(block);
    }
}

void write_all(ArchiveWriter& archive, const std::vector<Hash128>& hashes) {
    archive.write(static_cast<std::uint64_t>(hashes.size()));
    for (Hash128 hash : hashes) {
        archive.write(hash);
    }
}

void read_all(ArchiveReader& archive, std::vector<Hash128>& hashes) {
    hashes.resize(archive.read_count(16));
    for (Hash128& hash : hashes) {
        archive.read(hash);
    }
}

}  // namespace

ShardCost& ShardCost::operator+=(const ShardCost& other) {
    evaluate += other.evaluate;
    vary += other.vary;
    wait += other.wait;
    communicate += other.communicate;
    programs_compiled += other.programs_compiled;
    memory_splits += other.memory_splits;
    fallbacks += other.fallbacks;
    return *this;
}

void write_outcome(ArchiveWriter& archive, const evolve::Outcome& outcome) {
    archive.write(outcome.id);
    archive.write(static_cast<std::uint8_t>(outcome.status));
    archive.write(outcome.fitness);
    archive.write(std::span<const double>(outcome.objectives));
    archive.write(std::span<const double>(outcome.behaviour));
    archive.write(std::span<const double>(outcome.per_sample));
    archive.write(outcome.evaluations);
    archive.write(outcome.env_steps);
    archive.write(outcome.parameters);
    archive.write(outcome.redrawn);
    archive.write(outcome.genome);
}

evolve::Outcome read_outcome(ArchiveReader& archive) {
    evolve::Outcome outcome;
    archive.read(outcome.id);
    std::uint8_t status = 0;
    archive.read(status);
    if (status > static_cast<std::uint8_t>(evolve::Status::failed)) {
        archive.fail("an outcome has an unknown status");
    }
    outcome.status = static_cast<evolve::Status>(status);
    archive.read(outcome.fitness);
    archive.read(outcome.objectives);
    archive.read(outcome.behaviour);
    archive.read(outcome.per_sample);
    archive.read(outcome.evaluations);
    archive.read(outcome.env_steps);
    archive.read(outcome.parameters);
    archive.read(outcome.redrawn);
    archive.read(outcome.genome);
    return outcome;
}

namespace detail {

std::vector<std::byte> seal(MessageKind kind, std::span<const std::byte> body) {
    std::vector<std::byte> frame(header_bytes + body.size());
    std::byte* at = frame.data();
    put(at, frame_magic);
    put(at, frame_version);
    put(at, static_cast<std::uint32_t>(kind));
    put(at, std::uint32_t{0});
    put(at, static_cast<std::uint64_t>(body.size()));
    put(at, hash64(body, static_cast<std::uint64_t>(kind)));
    if (!body.empty()) {
        std::memcpy(at, body.data(), body.size());
    }
    return frame;
}

std::span<const std::byte> unseal(MessageKind kind, std::span<const std::byte> payload,
                                  std::string_view source) {
    if (payload.size() < header_bytes) {
        refuse(source, "it is shorter than a frame");
    }
    const std::byte* at = payload.data();
    if (get<std::uint32_t>(at) != frame_magic) {
        refuse(source, "it is no frame");
    }
    if (get<std::uint32_t>(at) != frame_version) {
        refuse(source, "its frame has another version");
    }
    if (get<std::uint32_t>(at) != static_cast<std::uint32_t>(kind)) {
        refuse(source, "it is of another kind than announced");
    }
    if (get<std::uint32_t>(at) != 0) {
        refuse(source, "its frame has unknown flags");
    }
    const auto length = get<std::uint64_t>(at);
    const auto checksum = get<std::uint64_t>(at);
    const std::span<const std::byte> body = payload.subspan(header_bytes);
    if (length != body.size()) {
        refuse(source, fmt::format("it has {} bytes, its frame says {}", body.size(), length));
    }
    if (checksum != hash64(body, static_cast<std::uint64_t>(kind))) {
        refuse(source, "its checksum is wrong");
    }
    return body;
}

void write(ArchiveWriter& archive, const Hello& message) {
    archive.write(message.version);
    archive.write(message.identity);
    archive.write(message.arithmetic);
    archive.write(message.fingerprint);
    archive.write(message.host);
    archive.write(message.device);
    archive.write(message.processors);
}

void read(ArchiveReader& archive, Hello& message) {
    archive.read(message.version);
    archive.read(message.identity);
    archive.read(message.arithmetic);
    archive.read(message.fingerprint);
    archive.read(message.host);
    archive.read(message.device);
    archive.read(message.processors);
}

void write(ArchiveWriter& archive, const Request& message) {
    archive.write(message.room);
    archive.write(static_cast<std::uint64_t>(message.results.size()));
    for (const ShardResult& result : message.results) {
        archive.write(result.shard);
        write_outcomes(archive, result.outcomes);
        write_cost(archive, result.cost);
    }
}

void read(ArchiveReader& archive, Request& message, ThreadPool& threads) {
    archive.read(message.room);
    message.results.resize(archive.read_count(48));
    for (ShardResult& result : message.results) {
        archive.read(result.shard);
        read_outcomes(archive, result.outcomes, threads);
        read_cost(archive, result.cost);
    }
}

void read(ArchiveReader& archive, Request& message) {
    ThreadPool alone(1);
    read(archive, message, alone);
}

void write(ArchiveWriter& archive, const ShardOrder& message) {
    archive.write(message.shard);
    archive.write(message.generation);
    write_parents(archive, message.parents);
    write_births(archive, message.births, ParentsAs::places);
    write_births(archive, message.recipes, ParentsAs::themselves);
    archive.write(static_cast<std::uint64_t>(message.children.size()));
    for (const ShippedGenome& child : message.children) {
        archive.write(std::span<const std::byte>(child.bytes));
        archive.write(child.redrawn);
    }
    write_all(archive, message.genomes);
    write_all(archive, message.survivors);
}

void read(ArchiveReader& archive, ShardOrder& message) {
    archive.read(message.shard);
    archive.read(message.generation);
    read_parents(archive, message.parents);
    read_births(archive, message.births, message.parents);
    read_births(archive, message.recipes, std::nullopt);
    message.children.resize(archive.read_count(12));
    for (ShippedGenome& child : message.children) {
        archive.read(child.bytes);
        archive.read(child.redrawn);
    }
    if (!message.children.empty() && message.children.size() != message.births.size()) {
        archive.fail("a shard has another number of children than births");
    }
    read_all(archive, message.genomes);
    read_all(archive, message.survivors);
}

void write(ArchiveWriter& archive, const GenomeRequest& message) {
    write_all(archive, message.hashes);
}

void read(ArchiveReader& archive, GenomeRequest& message) {
    read_all(archive, message.hashes);
}

void write(ArchiveWriter& archive, const GenomeReply& message) {
    write_all(archive, message.genomes);
    write_all(archive, message.gone);
}

void read(ArchiveReader& archive, GenomeReply& message) {
    read_all(archive, message.genomes);
    read_all(archive, message.gone);
}

void write(ArchiveWriter& archive, const Heartbeat& message) {
    archive.write(static_cast<std::uint64_t>(message.shards.size()));
    for (std::uint64_t shard : message.shards) {
        archive.write(shard);
    }
}

void read(ArchiveReader& archive, Heartbeat& message) {
    message.shards.resize(archive.read_count(8));
    for (std::uint64_t& shard : message.shards) {
        archive.read(shard);
    }
}

void write(ArchiveWriter& archive, const ShardFailure& message) {
    archive.write(message.shard);
    archive.write(message.text);
    archive.write(message.leaving);
}

void read(ArchiveReader& archive, ShardFailure& message) {
    archive.read(message.shard);
    archive.read(message.text);
    archive.read(message.leaving);
}

void write(ArchiveWriter& archive, const Stop& message) {
    archive.write(message.reason);
}

void read(ArchiveReader& archive, Stop& message) {
    archive.read(message.reason);
}

}  // namespace detail

Request decode_request(std::span<const std::byte> payload, std::string_view source,
                       ThreadPool& threads) {
    ArchiveReader archive(detail::unseal(Request::kind, payload, source), std::string(source));
    Request request;
    detail::read(archive, request, threads);
    archive.finish();
    return request;
}

}  // namespace cambrian::distributed
