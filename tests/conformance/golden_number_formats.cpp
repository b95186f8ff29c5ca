#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"

namespace cambrian::test {

namespace {

/// A format under the name that the file has for it.
struct GoldenFormat {
    std::string name;
    NumberFormat format;
};
const std::array formats{
    GoldenFormat{"float16", NumberFormat::f16},     GoldenFormat{"bfloat16", NumberFormat::bf16},
    GoldenFormat{"fp8e4m3", NumberFormat::f8_e4m3}, GoldenFormat{"fp8e5m2", NumberFormat::f8_e5m2},
    GoldenFormat{"fp4", NumberFormat::f4_e2m1},
};

/// Packs codes as a row of words.
Tensor packed(const std::vector<double>& codes, NumberFormat format) {
    const auto count = static_cast<std::int64_t>(codes.size());
    const std::uint32_t bits = row(format).bits;
    std::vector<std::uint32_t> words(static_cast<std::size_t>(words_of(format, count)));
    for (std::size_t i = 0; i < codes.size(); ++i)
        words[i * bits / 32] |= static_cast<std::uint32_t>(codes[i]) << (i * bits % 32);
    Tensor result(ValueType::integer, {static_cast<std::int64_t>(words.size())});
    for (std::size_t i = 0; i < words.size(); ++i)
        result.elements[i] = static_cast<double>(static_cast<std::int32_t>(words[i]));
    return result;
}

Tensor decoded(Backend& backend, const std::vector<double>& codes, NumberFormat format) {
    const Tensor words = packed(codes, format);
    Graph graph;
    const Var input = graph.input("words", words.type, words.shape);
    graph.output(decode(input, format, static_cast<std::int64_t>(codes.size())));
    return evaluate(backend, graph, 1, std::array{words}).front();
}

Tensor encoded(Backend& backend, const Tensor& values, NumberFormat format) {
    Graph graph;
    const Var input = graph.input("values", values.type, values.shape);
    graph.output(encode(input, format));
    return evaluate(backend, graph, 1, std::array{values}).front();
}

void expect_same(const std::vector<double>& actual, const std::vector<double>& expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
        const bool both_nan = std::isnan(actual[i]) && std::isnan(expected[i]);
        ASSERT_TRUE(both_nan || (actual[i] == expected[i] &&
                                 std::signbit(actual[i]) == std::signbit(expected[i])))
            << "element " << i << " is " << actual[i] << " instead of " << expected[i];
    }
}

}  // namespace

void expect_golden_number_formats(Backend& backend) {
    const Safetensors file = read_safetensors(golden_directory() / "number_formats.safetensors");
    std::size_t read = 0;
    for (const auto& [name, format] : formats) {
        SCOPED_TRACE(name);
        const auto tensor = [&](const std::string& what) {
            ++read;
            return file.at(name + "." + what).tensor();
        };
        const Tensor codes = tensor("code");
        expect_same(encoded(backend, tensor("value"), format).elements,
                    packed(codes.elements, format).elements);
        expect_same(decoded(backend, codes.elements, format).elements, tensor("decoded").elements);
        if (!file.tensors.contains(name + ".table")) continue;
        const Tensor table = tensor("table");
        std::vector<double> all(table.elements.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i);
        expect_same(decoded(backend, all, format).elements, table.elements);
    }
    EXPECT_EQ(read, file.tensors.size()) << "the file holds a format that this test does not know";
}

}  // namespace cambrian::test
