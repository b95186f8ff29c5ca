#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cambrian/engine/tensor/tensor.hpp"

namespace cambrian {

/// How the elements of a tensor lie in a safetensors file: all types that the format has.
enum class StoredType : std::uint8_t {
    boolean,
    f4,
    f6_e2m3,
    f6_e3m2,
    u8,
    i8,
    f8_e5m2,
    f8_e4m3,
    f8_e8m0,
    f8_e4m3fnuz,
    f8_e5m2fnuz,
    u16,
    i16,
    f16,
    bf16,
    u32,
    i32,
    f32,
    c64,
    u64,
    i64,
    f64,
};

/// One row of the table of stored types.
struct StoredTypeRow {
    StoredType type{};
    std::string_view name;  ///< As files spell it: "F32".
    std::size_t bits = 0;   ///< Of one number: little-endian, or packed from the low bits on.
    std::size_t parts = 1;  ///< Numbers of one element: of a complex one 2, the real part first.
    ValueType value = ValueType::real;
    /// Number `index` of the data as a double: exact but for 64-bit integers beyond 2^53, which
    /// are rounded.
    double (*read)(const std::byte* data, std::size_t index) = nullptr;
    /// Rounds to the nearest that the type holds; integers are limited to their range, NaN is 0
    /// there. Packed numbers are written once, over zeros.
    void (*write)(double value, std::byte* data, std::size_t index) = nullptr;
};
[[nodiscard]] const StoredTypeRow& row(StoredType type);
[[nodiscard]] std::span<const StoredTypeRow> stored_types();

/// A tensor of a safetensors file.
struct StoredTensor {
    StoredType type = StoredType::f32;
    Shape shape;
    std::vector<std::byte> bytes;  ///< Row-major, little-endian.

    /// Stores the elements of a tensor, rounded to the type; the last axis of a complex one is its
    /// two parts. Throws InputError where that is not so, and where the elements are no whole
    /// bytes.
    static StoredTensor of(const Tensor& tensor, StoredType type);
    /// Stores floats as F32, integers as I32, flags as BOOL: nothing is lost.
    static StoredTensor of(const Tensor& tensor);

    /// A complex one gets a last axis of its two parts.
    [[nodiscard]] Tensor tensor() const;
    bool operator==(const StoredTensor&) const = default;
};

/// The content of a .safetensors file: named tensors, and texts about them.
/// Format: https://github.com/huggingface/safetensors (length of the header, header in JSON, data).
struct Safetensors {
    std::map<std::string, StoredTensor, std::less<>> tensors;
    std::map<std::string, std::string, std::less<>> metadata;

    /// Throws InputError that names what is there instead.
    [[nodiscard]] const StoredTensor& at(std::string_view name) const;
    bool operator==(const Safetensors&) const = default;
};

/// The bytes of a file, the same for equal content: the header is padded so that data starts at a
/// multiple of 8, larger elements come first, then names in order. Throws InputError where no file
/// can hold the content: by its names, or where its header would be longer than the format takes.
[[nodiscard]] std::vector<std::byte> encode(const Safetensors& content);
/// Reads every byte within bounds: the tensors must cover the data without gap or overlap, and
/// names may not repeat. `source` names the file in the text of an InputError.
[[nodiscard]] Safetensors decode_safetensors(std::span<const std::byte> bytes,
                                             std::string_view source);

[[nodiscard]] Safetensors read_safetensors(const std::filesystem::path& path);
/// Atomically, as write_file_atomically.
void write_safetensors(const std::filesystem::path& path, const Safetensors& content);

}  // namespace cambrian
