#include "cambrian/engine/graph/number_format.hpp"
#include "cambrian/engine/graph/packed_rows.hpp"
#include "cambrian/engine/reference/kernels.hpp"

namespace cambrian::reference {
namespace {

/// Calls visit(element, word, shift) for every code of a row-major tensor.
template <class Visit>
void for_each_code(const Call& call, std::size_t elements, Visit visit) {
    const auto& attribute = call.attribute<FormatAttribute>();
    const auto length = static_cast<std::size_t>(attribute.length);
    const auto words = static_cast<std::size_t>(words_of(attribute.format, attribute.length));
    const std::uint32_t bits = row(attribute.format).bits;
    const std::size_t in_word = 32 / bits;
    for (std::size_t i = 0; i < elements; ++i) {
        const std::size_t column = i % length;
        visit(i, i / length * words + column / in_word,
              static_cast<std::uint32_t>(column % in_word) * bits);
    }
}

std::uint32_t word_of(double element) {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(element));
}

/// A code of a row of so many words.
std::uint32_t packed_code(const Elements& words, const DtypeRow& format, std::size_t first,
                          std::size_t index) {
    const std::size_t in_word = 32 / format.bits;
    const auto shift = static_cast<std::uint32_t>(index % in_word) * format.bits;
    return word_of(words[first + index / in_word]) >> shift & ((1U << format.bits) - 1U);
}

}  // namespace

void encode(const Call& call) {
    const NumberFormatRow& format = row(call.attribute<FormatAttribute>().format);
    const Elements& x = call.operand();
    Elements& words = call.result();
    for_each_code(call, x.size(), [&](std::size_t i, std::size_t word, std::uint32_t shift) {
        const std::uint32_t code = format.encode(static_cast<float>(x[i]));
        words[word] =
            static_cast<double>(static_cast<std::int32_t>(word_of(words[word]) | code << shift));
    });
}

void decode(const Call& call) {
    const NumberFormatRow& format = row(call.attribute<FormatAttribute>().format);
    const Elements& words = call.operand();
    const std::uint32_t mask = (1U << format.bits) - 1U;
    Elements& y = call.result();
    for_each_code(call, y.size(), [&](std::size_t i, std::size_t word, std::uint32_t shift) {
        y[i] = static_cast<double>(format.decode(word_of(words[word]) >> shift & mask));
    });
}

void unpack(const Call& call) {
    const auto& packed = call.attribute<PackedAttribute>();
    const DtypeRow& format = row(packed.dtype);
    const auto length = static_cast<std::size_t>(packed.length);
    const auto words = static_cast<std::size_t>(packed_words(packed));
    const auto groups = static_cast<std::size_t>(scales_of_row(packed));
    const auto zero_words = static_cast<std::size_t>(zero_point_words(packed));
    Elements& y = call.result();
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t row_index = i / length;
        const std::size_t column = i % length;
        Scaling scaling;
        if (groups > 0) {
            const std::size_t group = scale_group_of(packed, column);
            scaling.scale = static_cast<float>(call.operand(1)[row_index * groups + group]);
            if (format.affine)
                scaling.zero_point =
                    packed_code(call.operand(2), format, row_index * zero_words, group);
        }
        y[i] = static_cast<double>(decoded(
            format, scaling, packed_code(call.operand(), format, row_index * words, column)));
    }
}

}  // namespace cambrian::reference
