#include "cambrian/distributed/protocol/message_blocks.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "cambrian/distributed/protocol/blocks.hpp"
#include "cambrian/distributed/protocol/words.hpp"

namespace cambrian::distributed {

namespace detail {

namespace {

constexpr std::size_t outcome_words = 9;  ///< Of one without values in its arrays.
/// The word of the status says above it which arrays follow: the empty ones do not.
constexpr int first_array_bit = 8;
constexpr std::uint64_t status_mask = (std::uint64_t{1} << first_array_bit) - 1;
/// Outcomes in a block, which one thread reads: a few tens of microseconds.
constexpr std::size_t block_of_outcomes = 512;

/// The arrays of an outcome, in the order of their bits.
template <class Outcome>
auto arrays_of(Outcome& outcome) {
    return std::array{&outcome.objectives, &outcome.behaviour, &outcome.per_sample};
}

/// The status, and a bit for each array that is not empty.
std::uint64_t status_word(const evolve::Outcome& outcome) {
    auto word = static_cast<std::uint64_t>(outcome.status);
    std::uint64_t bit = std::uint64_t{1} << first_array_bit;
    for (const auto* values : arrays_of(outcome)) {
        word |= values->empty() ? 0 : bit;
        bit <<= 1;
    }
    return word;
}

void write_block(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes) {
    std::size_t values = 0;
    for (const evolve::Outcome& outcome : outcomes) {
        for (const auto* array : arrays_of(outcome)) {
            values += array->empty() ? 0 : 1 + array->size();
        }
    }
    WordWriter words(1 + outcomes.size() * outcome_words + values);
    words.write(static_cast<std::uint64_t>(outcomes.size()));
    for (const evolve::Outcome& outcome : outcomes) {
        words.write(outcome.id);
        words.write(status_word(outcome));
        words.write(outcome.fitness);
        for (const auto* array : arrays_of(outcome)) {
            if (!array->empty()) {
                words.write(std::span<const double>(*array));
            }
        }
        words.write(outcome.evaluations);
        words.write(outcome.env_steps);
        words.write(outcome.parameters);
        words.write(static_cast<std::uint64_t>(outcome.retries));
        words.write(outcome.genome);
    }
    archive.write(words.bytes());
}

void read_outcome(WordReader& words, evolve::Outcome& outcome) {
    outcome.id = words.word();
    const std::uint64_t word = words.word();
    const std::uint64_t status = word & status_mask;
    if (status > static_cast<std::uint64_t>(evolve::Status::failed)) {
        words.fail("an outcome has an unknown status");
    }
    outcome.status = static_cast<evolve::Status>(status);
    outcome.fitness = words.real();
    std::uint64_t present = word >> first_array_bit;
    for (auto* array : arrays_of(outcome)) {
        array->clear();
        if ((present & 1U) != 0) {
            words.read(*array);
        }
        present >>= 1;
    }
    if (present != 0) {
        words.fail("an outcome has unknown arrays");
    }
    outcome.evaluations = words.word();
    outcome.env_steps = words.word();
    outcome.parameters = words.word();
    const std::uint64_t retries = words.word();
    if (retries > std::numeric_limits<std::uint32_t>::max()) {
        words.fail("an outcome was redrawn too often");
    }
    outcome.retries = static_cast<std::uint32_t>(retries);
    outcome.genome = words.hash();
}

}  // namespace

void write_outcomes(ArchiveWriter& archive, std::span<const evolve::Outcome> outcomes) {
    archive.write(
        static_cast<std::uint64_t>((outcomes.size() + block_of_outcomes - 1) / block_of_outcomes));
    for (std::size_t first = 0; first < outcomes.size(); first += block_of_outcomes) {
        write_block(archive,
                    outcomes.subspan(first, std::min(block_of_outcomes, outcomes.size() - first)));
    }
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

}  // namespace detail

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
    archive.write(outcome.retries);
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
    archive.read(outcome.retries);
    archive.read(outcome.genome);
    return outcome;
}

}  // namespace cambrian::distributed
