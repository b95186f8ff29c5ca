#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/gpu/codegen/fused/expressions.hpp"
#include "cambrian/tests/gpu/support/word_support.hpp"
#include "cambrian/tests/support/all_cases.hpp"
#include "cambrian/tests/support/op_types.hpp"

// Every elementwise op on the device against the CPU backend: no bit differs, whatever the operand.
namespace cambrian {
namespace {

using test::Words;

class VulkanElementwise : public test::UnfusedTest {};

/// Words at random besides the special ones; more of them at night.
std::size_t hashed_count() {
    return std::size_t{1} << (test::all_cases() ? 20U : 16U);
}

constexpr std::uint32_t sign_bit = 0x80000000U;

/// Bits of floats where something changes: classes, powers of two and halfway cases, with their
/// neighbours and both signs.
Words special_reals() {
    Words words{0,          1,          2,          0x007FFFFF, 0x00800000,
                0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF};
    for (std::uint32_t exponent = 1; exponent<255; exponent += exponent> 96 ? 1 : 5)
        words.push_back(exponent << 23U);
    for (const float x :
         {0.5F,       1.5F,        2.5F,        3.5F,          0.49999997F,  8388607.5F,
          8388608.0F, 3.14159265F, 1.57079633F, 0.785398163F,  8192.0F,      88.0F,
          88.72284F,  87.3F,       103.9F,      104.0F,        9.0F,         9.5F,
          0.625F,     0.1F,        1e10F,       2147483647.0F, 2147483520.0F})
        words.push_back(std::bit_cast<std::uint32_t>(x));
    const std::size_t exact = words.size();
    for (std::size_t i = 0; i < exact; ++i) {
        words.push_back(words[i] + 1U);
        if (words[i] > 0) words.push_back(words[i] - 1U);
    }
    const std::size_t positive = words.size();
    for (std::size_t i = 0; i < positive; ++i) words.push_back(words[i] | sign_bit);
    return words;
}

Words special_integers() {
    Words words;
    for (const std::uint32_t x : {0U, 1U, 2U, 3U, 7U, 100U, 65535U, 65536U, 16777215U, 16777216U,
                                  16777217U, 0x7FFFFFFEU, 0x7FFFFFFFU}) {
        words.push_back(x);
        words.push_back(0U - x);
    }
    words.push_back(sign_bit);
    return words;
}

Words special_words(ValueType type) {
    if (type == ValueType::real) return special_reals();
    return type == ValueType::integer ? special_integers() : Words{0, 1};
}

Words hashed_of(ValueType type, std::uint64_t seed) {
    Words words = test::hashed_words(hashed_count(), seed);
    if (type == ValueType::boolean)
        for (std::uint32_t& word : words) word &= 1U;
    return words;
}

/// Operands: every special word with every other, then hashed words.
std::vector<Words> crossed_operands(const std::vector<ValueType>& types) {
    std::vector<Words> operands(types.size());
    std::vector<Words> specials;
    for (const ValueType type : types) specials.push_back(special_words(type));
    std::size_t total = 1;
    for (const Words& words : specials) total *= words.size();
    for (std::size_t i = 0; i < total; ++i) {
        std::size_t rest = i;
        for (std::size_t k = 0; k < types.size(); ++k) {
            operands[k].push_back(specials[k][rest % specials[k].size()]);
            rest /= specials[k].size();
        }
    }
    for (std::size_t k = 0; k < types.size(); ++k) {
        const Words hashed = hashed_of(types[k], k + 1);
        operands[k].insert(operands[k].end(), hashed.begin(), hashed.end());
    }
    return operands;
}

void expect_op_equal(Backend& backend, Op op, const std::vector<ValueType>& types,
                     const Attributes& attributes = {}) {
    const std::vector<Words> operands = crossed_operands(types);
    const Shape shape{static_cast<std::int64_t>(operands[0].size())};
    Graph graph;
    std::vector<Var> inputs;
    std::string label(name(op));
    for (const ValueType type : types) {
        inputs.push_back(graph.input("x" + std::to_string(inputs.size()), type, shape));
        label += " " + std::string(name(type));
    }
    graph.output(graph.add(op, inputs, attributes));
    test::expect_equal_to_cpu(backend, graph, 1, operands, label);
}

constexpr ValueType real = ValueType::real;
constexpr ValueType integer = ValueType::integer;
constexpr ValueType boolean = ValueType::boolean;

struct Signature {
    Op op;
    std::vector<ValueType> types;
};

bool by_code(Op op) {
    return op == Op::activate || op == Op::activate_any;
}

/// Every elementwise op for all types it takes. Casts and activations are tried on their own, and
/// integers by zero are an error.
std::vector<Signature> elementwise_ops() {
    std::vector<Signature> all;
    for (const OpInfo& op : op_table()) {
        if (!is_elementwise(op.op) || op.op == Op::cast || by_code(op.op)) continue;
        for (const std::vector<ValueType>& types : test::types_of(op))
            if (op.op != Op::div || types[0] == real) all.push_back({op.op, types});
    }
    return all;
}

TEST_F(VulkanElementwise, OpsHaveTheBitsOfTheCpu) {
    Backend& vulkan = backend(Math::fast);
    for (const Signature& each : elementwise_ops()) expect_op_equal(vulkan, each.op, each.types);
}

TEST_F(VulkanElementwise, CastsHaveTheBitsOfTheCpu) {
    Backend& vulkan = backend(Math::strict);
    for (const ValueType from : {real, integer, boolean})
        for (const ValueType to : {real, integer, boolean})
            expect_op_equal(vulkan, Op::cast, {from}, CastAttribute{to});
}

TEST_F(VulkanElementwise, ActivationsHaveTheBitsOfTheCpu) {
    Backend& vulkan = backend(Math::fast);
    Words x = special_reals();
    const Words hashed = test::hashed_words(hashed_count(), 7);
    x.insert(x.end(), hashed.begin(), hashed.end());
    Words codes{0xFFFFFFFFU};
    for (std::uint32_t code = 0; code <= activation_names.size(); ++code) codes.push_back(code);
    for (const Op op : {Op::activate, Op::activate_any}) {
        Graph graph;
        const Var input = graph.input("x", real, Shape{static_cast<std::int64_t>(x.size())});
        const Var code = graph.input("code", integer, Shape{}, true);
        graph.output(graph.add(op, std::vector{input, code}));
        test::expect_equal_to_cpu(vulkan, graph, static_cast<std::int64_t>(codes.size()),
                                  {x, codes}, std::string(name(op)));
    }
}

/// Operand shapes that meet a result of shape [3, 5, 4] in every way.
TEST_F(VulkanElementwise, OperandsAreBroadcastAlongEveryAxis) {
    Backend& vulkan = backend(Math::fast);
    const std::vector<Shape> shapes{{3, 5, 4}, {5, 4},    {4},       {},        {3, 1, 1},
                                    {1, 5, 1}, {3, 1, 4}, {1, 1, 4}, {3, 5, 1}, {1}};
    for (const Shape& a : shapes)
        for (const Shape& b : shapes)
            for (const std::size_t own : {0U, 1U, 2U, 3U}) {
                Graph graph;
                const Var x = graph.input("a", real, a, (own & 1U) != 0);
                const Var y = graph.input("b", real, b, (own & 2U) != 0);
                graph.output(x - y);
                const std::int64_t population = own == 0 ? 1 : 5;
                const std::vector<Words> inputs{
                    test::uniform_words(test::bound_words(graph, x.id, population), 1),
                    test::uniform_words(test::bound_words(graph, y.id, population), 2)};
                test::expect_equal_to_cpu(vulkan, graph, population, inputs,
                                          a.text() + " - " + b.text());
            }
}

TEST_F(VulkanElementwise, OddSizesAndManyWorkgroupsAreWhole) {
    Backend& vulkan = backend(Math::fast);
    for (const std::int64_t length : {1, 3, 17, 65, 257, 4199999}) {
        Graph graph;
        const Var x = graph.input("x", real, Shape{length});
        graph.output(x * 3.0);
        const auto words = test::uniform_words(static_cast<std::size_t>(length), 3);
        test::expect_equal_to_cpu(vulkan, graph, 1, {words}, std::to_string(length));
    }
}

TEST(Expressions, LiteralsOfSpecialValuesAreBits) {
    EXPECT_EQ(gpu::literal(1.0F), "1.0");
    EXPECT_EQ(gpu::literal(-0.5F), "(-0.5)");
    EXPECT_EQ(gpu::literal(0.0F), "0.0");
    EXPECT_EQ(gpu::literal(-0.0F), "uintBitsToFloat(0x80000000U)");
    EXPECT_EQ(gpu::literal(std::numeric_limits<float>::infinity()), "uintBitsToFloat(0x7F800000U)");
    EXPECT_EQ(gpu::literal(std::bit_cast<float>(1U)), "uintBitsToFloat(0x00000001U)");
}

TEST(Expressions, AreCallsOnTheirOperands) {
    const std::vector<std::string> operands{"x", "y"};
    const std::vector<ValueType> types{real, real};
    EXPECT_EQ(gpu::expression(Op::add, operands, types, real), "op_add(x, y)");
    EXPECT_EQ(gpu::expression(Op::cast, std::vector<std::string>{"x"}, std::vector{real}, integer),
              "op_real_to_integer(x)");
    EXPECT_EQ(gpu::expression(Op::cast, std::vector<std::string>{"x"}, std::vector{real}, real),
              "x");
}

TEST(WordFunctions, OpsThatComputeTheSameOfWordsShareOne) {
    const std::vector one_real{real};
    const std::vector one_boolean{boolean};
    const std::vector two_integers{integer, integer};
    EXPECT_EQ(gpu::word_function(Op::stop_gradient, one_real, real), gpu::copy_function);
    EXPECT_EQ(gpu::word_function(Op::cast, one_boolean, integer), gpu::copy_function);
    EXPECT_EQ(gpu::word_function(Op::equal, std::vector{boolean, boolean}, boolean),
              gpu::word_function(Op::equal, two_integers, boolean));
    EXPECT_NE(gpu::word_function(Op::add, std::vector{real, real}, real),
              gpu::word_function(Op::add, two_integers, integer));
}

TEST(WordFunctions, AreCasesOfOneText) {
    const auto is_case = [](const gpu::WordFunction& function, const std::string& expression) {
        return gpu::elementwise_source().find("case " + std::to_string(function.number) +
                                              "U: return " + expression + ";") != std::string::npos;
    };
    const gpu::WordFunction tanh = gpu::word_function(Op::tanh, std::vector{real}, real);
    EXPECT_TRUE(is_case(tanh, "floatBitsToUint(own_tanh(uintBitsToFloat(a)))"));
    EXPECT_EQ(tanh.constant(), tanh.number);
    const gpu::WordFunction sign = gpu::word_function(Op::sign, std::vector{integer}, integer);
    EXPECT_TRUE(is_case(sign, "uint(op_sign(int(a)))"));
    EXPECT_TRUE(sign.chosen_late);
}

}  // namespace
}  // namespace cambrian
