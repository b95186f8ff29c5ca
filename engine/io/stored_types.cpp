#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cambrian/engine/core/number_formats.hpp"
#include "cambrian/engine/io/safetensors.hpp"

// The table of the types that tensors have in safetensors files.
namespace cambrian {
namespace {

static_assert(std::endian::native == std::endian::little);

template <class Element>
Element load(const std::byte* from) {
    Element element;
    std::memcpy(&element, from, sizeof(element));
    return element;
}

template <class Element>
void store(Element element, std::byte* to) {
    std::memcpy(to, &element, sizeof(element));
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
    return {.type = type,
            .name = name,
            .bytes = sizeof(Element),
            .value = real ? ValueType::real : ValueType::integer,
            .read = [](const std::byte* from) { return static_cast<double>(load<Element>(from)); },
            .write =
                [](double value, std::byte* to) {
                    if constexpr (real)
                        store(static_cast<Element>(value), to);
                    else
                        store(nearest<Element>(value), to);
                }};
}

/// A format of fewer bits, through float.
template <class Code, std::uint32_t (*encode)(float), float (*decode)(std::uint32_t)>
constexpr StoredTypeRow small(StoredType type, std::string_view name) {
    return {.type = type,
            .name = name,
            .bytes = sizeof(Code),
            .read =
                [](const std::byte* from) {
                    return static_cast<double>(decode(std::uint32_t{load<Code>(from)}));
                },
            .write =
                [](double value, std::byte* to) {
                    store(static_cast<Code>(encode(static_cast<float>(value))), to);
                }};
}

constexpr StoredTypeRow flag(StoredType type, std::string_view name) {
    return {.type = type,
            .name = name,
            .bytes = 1,
            .value = ValueType::boolean,
            .read = [](const std::byte* from) { return *from == std::byte{0} ? 0.0 : 1.0; },
            .write = [](double value,
                        std::byte* to) { *to = value == 0.0 ? std::byte{0} : std::byte{1}; }};
}

constexpr std::array rows{
    flag(StoredType::boolean, "BOOL"),
    plain<std::uint8_t>(StoredType::u8, "U8"),
    plain<std::int8_t>(StoredType::i8, "I8"),
    small<std::uint8_t, number_formats::encode_f8_e5m2, number_formats::decode_f8_e5m2>(
        StoredType::f8_e5m2, "F8_E5M2"),
    small<std::uint8_t, number_formats::encode_f8_e4m3, number_formats::decode_f8_e4m3>(
        StoredType::f8_e4m3, "F8_E4M3"),
    plain<std::uint16_t>(StoredType::u16, "U16"),
    plain<std::int16_t>(StoredType::i16, "I16"),
    small<std::uint16_t, number_formats::encode_f16, number_formats::decode_f16>(StoredType::f16,
                                                                                 "F16"),
    small<std::uint16_t, number_formats::encode_bf16, number_formats::decode_bf16>(StoredType::bf16,
                                                                                   "BF16"),
    plain<std::uint32_t>(StoredType::u32, "U32"),
    plain<std::int32_t>(StoredType::i32, "I32"),
    plain<float>(StoredType::f32, "F32"),
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

}  // namespace

std::span<const StoredTypeRow> stored_types() {
    return rows;
}

const StoredTypeRow& row(StoredType type) {
    return rows[static_cast<std::size_t>(type)];
}

StoredTensor StoredTensor::of(const Tensor& tensor, StoredType type) {
    const StoredTypeRow& stored = row(type);
    StoredTensor result{.type = type,
                        .shape = tensor.shape,
                        .bytes = std::vector<std::byte>(tensor.elements.size() * stored.bytes)};
    for (std::size_t i = 0; i < tensor.elements.size(); ++i)
        stored.write(tensor.elements[i], result.bytes.data() + i * stored.bytes);
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
    Tensor result(stored.value, shape);
    for (std::size_t i = 0; i < result.elements.size(); ++i)
        result.elements[i] = stored.read(bytes.data() + i * stored.bytes);
    return result;
}

}  // namespace cambrian
