#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"

// Storage formats on the device: the codes and the numbers of the CPU in every bit.
namespace cambrian {
namespace {

using test::Words;

class VulkanFormats : public test::UnfusedTest {};

TEST_F(VulkanFormats, EveryCodeGivesTheNumberOfTheCpu) {
    Backend& vulkan = backend(Math::fast);
    for (const NumberFormatRow& format : number_format_rows) {
        const std::uint32_t in_word = 32U / format.bits;
        const std::uint32_t codes = 1U << format.bits;
        Words words(codes / in_word, 0U);
        for (std::uint32_t code = 0; code < codes; ++code)
            words[code / in_word] |= code << (code % in_word * format.bits);
        Graph graph;
        const Var x =
            graph.input("x", ValueType::integer, {static_cast<std::int64_t>(words.size())});
        graph.output(decode(x, format.format, codes));
        test::expect_equal_to_cpu(vulkan, graph, 1, {words}, format.name);
    }
}

TEST_F(VulkanFormats, NumbersOfAllBitsGiveTheCodesOfTheCpu) {
    Backend& vulkan = backend(Math::fast);
    // Every exponent with the fractions around the halves of all formats, then any bits.
    Words words;
    for (std::uint32_t top = 0; top < 1U << 12U; ++top)
        for (const std::uint32_t rest : {0U, 1U, 0x7FFFFU, 0x80000U, 0x80001U, 0x8000U, 0x7FFFU,
                                         0x1000U, 0xFFFU, 0x1001U, 0xFFFFFU})
            words.push_back(top << 20U | rest);
    const Words hashed = test::hashed_words(std::size_t{1} << 20U, 5);
    words.insert(words.end(), hashed.begin(), hashed.end());
    for (const NumberFormatRow& format : number_format_rows) {
        Graph graph;
        const Var x = graph.input("x", ValueType::real, {static_cast<std::int64_t>(words.size())});
        graph.output(encode(x, format.format));
        test::expect_equal_to_cpu(vulkan, graph, 1, {words}, format.name);
    }
}

TEST_F(VulkanFormats, RowsOfIndividualsArePaddedOneByOne) {
    Backend& vulkan = backend(Math::fast);
    for (const NumberFormatRow& format : number_format_rows)
        for (const std::int64_t length : {1, 3, 4, 17, 65}) {
            Graph graph;
            const Var x = graph.input("x", ValueType::real, {3, length}, true);
            const Var words = encode(x, format.format);
            graph.output(words);
            graph.output(decode(words, format.format, length));
            test::expect_equal_to_cpu(
                vulkan, graph, 5, {test::uniform_words(static_cast<std::size_t>(15 * length), 9)},
                format.name);
        }
}

}  // namespace
}  // namespace cambrian
