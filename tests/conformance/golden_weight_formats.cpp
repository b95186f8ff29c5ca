#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <functional>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/engine/weights/quantised_matrix.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"

namespace cambrian::test {

namespace {

constexpr const char* file_name = "weight_formats.safetensors";

std::vector<float> floats(const StoredTensor& stored) {
    std::vector<float> result(static_cast<std::size_t>(stored.shape.elements()));
    std::memcpy(result.data(), stored.bytes.data(), stored.bytes.size());
    return result;
}

/// Number `index` of a tensor of bytes, the lowest first.
std::uint64_t whole(const StoredTensor& stored, std::int64_t index) {
    const auto width = static_cast<std::size_t>(stored.shape[-1]);
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;)
        value = value << 8U | static_cast<std::uint8_t>(
                                  stored.bytes[static_cast<std::size_t>(index) * width + i]);
    return value;
}

void expect_same_bits(std::span<const float> actual, std::span<const float> expected) {
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(actual[i]),
                  std::bit_cast<std::uint32_t>(expected[i]))
            << "element " << i << " is " << actual[i] << " instead of " << expected[i];
}

/// What a file holds of a matrix in one format with one choice of scales.
struct GoldenMatrix {
    Dtype dtype{};
    Scales scales{};
    std::vector<float> numbers;
    QuantisedMatrix matrix;  ///< As the engine makes it of the numbers.
    const StoredTensor& codes;
    const StoredTensor* scale = nullptr;
    const StoredTensor* zero_points = nullptr;
    std::vector<float> decoded;
};

/// Calls visit(GoldenMatrix) for each; skips the test where a set has no such file.
void each_golden_matrix(const std::function<void(const GoldenMatrix&)>& visit) {
    if (golden_set_lacks(file_name)) GTEST_SKIP() << "the golden set has no " << file_name;
    const Safetensors file = read_safetensors(golden_directory() / file_name);
    std::size_t read = 0;
    for (const std::string_view format : dtype_names) {
        const StoredTensor& numbers = file.at(std::string(format) + ".value");
        const MatrixExtents extents{numbers.shape[0], numbers.shape[1]};
        ++read;
        for (std::size_t i = 0; i < scales_names.size(); ++i) {
            const std::string prefix =
                std::string(format) + "." + std::string(scales_names[i]) + ".";
            SCOPED_TRACE(prefix);
            const auto found = [&](const std::string& what) {
                const auto place = file.tensors.find(prefix + what);
                read += place == file.tensors.end() ? 0U : 1U;
                return place == file.tensors.end() ? nullptr : &place->second;
            };
            const Dtype dtype = *dtype_named(format);
            const auto scales = static_cast<Scales>(i);
            const StoredTensor* const codes = found("code");
            ASSERT_EQ(codes != nullptr, scales == Scales::format || takes_scales(dtype));
            if (codes == nullptr) continue;
            const std::vector<float> values = floats(numbers);
            visit({.dtype = dtype,
                   .scales = scales,
                   .numbers = values,
                   .matrix = quantise(QuantisationScheme(dtype, scales), extents, values),
                   .codes = *codes,
                   .scale = found("scale"),
                   .zero_points = found("zero_point"),
                   .decoded = floats(*found("decoded"))});
        }
    }
    EXPECT_EQ(read, file.tensors.size()) << "the file holds what this test does not know";
}

void expect_scalings(const GoldenMatrix& golden) {
    const std::int64_t groups = group_count(golden.matrix.scheme, golden.matrix.extents);
    ASSERT_EQ(golden.scale != nullptr, groups > 0);
    ASSERT_EQ(golden.zero_points != nullptr, row(golden.dtype).affine);
    std::vector<float> scales;
    for (std::int64_t group = 0; group < groups; ++group) {
        const Scaling scaling = golden.matrix.scaling(group);
        scales.push_back(scaling.scale);
        if (golden.zero_points != nullptr) {
            ASSERT_EQ(scaling.zero_point, whole(*golden.zero_points, group)) << "group " << group;
        }
    }
    if (golden.scale != nullptr) expect_same_bits(scales, floats(*golden.scale));
}

void expect_codes(const GoldenMatrix& golden) {
    const MatrixExtents& extents = golden.matrix.extents;
    for (std::int64_t r = 0; r < extents.rows; ++r)
        for (std::int64_t column = 0; column < extents.columns; ++column)
            ASSERT_EQ(golden.matrix.code(r, column),
                      whole(golden.codes, r * extents.columns + column))
                << "row " << r << ", column " << column;
}

PackedAttribute packed_attribute(const GoldenMatrix& golden) {
    const ScaleGroup group = golden.matrix.scheme.group;
    PackedAttribute packed{.dtype = golden.dtype, .length = golden.matrix.extents.columns};
    const ScaleGroup seen = group == ScaleGroup::tensor ? ScaleGroup::row : group;
    if (seen != row(golden.dtype).group) packed.scales = seen;
    return packed;
}

/// The group of a matrix whose scale a group of a row has: one of all stands beside every row.
std::int64_t group_of(const GoldenMatrix& golden, std::int64_t group) {
    return golden.matrix.scheme.group == ScaleGroup::tensor ? 0 : group;
}

/// Rows of words with so many codes each, which code(row, index) gives.
template <class Code>
Tensor rows_of_codes(Dtype dtype, std::int64_t rows, std::int64_t length, Code code) {
    const std::uint32_t bits = row(dtype).bits;
    const std::int64_t words = packed_words(dtype, length);
    std::vector<std::uint32_t> all(static_cast<std::size_t>(rows * words));
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < length; ++i)
            all[static_cast<std::size_t>(r * words + i * bits / 32)] |=
                static_cast<std::uint32_t>(code(r, i)) << i * bits % 32;
    Tensor operand(ValueType::integer, {rows, words});
    for (std::size_t i = 0; i < all.size(); ++i)
        operand.elements[i] = static_cast<double>(static_cast<std::int32_t>(all[i]));
    return operand;
}

Tensor code_operand(const GoldenMatrix& golden, const PackedAttribute& packed) {
    return rows_of_codes(golden.dtype, golden.matrix.extents.rows, packed.length,
                         [&](std::int64_t r, std::int64_t column) {
                             return whole(golden.codes, r * packed.length + column);
                         });
}

Tensor scale_operand(const GoldenMatrix& golden, const PackedAttribute& packed) {
    const std::vector<float> scales = floats(*golden.scale);
    Tensor operand(ValueType::real, {golden.matrix.extents.rows, scales_of_row(packed)});
    for (std::size_t i = 0; i < operand.elements.size(); ++i)
        operand.elements[i] = static_cast<double>(
            scales[static_cast<std::size_t>(group_of(golden, static_cast<std::int64_t>(i)))]);
    return operand;
}

Tensor zero_point_operand(const GoldenMatrix& golden, const PackedAttribute& packed) {
    const std::int64_t groups = scales_of_row(packed);
    return rows_of_codes(
        golden.dtype, golden.matrix.extents.rows, groups, [&](std::int64_t r, std::int64_t group) {
            return whole(*golden.zero_points, group_of(golden, r * groups + group));
        });
}

/// What a backend makes of the codes of the file.
std::vector<float> unpacked(Backend& backend, const GoldenMatrix& golden) {
    const PackedAttribute packed = packed_attribute(golden);
    std::vector<Tensor> operands{code_operand(golden, packed)};
    if (golden.scale != nullptr) operands.push_back(scale_operand(golden, packed));
    if (golden.zero_points != nullptr) operands.push_back(zero_point_operand(golden, packed));
    Graph graph;
    std::vector<Var> parts;
    for (const Tensor& operand : operands)
        parts.push_back(graph.input("", operand.type, operand.shape));
    graph.output(unpack(parts, packed));
    const Tensor result = evaluate(backend, graph, 1, operands).front();
    std::vector<float> numbers;
    for (const double element : result.elements) numbers.push_back(static_cast<float>(element));
    return numbers;
}

}  // namespace

void expect_golden_weight_formats() {
    each_golden_matrix([](const GoldenMatrix& golden) {
        expect_scalings(golden);
        expect_codes(golden);
        std::vector<float> numbers(golden.numbers.size());
        dequantise(golden.matrix, numbers);
        expect_same_bits(numbers, golden.decoded);
        numbers = golden.numbers;
        round_to_codes(golden.matrix.scheme, golden.matrix.extents, numbers);
        expect_same_bits(numbers, golden.decoded);
    });
}

void expect_golden_unpacked(Backend& backend, ScaleChoices which) {
    each_golden_matrix([&](const GoldenMatrix& golden) {
        const bool asked = which == ScaleChoices::all || golden.scales == Scales::format;
        if (asked && can_pack(golden.dtype))
            expect_same_bits(unpacked(backend, golden), golden.decoded);
    });
}

}  // namespace cambrian::test
