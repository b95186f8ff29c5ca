#include "cambrian/evolve/runs/network_codes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/core/message_text.hpp"
#include "cambrian/engine/network/weight_formats.hpp"
#include "cambrian/evolve/runs/network_tensors.hpp"

namespace cambrian::distributed {
namespace {

constexpr std::string_view weights_key = "weights";
constexpr std::string_view codes_value = "codes";

/// A tensor of bytes as they are.
StoredTensor byte_tensor(const std::vector<std::uint8_t>& bytes, const Shape& shape) {
    StoredTensor result{.type = StoredType::u8, .shape = shape, .bytes = {}};
    result.bytes.resize(bytes.size());
    if (!bytes.empty()) std::memcpy(result.bytes.data(), bytes.data(), bytes.size());
    return result;
}

StoredType scale_type(Dtype dtype) {
    return row(dtype).scale_bytes == 2 ? StoredType::f16 : StoredType::f32;
}

void put_codes(Safetensors& content, const std::string& name, const QuantisedMatrix& matrix) {
    const auto groups = static_cast<std::int64_t>(matrix.scales.size());
    content.tensors.emplace(
        name + ".codes", byte_tensor(matrix.codes, Shape{matrix.extents.rows, matrix.row_bytes()}));
    if (groups == 0) return;
    Tensor scales(ValueType::real, Shape{groups});
    std::ranges::copy(matrix.scales, scales.elements.begin());
    content.tensors.emplace(name + ".scales",
                            StoredTensor::of(scales, scale_type(matrix.scheme.dtype)));
    if (row(matrix.scheme.dtype).affine)
        content.tensors.emplace(name + ".zero_points",
                                byte_tensor(matrix.zero_points, Shape{matrix.zero_point_bytes()}));
}

/// Takes a tensor out of the content; throws unless it is there in its type and shape.
StoredTensor take(Safetensors& content, const std::string& name, StoredType type,
                  const Shape& shape, std::string_view source) {
    const auto found = content.tensors.find(name);
    if (found == content.tensors.end())
        throw InputError(fmt::format(
            "{} lacks tensor \"{}\" (its structure has a number format there) write it again with "
            "cambrian convert --inference",
            source, shortened(name)));
    StoredTensor tensor = std::move(found->second);
    content.tensors.erase(found);
    if (tensor.type != type || tensor.shape != shape)
        throw InputError(fmt::format(
            "{}: tensor \"{}\" is {} {} (the structure needs {} {}) write it again with cambrian "
            "convert --inference",
            source, shortened(name), row(tensor.type).name, tensor.shape.text(), row(type).name,
            shape.text()));
    return tensor;
}

std::vector<std::uint8_t> bytes_of(const StoredTensor& tensor) {
    std::vector<std::uint8_t> bytes(tensor.bytes.size());
    if (!bytes.empty()) std::memcpy(bytes.data(), tensor.bytes.data(), bytes.size());
    return bytes;
}

/// Codes in one row, or as files had them before: each of whole bytes, [groups, bytes].
std::vector<std::uint8_t> take_zero_points(Safetensors& content, const std::string& name,
                                           const QuantisedMatrix& matrix, std::string_view source) {
    const auto groups = static_cast<std::int64_t>(matrix.scales.size());
    const std::int64_t bits = row(matrix.scheme.dtype).bits;
    const auto found = content.tensors.find(name);
    if (found == content.tensors.end() || found->second.shape.rank() != 2)
        return bytes_of(
            take(content, name, StoredType::u8, Shape{matrix.zero_point_bytes()}, source));
    const std::vector<std::uint8_t> stored = bytes_of(take(
        content, name, StoredType::u8, Shape{groups, std::max<std::int64_t>(bits / 8, 1)}, source));
    if (bits >= 8) return stored;
    if (std::ranges::any_of(stored, [&](std::uint8_t each) { return each >> bits != 0; }))
        throw InputError(
            fmt::format("{}: a zero point of \"{}\" is no code of {} (it has more bits) mend it",
                        source, shortened(name), cambrian::name(matrix.scheme.dtype)));
    std::vector<std::uint8_t> codes;
    for (std::size_t group = 0; group < stored.size(); ++group) {
        const auto place = static_cast<std::size_t>(bits) * group;
        if (place % 8 == 0) codes.push_back(0);
        codes.back() = static_cast<std::uint8_t>(
            codes.back() | (stored[group] & ((1U << bits) - 1U)) << place % 8);
    }
    return codes;
}

QuantisedMatrix take_codes(Safetensors& content, const std::string& name, const EncodedRange& range,
                           std::string_view source) {
    QuantisedMatrix matrix{.scheme = range.scheme(),
                           .extents = range.extents,
                           .codes = {},
                           .scales = {},
                           .zero_points = {}};
    matrix.codes = bytes_of(take(content, name + ".codes", StoredType::u8,
                                 Shape{range.extents.rows, matrix.row_bytes()}, source));
    const std::int64_t groups = group_count(matrix.scheme, range.extents);
    if (groups == 0) return matrix;
    const Tensor scales =
        take(content, name + ".scales", scale_type(range.dtype), Shape{groups}, source).tensor();
    for (const double scale : scales.elements) {
        if (!std::isfinite(scale))
            throw InputError(
                fmt::format("{}: a scale of \"{}\" is not finite (weights are) mend it", source,
                            shortened(name)));
        matrix.scales.push_back(static_cast<float>(scale));
    }
    if (row(range.dtype).affine)
        matrix.zero_points = take_zero_points(content, name + ".zero_points", matrix, source);
    return matrix;
}

/// Calls visit(name, weights, encoded range or nothing) for every weight tensor.
template <class Visit>
void for_each_tensor(const Network& network, Visit visit) {
    for (std::size_t i = 0; i < network.weights().size(); ++i)
        visit(network.weight_name(i), network.weights()[i],
              encoded_range(network.blueprint(), network.weights()[i]));
}

}  // namespace

Safetensors to_inference(const NetworkFile& file) {
    Safetensors content = to_safetensors(file, StoredType::f32);
    const Network network(file.genome.blueprint);
    for_each_tensor(network, [&](const std::string& name, const WeightRange& weights,
                                 const std::optional<EncodedRange>& range) {
        if (!range) return;
        content.tensors.erase(name);
        put_codes(content, name,
                  range->quantised(std::span(file.genome.weights)
                                       .subspan(static_cast<std::size_t>(weights.offset),
                                                static_cast<std::size_t>(weights.count))));
    });
    content.metadata.emplace(weights_key, codes_value);
    return content;
}

bool holds_codes(const Safetensors& content) {
    const auto found = content.metadata.find(weights_key);
    return found != content.metadata.end() && found->second == codes_value;
}

NetworkFile from_inference(Safetensors content, std::string_view source) {
    const Network network(blueprint_of(content.metadata, source));
    for_each_tensor(network, [&](const std::string& name, const WeightRange& weights,
                                 const std::optional<EncodedRange>& range) {
        if (!range) return;
        const QuantisedMatrix matrix = take_codes(content, name, *range, source);
        std::vector<float> numbers(static_cast<std::size_t>(weights.count));
        dequantise(matrix, numbers);
        Tensor tensor(ValueType::real, weights.parameter.shape);
        std::ranges::copy(numbers, tensor.elements.begin());
        content.tensors.emplace(name, StoredTensor::of(tensor, StoredType::f32));
    });
    NetworkFile file = from_safetensors(content, std::nullopt, source);
    for_each_formats(file.genome.blueprint, [](LayerFormats& formats) {
        formats.weights = Dtype::float32;
        formats.scales = Scales::format;
    });
    return file;
}

NetworkFile read_any(const std::filesystem::path& path) {
    if (path.extension() != ".safetensors") return read_network(path);
    Safetensors content = read_safetensors(path);
    return holds_codes(content) ? from_inference(std::move(content), path.string())
                                : from_safetensors(content, std::nullopt, path.string());
}

NetworkFile read_to_answer(const std::filesystem::path& path) {
    NetworkFile file = read_any(path);
    require_network(file, path.string());
    return file;
}

}  // namespace cambrian::distributed
