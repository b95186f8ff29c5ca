#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cambrian/engine/core/elementary.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/safetensors.hpp"
#include "cambrian/engine/io/stored_formats.hpp"

// The table of the types that tensors have in safetensors files.
namespace cambrian {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Element>
Element load(const std::byte* data, std::size_t index) {
    Element element;
    std::memcpy(&element, data + index * sizeof(element), sizeof(element));
    return element;
}

template <class Element>
void store(Element element, std::byte* data, std::size_t index) {
    std::memcpy(data + index * sizeof(element), &element, sizeof(element));
}

/// Code `index` of packed ones, each of less than 8 bits.
template <std::size_t bits>
std::uint32_t load_packed(const std::byte* data, std::size_t index) {
    const std::size_t byte = index * bits / 8;
    const std::size_t shift = index * bits % 8;
    auto two = std::to_integer<std::uint32_t>(data[byte]);
    if (shift + bits > 8) two |= std::to_integer<std::uint32_t>(data[byte + 1]) << 8U;
    return (two >> shift) & ((1U << bits) - 1U);
}

template <std::size_t bits>
void store_packed(std::uint32_t code, std::byte* data, std::size_t index) {
    const std::size_t byte = index * bits / 8;
    const std::size_t shift = index * bits % 8;
    data[byte] |= static_cast<std::byte>(code << shift);
    if (shift + bits > 8) data[byte + 1] |= static_cast<std::byte>(code << shift >> 8U);
}

/// The nearest integer of a type, ties to even, limited to its range.
template <class Integer>
Integer nearest(double value) {
    // Beyond the largest: 2^64 - 1 is no double, so the limit is the power of two above.
    const double above = std::ldexp(1.0, std::numeric_limits<Integer>::digits);
    const double least = std::is_signed_v<Integer> ? -above : 0.0;
    const double whole = std::nearbyint(value);
    if (std::isnan(whole)) return 0;
    if (whole >= above) return std::numeric_limits<Integer>::max();
    return whole <= least ? std::numeric_limits<Integer>::min() : static_cast<Integer>(whole);
}

template <class Element>
constexpr StoredTypeRow plain(StoredType type, std::string_view name) {
    constexpr bool real = std::is_floating_point_v<Element>;
    return {
        .type = type,
        .name = name,
        .bits = 8 * sizeof(Element),
        .value = real ? ValueType::real : ValueType::integer,
        .read = [](const std::byte* data,
                   std::size_t index) { return static_cast<double>(load<Element>(data, index)); },
        .write =
            [](double value, std::byte* data, std::size_t index) {
                if constexpr (real)
                    store(static_cast<Element>(value), data, index);
                else
                    store(nearest<Element>(value), data, index);
            }};
}

constexpr StoredTypeRow complex(StoredType type, std::string_view name) {
    StoredTypeRow result = plain<float>(type, name);
    result.parts = 2;
    return result;
}

using Encode = std::uint32_t (*)(float);
using Decode = float (*)(std::uint32_t);

/// A format of fewer bits than a float, in whole bytes.
template <class Code, Encode encode, Decode decode>
constexpr StoredTypeRow small(StoredType type, std::string_view name) {
    return {.type = type,
            .name = name,
            .bits = 8 * sizeof(Code),
            .read =
                [](const std::byte* data, std::size_t index) {
                    return static_cast<double>(decode(std::uint32_t{load<Code>(data, index)}));
                },
            .write =
                [](double value, std::byte* data, std::size_t index) {
                    store(static_cast<Code>(encode(number_formats::round_to_odd(value))), data,
                          index);
                }};
}

/// A format of less than a byte.
template <std::size_t code_bits, Encode encode, Decode decode>
constexpr StoredTypeRow packed(StoredType type, std::string_view name) {
    return {.type = type,
            .name = name,
            .bits = code_bits,
            .read =
                [](const std::byte* data, std::size_t index) {
                    return static_cast<double>(decode(load_packed<code_bits>(data, index)));
                },
            .write =
                [](double value, std::byte* data, std::size_t index) {
                    store_packed<code_bits>(encode(number_formats::round_to_odd(value)), data,
                                            index);
                }};
}

constexpr StoredTypeRow flag(StoredType type, std::string_view name) {
    return {.type = type,
            .name = name,
            .bits = 8,
            .value = ValueType::boolean,
            .read = [](const std::byte* data,
                       std::size_t index) { return data[index] == std::byte{0} ? 0.0 : 1.0; },
            .write =
                [](double value, std::byte* data, std::size_t index) {
                    data[index] = value == 0.0 ? std::byte{0} : std::byte{1};
                }};
}

namespace formats {
using namespace number_formats;
using namespace stored_formats;
}  // namespace formats

constexpr std::array rows{
    flag(StoredType::boolean, "BOOL"),
    packed<4, formats::encode_f4_e2m1, formats::decode_f4_e2m1>(StoredType::f4, "F4"),
    packed<6, formats::encode_f6_e2m3, formats::decode_f6_e2m3>(StoredType::f6_e2m3, "F6_E2M3"),
    packed<6, formats::encode_f6_e3m2, formats::decode_f6_e3m2>(StoredType::f6_e3m2, "F6_E3M2"),
    plain<std::uint8_t>(StoredType::u8, "U8"),
    plain<std::int8_t>(StoredType::i8, "I8"),
    small<std::uint8_t, formats::encode_f8_e5m2, formats::decode_f8_e5m2>(StoredType::f8_e5m2,
                                                                          "F8_E5M2"),
    small<std::uint8_t, formats::encode_f8_e4m3, formats::decode_f8_e4m3>(StoredType::f8_e4m3,
                                                                          "F8_E4M3"),
    small<std::uint8_t, formats::encode_f8_e8m0, formats::decode_f8_e8m0>(StoredType::f8_e8m0,
                                                                          "F8_E8M0"),
    small<std::uint8_t, formats::encode_f8_e4m3fnuz, formats::decode_f8_e4m3fnuz>(
        StoredType::f8_e4m3fnuz, "F8_E4M3FNUZ"),
    small<std::uint8_t, formats::encode_f8_e5m2fnuz, formats::decode_f8_e5m2fnuz>(
        StoredType::f8_e5m2fnuz, "F8_E5M2FNUZ"),
    plain<std::uint16_t>(StoredType::u16, "U16"),
    plain<std::int16_t>(StoredType::i16, "I16"),
    small<std::uint16_t, formats::encode_f16, formats::decode_f16>(StoredType::f16, "F16"),
    small<std::uint16_t, formats::encode_bf16, formats::decode_bf16>(StoredType::bf16, "BF16"),
    plain<std::uint32_t>(StoredType::u32, "U32"),
    plain<std::int32_t>(StoredType::i32, "I32"),
    plain<float>(StoredType::f32, "F32"),
    complex(StoredType::c64, "C64"),
    plain<std::uint64_t>(StoredType::u64, "U64"),
    plain<std::int64_t>(StoredType::i64, "I64"),
    plain<double>(StoredType::f64, "F64"),
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (static_cast<std::size_t>(rows[i].type) != i) return false;
    return true;
}
static_assert(in_order());

/// The shape of the elements, without the axis of the parts that a complex one has.
Shape stored_shape(const Tensor& tensor, const StoredTypeRow& stored) {
    if (stored.parts == 1) return tensor.shape;
    const auto extents = tensor.shape.extents();
    if (extents.empty() || extents.back() != static_cast<std::int64_t>(stored.parts))
        throw InputError("a tensor " + tensor.shape.text() + " cannot be stored as " +
                         std::string(stored.name) +
                         " (its last axis is not the two parts of a complex number) choose "
                         "another type");
    return Shape(std::vector(extents.begin(), extents.end() - 1));
}

}  // namespace

std::span<const StoredTypeRow> stored_types() {
    return rows;
}

const StoredTypeRow& row(StoredType type) {
    return rows[static_cast<std::size_t>(type)];
}

StoredTensor StoredTensor::of(const Tensor& tensor, StoredType type) {
    const StoredTypeRow& stored = row(type);
    const std::size_t bits = tensor.elements.size() * stored.bits;
    if (bits % 8 != 0)
        throw InputError("a tensor " + tensor.shape.text() + " cannot be stored as " +
                         std::string(stored.name) + " (its " + std::to_string(bits) +
                         " bits are no whole bytes) choose another type");
    StoredTensor result{.type = type,
                        .shape = stored_shape(tensor, stored),
                        .bytes = std::vector<std::byte>(bits / 8)};
    for (std::size_t i = 0; i < tensor.elements.size(); ++i)
        stored.write(tensor.elements[i], result.bytes.data(), i);
    return result;
}

StoredTensor StoredTensor::of(const Tensor& tensor) {
    switch (tensor.type) {
        case ValueType::integer:
            return of(tensor, StoredType::i32);
        case ValueType::boolean:
            return of(tensor, StoredType::boolean);
        case ValueType::real:
            break;
    }
    return of(tensor, StoredType::f32);
}

Tensor StoredTensor::tensor() const {
    const StoredTypeRow& stored = row(type);
    std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
    if (stored.parts > 1) extents.push_back(static_cast<std::int64_t>(stored.parts));
    Tensor result(stored.value, Shape(extents));
    for (std::size_t i = 0; i < result.elements.size(); ++i)
        result.elements[i] = stored.read(bytes.data(), i);
    return result;
}

}  // namespace cambrian
