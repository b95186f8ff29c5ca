#include "cambrian/engine/graph/number_format.hpp"
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

}  // namespace cambrian::reference
