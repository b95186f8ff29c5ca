#include "cambrian/engine/network/archive/archive.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cereal/archives/portable_binary.hpp>
#include <cereal/types/vector.hpp>
#include <limits>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/tests/support/network_run.hpp"

namespace cambrian::archive_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Blueprint sample() {
    return test::blueprint_of(R"({"layers": [{"type": "dense", "out": 4, "activation": "gelu"},
        {"type": "residual", "layers": [{"type": "rms_norm"}, {"type": "dense"}]},
        {"type": "rnn", "hidden": 4, "at": [0, 1, 0, 1]}, {"type": "softmax"},
        {"type": "sequential", "layers": [{"type": "layer_norm"}, {"type": "dense"}]}],
        "grid": {"rows": 2, "cols": 2, "layers_per_cell": 2}, "links": [
        {"from": "input", "to": "head"}, {"from": 1, "to": 0, "kind": "backward"}]})",
                              3, 2);
}

std::vector<std::byte> written(const Blueprint& blueprint) {
    ArchiveWriter writer;
    writer.write(blueprint);
    return writer.take();
}

Blueprint read_blueprint(std::span<const std::byte> bytes) {
    ArchiveReader reader(bytes, "test");
    Blueprint blueprint;
    reader.read(blueprint);
    reader.finish();
    return blueprint;
}

/// Whether the bytes read as a blueprint; any other outcome than that or InputError fails.
bool reads(std::span<const std::byte> bytes) {
    try {
        static_cast<void>(read_blueprint(bytes));
        return true;
    } catch (const InputError&) {
        return false;
    }
}

/// What a file had of attention when the first members were added to it.
std::vector<std::byte> attention_of_old(std::string_view type, bool more) {
    ArchiveWriter writer;
    writer.write(type);
    for (const std::int64_t number : {4, 2, 2, 2}) writer.write(number);
    writer.write(true);
    writer.write(10.0F);
    writer.write(false);
    writer.write(std::int64_t{3});
    if (more) {
        writer.write(true);
        writer.write(0.5F);
    }
    return writer.take();
}

TEST(Archive, HasOfALayerTheAdditionsThatItUses) {
    MultiHeadAttention attention{.features = 4,
                                 .heads = 2,
                                 .kv_heads = 2,
                                 .head_dim = 2,
                                 .rope_base = 10.0F,
                                 .bias = false,
                                 .window = 3};
    const auto bytes_of = [](const AnyLayer& layer) {
        ArchiveWriter writer;
        writer.write(layer);
        return writer.take();
    };
    const auto read = [](std::span<const std::byte> bytes) {
        ArchiveReader reader(bytes, "test");
        AnyLayer layer = Dense{};
        reader.read(layer);
        reader.finish();
        return layer;
    };
    EXPECT_EQ(bytes_of(attention), attention_of_old("multi_head_attention", false));
    attention.qk_norm = true;
    attention.qk_epsilon = 0.5F;
    EXPECT_EQ(bytes_of(attention), attention_of_old("multi_head_attention+", true));
    EXPECT_EQ(read(attention_of_old("multi_head_attention+", true)), AnyLayer(attention));
    attention.rope_factor = 2.0F;
    EXPECT_EQ(read(bytes_of(attention)), AnyLayer(attention));
    // One of a program to come.
    EXPECT_THROW(static_cast<void>(read(attention_of_old("multi_head_attention+++++", true))),
                 InputError);
}

TEST(Archive, IsThePortableOneOfCereal) {
    const std::vector<float> floats{1.5F, -0.0F};
    ArchiveWriter writer;
    writer.write(std::uint32_t{7});
    writer.write(-0.25);
    writer.write(std::span<const float>(floats));
    const std::vector<std::byte> bytes = writer.take();
    std::ostringstream stream;
    {
        cereal::PortableBinaryOutputArchive archive(
            stream, cereal::PortableBinaryOutputArchive::Options::LittleEndian());
        archive(std::uint32_t{7}, -0.25, floats);
    }
    const std::string text = stream.str();
    EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(text)), bytes));
    EXPECT_EQ(writer.take(), std::vector{std::byte{1}}) << "what follows is another archive";
}

TEST(Archive, KeepsEveryKindOfValue) {
    const std::vector<float> floats{1.5F, -0.0F, std::numeric_limits<float>::denorm_min()};
    const std::vector<double> doubles{0.1, std::numeric_limits<double>::max()};
    const std::vector<std::byte> raw{std::byte{0}, std::byte{255}};
    ArchiveWriter writer;
    writer.write(std::uint8_t{200});
    writer.write(std::uint32_t{4'000'000'000U});
    writer.write(std::int32_t{-5});
    writer.write(std::uint64_t{1} << 63U);
    writer.write(std::numeric_limits<std::int64_t>::min());
    writer.write(0.1F);
    writer.write(0.1);
    writer.write(true);
    writer.write(Hash128{1, 2});
    writer.write("text");
    writer.write(std::span<const float>(floats));
    writer.write(std::span<const double>(doubles));
    writer.write(std::span<const std::byte>(raw));
    const std::vector<std::byte> bytes = writer.take();

    ArchiveReader reader(bytes, "test");
    const auto expect = [&reader]<class Value>(const Value& expected) {
        Value value{};
        reader.read(value);
        EXPECT_EQ(value, expected);
    };
    expect(std::uint8_t{200});
    expect(std::uint32_t{4'000'000'000U});
    expect(std::int32_t{-5});
    expect(std::uint64_t{1} << 63U);
    expect(std::numeric_limits<std::int64_t>::min());
    expect(0.1F);
    expect(0.1);
    expect(true);
    expect(Hash128{1, 2});
    expect(std::string("text"));
    expect(floats);
    expect(doubles);
    expect(raw);
    EXPECT_EQ(reader.remaining(), 0U);
    reader.finish();
}

TEST(Archive, KeepsBlueprints) {
    Blueprint blueprint = sample();
    blueprint.slots[1]->enabled = false;
    EXPECT_EQ(read_blueprint(written(blueprint)), blueprint);
}

TEST(Archive, IsLittleEndian) {
    ArchiveWriter writer;
    writer.write(std::uint32_t{0x01020304});
    EXPECT_THAT(writer.take(), ::testing::ElementsAre(std::byte{1}, std::byte{4}, std::byte{3},
                                                      std::byte{2}, std::byte{1}));
}

TEST(Archive, AWriterStartsAfreshAfterItsBytesWereTaken) {
    ArchiveWriter writer;
    writer.write(std::int32_t{1});
    const std::vector<std::byte> first = writer.take();
    writer.write(std::int32_t{1});
    EXPECT_EQ(writer.take(), first);
}

TEST(Archive, RefusesEveryTruncation) {
    const std::vector<std::byte> bytes = written(sample());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_FALSE(reads(std::span(bytes).first(length))) << length;
}

TEST(Archive, RefusesBytesLeftOver) {
    std::vector<std::byte> bytes = written(sample());
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(reads(bytes));
}

TEST(Archive, SurvivesADamagedByteAnywhere) {
    const std::vector<std::byte> bytes = written(sample());
    int refused = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
            std::vector<std::byte> damaged = bytes;
            damaged[i] ^= std::byte(flip);
            refused += reads(damaged) ? 0 : 1;
        }
    }
    EXPECT_GT(refused, static_cast<int>(bytes.size()));
}

TEST(Archive, SurvivesRandomBytes) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        RandomStream rng(random_key(1, "bytes"), seed);
        std::vector<std::byte> bytes(rng.index(200), std::byte{0});
        for (std::byte& byte : bytes) byte = std::byte(rng.bits() & 3U);
        if (!bytes.empty()) bytes[0] = std::byte{1};
        EXPECT_FALSE(reads(bytes));
    }
}

TEST(Archive, ChecksLengthsBeforeItAllocates) {
    for (const std::uint64_t length :
         {std::uint64_t{9}, std::uint64_t{1} << 40U, ~std::uint64_t{0}}) {
        ArchiveWriter writer;
        writer.write(length);
        writer.write(std::uint64_t{0});
        const std::vector<std::byte> bytes = writer.take();
        const auto refuses = [&bytes](auto value) {
            ArchiveReader reader(bytes, "genome.cmb");
            EXPECT_THAT(
                [&] { reader.read(value); },
                ThrowsMessage<InputError>(AllOf(HasSubstr("genome.cmb"), HasSubstr("a count of"))));
        };
        refuses(std::string());
        refuses(std::vector<float>());
        refuses(std::vector<double>());
        refuses(std::vector<std::byte>());
    }
}

TEST(Archive, RefusesValuesThatDoNotExist) {
    const auto refuses_layer = [](auto write, const char* part) {
        ArchiveWriter writer;
        write(writer);
        const std::vector<std::byte> bytes = writer.take();
        ArchiveReader reader(bytes, "test");
        AnyLayer layer;
        EXPECT_THAT([&] { reader.read(layer); }, ThrowsMessage<InputError>(HasSubstr(part)));
    };
    refuses_layer([](ArchiveWriter& writer) { writer.write("dence"); },
                  "\"dence\" is not a layer type");
    refuses_layer(
        [](ArchiveWriter& writer) {
            writer.write("dense");
            writer.write(std::int64_t{-1});
        },
        "width");
    refuses_layer(
        [](ArchiveWriter& writer) {
            writer.write("dense");
            writer.write(std::int64_t{1});
            writer.write(std::int64_t{1});
            writer.write(true);
            writer.write("cubical");
        },
        "activation");
    refuses_layer([](ArchiveWriter& writer) { writer.write(RmsNorm{.epsilon = -1.0F}); },
                  "epsilon");
    AnyLayer deep;
    for (int i = 0; i < 16; ++i) {
        Sequential outer;
        outer.layers.push_back(deep);
        deep = outer;
    }
    refuses_layer([&deep](ArchiveWriter& writer) { writer.write(deep); }, "nested too deeply");
}

TEST(Archive, LayersThatAreNotThereTakeNoMemory) {
    constexpr std::size_t levels = 8;
    constexpr std::size_t zeros = std::size_t{4} << 20U;
    const auto peak_megabytes = [] {
        rusage usage{};
        getrusage(RUSAGE_SELF, &usage);
        return usage.ru_maxrss >> 10U;
    };
    ArchiveWriter writer;
    for (std::size_t i = 0; i < levels; ++i) {
        writer.write("sequential");
        writer.write(std::uint64_t{zeros / 9});
    }
    writer.append(std::vector<std::byte>(zeros));
    const std::vector<std::byte> bytes = writer.take();
    ArchiveReader reader(bytes, "test");
    AnyLayer layer;
    const long before = peak_megabytes();
    EXPECT_THAT([&] { reader.read(layer); },
                ThrowsMessage<InputError>(HasSubstr("\"\" is not a layer type")));
    EXPECT_LT(peak_megabytes() - before, 64);
}

/// A blueprint up to its slots.
std::vector<std::byte> beginning(std::span<const std::int64_t> input, std::int32_t depth) {
    ArchiveWriter writer;
    writer.write(std::int64_t{1});
    writer.write(std::int64_t{1});
    writer.write(static_cast<std::uint8_t>(input.size()));
    for (const std::int64_t extent : input) writer.write(extent);
    writer.write(std::uint8_t{0});
    for (const std::int32_t extent : {depth, 1, 1, 1}) writer.write(extent);
    return writer.take();
}

TEST(Archive, RefusesAGridThatTheBytesDoNotJustify) {
    const auto with_depth = [](std::int32_t depth) {
        return [bytes = beginning({}, depth)] { (void)read_blueprint(bytes); };
    };
    EXPECT_THAT(with_depth(1 << 16), ThrowsMessage<InputError>(HasSubstr("ends too early")));
    EXPECT_THAT(with_depth((1 << 16) + 1), ThrowsMessage<InputError>(HasSubstr("too large")));
}

TEST(Archive, RefusesAnInputOfTooManyElements) {
    constexpr std::array<std::int64_t, 3> extents{1 << 24, 1 << 24, 1 << 24};
    EXPECT_THAT([&] { (void)read_blueprint(beginning(extents, 1)); },
                ThrowsMessage<InputError>(HasSubstr("cannot be read")));
}

}  // namespace
}  // namespace cambrian::archive_test
