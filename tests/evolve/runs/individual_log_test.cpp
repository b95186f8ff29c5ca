#include "cambrian/evolve/runs/individual_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/hash.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::distributed {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

LoggedIndividual founder(evolve::BirthId id, double fitness) {
    return {.id = id,
            .recipe = evolve::Recipe::sample,
            .fitness = fitness,
            .evaluated = true,
            .env_steps = 500,
            .parameters = 17,
            .retries = 2,
            .origin = id};
}

/// Every recipe, every status, and numbers at the ends of their ranges.
IndividualBlock some_block() {
    LoggedIndividual carried = founder(41, -0.0);
    carried.recipe = evolve::Recipe::carry;
    carried.parents = {30};
    carried.parent_count = 1;
    carried.evaluated = false;
    carried.env_steps = carried.parameters = carried.retries = 0;
    carried.origin = 0;
    LoggedIndividual child = founder(49, 1.0 / 3.0);
    child.recipe = evolve::Recipe::vary;
    child.parents = {31, 0};
    child.parent_count = 2;
    child.parameters = std::numeric_limits<std::uint64_t>::max();
    child.retries = std::numeric_limits<std::uint32_t>::max();
    child.island = 7;
    LoggedIndividual failed = founder(50, evolve::worst_fitness);
    failed.status = evolve::Status::failed;
    LoggedIndividual infinite = founder(1U << 20U, evolve::worst_fitness);
    infinite.status = evolve::Status::non_finite;
    return {4, true, {founder(40, 1e300), carried, child, failed, infinite}};
}

TEST(IndividualLog, ReadsBackAsItWasWritten) {
    const IndividualBlock block = some_block();
    EXPECT_EQ(decode_individuals(encode(block), "test"), block);
    EXPECT_TRUE(std::signbit(decode_individuals(encode(block), "test").individuals[1].fitness));
    for (const IndividualBlock& small :
         {IndividualBlock{0, false, {founder(0, 0.5)}}, IndividualBlock{0, true, {}}}) {
        EXPECT_EQ(decode_individuals(encode(small), "test"), small);
    }
}

TEST(IndividualLog, HasAColumnOfSpeciesWhereThereAreSpecies) {
    IndividualBlock block = some_block();
    const std::vector<std::byte> without = encode(block);
    block.species = true;
    block.individuals[0].species = 12;
    block.individuals[2].species = std::uint64_t{1} << 40U;
    const std::vector<std::byte> with = encode(block);
    EXPECT_EQ(decode_individuals(with, "test"), block);
    EXPECT_FALSE(decode_individuals(without, "test").species);
    // What has no species is as it was before there were any.
    block.species = false;
    EXPECT_EQ(encode(block), without);
}

TEST(IndividualLog, TakesFewBytes) {
    RandomStream rng(random_key(1, "log"), 0);
    IndividualBlock block{9, false, {}};
    for (std::uint64_t i = 0; i < 10'000; ++i) {
        LoggedIndividual child = founder(90'000 + i, static_cast<float>(rng.uniform()));
        child.recipe = evolve::Recipe::vary;
        child.parents = {80'000 + rng.index(10'000)};
        child.parent_count = 1;
        child.origin = child.id;
        block.individuals.push_back(child);
    }
    const std::vector<std::byte> bytes = encode(block);
    EXPECT_LT(bytes.size(), 8 * block.individuals.size());
    EXPECT_EQ(decode_individuals(bytes, "test"), block);
}

TEST(IndividualLog, AnyChangedByteAndAnyOtherLengthIsAnError) {
    const std::vector<std::byte> whole = encode(some_block());
    for (std::size_t at = 0; at < whole.size(); ++at) {
        std::vector<std::byte> bad = whole;
        bad[at] ^= std::byte{0x20};
        EXPECT_THROW(static_cast<void>(decode_individuals(bad, "test")), InputError) << at;
        EXPECT_THROW(static_cast<void>(decode_individuals(std::span(whole).first(at), "test")),
                     InputError)
            << at;
    }
}

/// Changes plain bytes of a section under checksums that are right.
TEST(IndividualLog, HostileBytesAreErrorsOrOtherIndividuals) {
    const IndividualBlock block = some_block();
    const Container whole = decode_container(encode(block), "test");
    std::size_t refused = 0;
    for (std::size_t section = 0; section < whole.sections.size(); ++section) {
        for (std::size_t at = 0; at < whole.sections[section].bytes.size(); ++at) {
            for (const unsigned change : {0x01U, 0x10U, 0xFFU}) {
                Container bad = whole;
                bad.sections[section].bytes[at] ^= std::byte{static_cast<unsigned char>(change)};
                try {
                    EXPECT_NE(decode_individuals(cambrian::encode(bad), "test"), block)
                        << section << " " << at;
                } catch (const InputError& error) {
                    EXPECT_THAT(error.what(), HasSubstr("test"));
                    ++refused;
                }
            }
        }
    }
    EXPECT_GT(refused, 100U);
}

TEST(IndividualLog, OtherContainersAreRefused) {
    Container other = decode_container(encode(some_block()), "test");
    other.kind = "network";
    EXPECT_THAT([&] { static_cast<void>(decode_individuals(cambrian::encode(other), "a.cmb")); },
                ThrowsMessage<InputError>(::testing::AllOf(HasSubstr("a.cmb holds no individuals"),
                                                           HasSubstr("network"))));
}

const IndividualBlock head{0, false, {}};

class IndividualReaderTest : public ::testing::Test {
  protected:
    IndividualReaderTest() {
        std::string name = (fs::temp_directory_path() / "cambrian-individuals-XXXXXX").string();
        folder_ = mkdtemp(name.data());
        path_ = folder_ / individuals_name;
    }
    ~IndividualReaderTest() override {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
    }
    void append(const IndividualBlock& block) const {
        const std::vector<std::byte> bytes = encode(block);
        std::ofstream(path_, std::ios::binary | std::ios::app)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
    }

    fs::path folder_;
    fs::path path_;
};

TEST_F(IndividualReaderTest, ReadsBlockAfterBlock) {
    const std::vector<IndividualBlock> blocks{{2, false, {founder(20, 0.5), founder(22, 0.25)}},
                                              {2, false, {founder(23, 1.0)}},
                                              {5, false, {founder(50, 0.5)}}};
    append(head);
    for (const IndividualBlock& block : blocks) {
        append(block);
    }
    IndividualReader reader(path_);
    EXPECT_FALSE(reader.islands());
    for (const IndividualBlock& block : blocks) {
        EXPECT_EQ(reader.next(), block);
    }
    EXPECT_EQ(reader.next(), std::nullopt);
    EXPECT_FALSE(reader.cut_short());
}

TEST_F(IndividualReaderTest, SaysWhereTheFileIsCutShort) {
    append(head);
    append({0, false, {founder(0, 0.5)}});
    const std::uintmax_t first = fs::file_size(path_);
    append({1, false, {founder(10, 0.5)}});
    for (std::uintmax_t size = fs::file_size(path_); size-- > first + 1;) {
        fs::resize_file(path_, size);
        IndividualReader reader(path_);
        EXPECT_TRUE(reader.next().has_value());
        EXPECT_EQ(reader.next(), std::nullopt) << size;
        EXPECT_TRUE(reader.cut_short()) << size;
    }
}

TEST_F(IndividualReaderTest, BlocksOutOfOrderAreRefused) {
    for (const IndividualBlock& second :
         {IndividualBlock{3, false, {founder(60, 0.5)}}, {4, false, {founder(50, 0.5)}}}) {
        fs::remove(path_);
        append(head);
        append({4, false, {founder(40, 0.5), founder(50, 0.5)}});
        append(second);
        IndividualReader reader(path_);
        EXPECT_TRUE(reader.next().has_value());
        EXPECT_THAT([&] { static_cast<void>(reader.next()); },
                    ThrowsMessage<InputError>(HasSubstr("out of order")));
    }
}

TEST_F(IndividualReaderTest, AHeadIsAtTheBeginningAndSpeaksForAll) {
    const IndividualBlock block{4, false, {founder(40, 0.5)}};
    append(block);
    EXPECT_THAT([&] { IndividualReader reader(path_); },
                ThrowsMessage<InputError>(HasSubstr("head is missing")));
    for (const IndividualBlock& second : {head, IndividualBlock{4, true, block.individuals}}) {
        fs::remove(path_);
        append(head);
        append(second);
        IndividualReader reader(path_);
        EXPECT_THROW(static_cast<void>(reader.next()), InputError);
    }
    fs::resize_file(path_, 20);
    IndividualReader cut(path_);
    EXPECT_EQ(cut.next(), std::nullopt);
    EXPECT_TRUE(cut.cut_short());
}

}  // namespace
}  // namespace cambrian::distributed
