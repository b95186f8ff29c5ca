#include "cambrian/evolve/runs/individual_log.hpp"

#include <bit>
#include <filesystem>
#include <limits>
#include <string>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/io/packed_column.hpp"
#include "cambrian/engine/network/archive/archive.hpp"

namespace cambrian::distributed {

std::filesystem::path individual_log_in(const std::filesystem::path& directory) {
    std::filesystem::path file = directory / individuals_name;
    std::error_code missing;
    if (std::filesystem::exists(file, missing)) return file;
    if (!std::filesystem::is_directory(directory, missing))
        throw InputError("there is no run in " + directory.string() +
                         " (no such directory) name the directory of a run");
    throw InputError(file.string() +
                     " is not there (log.individuals is none, or nothing was run) set "
                     "log.individuals to survivors or all, and go on with the run");
}

namespace {

using evolve::BirthId;

constexpr std::string_view block_kind = "individuals";
constexpr std::uint64_t largest_about = 1024;
/// A column of numbers that have nothing in common.
constexpr std::uint64_t largest_column = 9 + 8 * max_block_individuals;

/// A column holds a number of each individual. `set` gives false for one that cannot be.
struct Column {
    std::uint64_t (*get)(const LoggedIndividual&);
    bool (*set)(LoggedIndividual&, std::uint64_t value);
};

/// How far back a parent was born; 0: there is none.
template <std::size_t Index>
constexpr Column parent_column{[](const LoggedIndividual& of) {
                                   return Index < of.parent_count ? of.id - of.parents[Index] : 0;
                               },
                               [](LoggedIndividual& of, std::uint64_t value) {
                                   if (value > of.id || (value > 0 && of.parent_count < Index))
                                       return false;
                                   if (value > 0) {
                                       of.parents[Index] = of.id - value;
                                       of.parent_count = Index + 1;
                                   }
                                   return true;
                               }};

/// In the order of the file, after the ids.
constexpr std::array columns{
    Column{[](const LoggedIndividual& of) { return static_cast<std::uint64_t>(of.recipe); },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.recipe = static_cast<evolve::Recipe>(value);
               return value < evolve::recipe_names.size();
           }},
    parent_column<0>, parent_column<1>,
    Column{[](const LoggedIndividual& of) { return static_cast<std::uint64_t>(of.status); },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.status = static_cast<evolve::Status>(value);
               return value < evolve::status_names.size();
           }},
    Column{[](const LoggedIndividual& of) { return std::bit_cast<std::uint64_t>(of.fitness); },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.fitness = std::bit_cast<double>(value);
               return true;
           }},
    Column{[](const LoggedIndividual& of) { return std::uint64_t{of.evaluated}; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.evaluated = value == 1;
               return value <= 1;
           }},
    Column{[](const LoggedIndividual& of) { return of.env_steps; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.env_steps = value;
               return true;
           }},
    Column{[](const LoggedIndividual& of) { return of.parameters; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.parameters = value;
               return true;
           }},
    Column{[](const LoggedIndividual& of) { return std::uint64_t{of.retries}; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.retries = static_cast<std::uint32_t>(value);
               return value <= std::numeric_limits<std::uint32_t>::max();
           }},
    Column{[](const LoggedIndividual& of) { return of.id - of.origin; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.origin = of.id - value;
               return value <= of.id;
           }},
    Column{[](const LoggedIndividual& of) { return std::uint64_t{of.island}; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.island = static_cast<std::uint32_t>(value);
               return value <= std::numeric_limits<std::uint32_t>::max();
           }},
    // From format 2 on.
    Column{[](const LoggedIndividual& of) { return of.species; },
           [](LoggedIndividual& of, std::uint64_t value) {
               of.species = value;
               return true;
           }}};

std::span<const Column> columns_of(bool species) {
    return std::span(columns).first(columns.size() - (species ? 0 : 1));
}

constexpr std::array<WantedSection, 2> block_sections{
    {{"about", largest_about}, {"columns", (1 + columns.size()) * largest_column}}};

/// Ids as the gaps between them, the first apart.
std::vector<std::uint64_t> gaps_of(std::span<const LoggedIndividual> individuals) {
    std::vector<std::uint64_t> gaps(individuals.size(), 1);
    for (std::size_t i = 1; i < individuals.size(); ++i) {
        gaps[i] = individuals[i].id - individuals[i - 1].id;
    }
    return gaps;
}

/// Takes columns from the front of bytes.
class ColumnReader {
  public:
    ColumnReader(std::span<const std::byte> bytes, std::size_t count, const ArchiveReader& about)
        : rest_(bytes), count_(count), about_(about) {}

    [[nodiscard]] std::vector<std::uint64_t> next() {
        std::optional<std::vector<std::uint64_t>> column = unpack_column(rest_, count_);
        if (!column) {
            about_.fail("it has too few columns");
        }
        return *std::move(column);
    }
    void finish() const {
        if (!rest_.empty()) {
            about_.fail("it has more than its columns");
        }
    }

  private:
    std::span<const std::byte> rest_;
    std::size_t count_;
    const ArchiveReader& about_;
};

void read_ids(ColumnReader& reader, BirthId first, std::vector<LoggedIndividual>& individuals,
              const ArchiveReader& about) {
    const std::vector<std::uint64_t> gaps = reader.next();
    BirthId id = first;
    for (std::size_t i = 0; i < individuals.size(); ++i) {
        const bool rises = gaps[i] > 0 && gaps[i] <= std::numeric_limits<BirthId>::max() - id;
        if (i == 0 ? gaps[i] != 1 : !rises) {
            about.fail("its individuals are out of order");
        }
        id += i == 0 ? 0 : gaps[i];
        individuals[i].id = id;
    }
}

IndividualBlock block_of(const Container& container, const std::string& source) {
    if (container.kind != block_kind) {
        throw InputError(source + " holds no individuals (it is a " + container.kind +
                         " file) name " + individuals_name + " of a run");
    }
    ArchiveReader about(container.section("about"), source);
    IndividualBlock block;
    block.species = about.read_format("block of individuals", 1, individuals_format) > 1;
    std::uint32_t count = 0;
    BirthId first = 0;
    about.read(block.generation);
    about.read(block.islands);
    about.read(count);
    about.read(first);
    about.finish();
    if (count > max_block_individuals) {
        about.fail("it claims " + std::to_string(count) + " individuals");
    }
    ColumnReader reader(container.section("columns"), count, about);
    block.individuals.resize(count);
    read_ids(reader, first, block.individuals, about);
    for (const Column& column : columns_of(block.species)) {
        const std::vector<std::uint64_t> values = reader.next();
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (!column.set(block.individuals[i], values[i])) {
                about.fail("an individual has a value that cannot be");
            }
        }
    }
    reader.finish();
    return block;
}

}  // namespace

std::vector<std::byte> encode(const IndividualBlock& block) {
    const std::size_t count = block.individuals.size();
    CAMBRIAN_ASSERT(count <= max_block_individuals);
    ArchiveWriter about;
    about.write(block.species ? individuals_format : 1U);
    about.write(block.generation);
    about.write(block.islands);
    about.write(static_cast<std::uint32_t>(count));
    about.write(count == 0 ? BirthId{0} : block.individuals.front().id);
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> values = gaps_of(block.individuals);
    pack_column(bytes, values);
    for (const Column& column : columns_of(block.species)) {
        for (std::size_t i = 0; i < count; ++i) {
            values[i] = column.get(block.individuals[i]);
        }
        pack_column(bytes, values);
    }
    Container container{std::string(block_kind), {}};
    container.add("about", about.take());
    container.add("columns", std::move(bytes));
    return cambrian::encode(container);
}

IndividualBlock decode_individuals(std::span<const std::byte> bytes, std::string_view source) {
    return block_of(decode_container(bytes, source, block_sections), std::string(source));
}

IndividualReader::IndividualReader(std::filesystem::path path)
    : path_(std::move(path)), sequence_(path_, block_kind, block_sections), head_(read()) {}

std::optional<IndividualBlock> IndividualReader::read() {
    const std::uint64_t begin = sequence_.position();
    const std::optional<Container> container = sequence_.next();
    if (!container) {
        return std::nullopt;
    }
    const std::string source = path_.string() + ", from byte " + std::to_string(begin) + " on,";
    const auto fail = [&](const char* why) {
        throw InputError(source + " cannot be read (" + why + ") restore it from a good copy");
    };
    IndividualBlock block = block_of(*container, source);
    if (block.individuals.empty() != (begin == 0)) {
        fail("its head is missing, or is not at its beginning");
    }
    if (begin == 0) {
        return block;
    }
    if (block.islands != islands()) {
        fail("its generations are partly those of islands");
    }
    if (block.species != species()) {
        fail("its generations are partly those of species");
    }
    if (block.generation < next_generation_ || block.individuals.front().id < next_id_) {
        fail("its generations are out of order");
    }
    next_generation_ = block.generation;
    next_id_ = block.individuals.back().id + 1;
    return block;
}

std::optional<IndividualBlock> IndividualReader::next() {
    return head_ ? read() : std::nullopt;
}

}  // namespace cambrian::distributed
