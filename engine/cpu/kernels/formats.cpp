#include <algorithm>

#include "cambrian/engine/cpu/execution/kernel_table.hpp"
#include "cambrian/engine/graph/number_format.hpp"

namespace cambrian::cpu {
namespace {

/// One row of numbers and its words.
using EncodeRow = void (*)(const float* numbers, std::int64_t length, std::uint32_t* words);
using DecodeRow = void (*)(const std::uint32_t* words, std::int64_t length, float* numbers);

/// The loops of one format: whole words without a test inside, so that they become vector code.
template <class Codec>
struct FormatRows {
    static constexpr std::uint32_t bits = Codec::bits;
    static constexpr std::int64_t in_word = 32 / bits;
    static constexpr std::uint32_t mask = (1U << bits) - 1U;

    static std::uint32_t packed(const float* numbers, std::int64_t count) {
        std::uint32_t word = 0;
        for (std::int64_t i = 0; i < count; ++i)
            word |= Codec::encode(numbers[i]) << (static_cast<std::uint32_t>(i) * bits);
        return word;
    }
    static void encode(const float* numbers, std::int64_t length, std::uint32_t* words) {
        const std::int64_t whole = length / in_word;
        for (std::int64_t w = 0; w < whole; ++w) words[w] = packed(numbers + w * in_word, in_word);
        if (length > whole * in_word)
            words[whole] = packed(numbers + whole * in_word, length - whole * in_word);
    }

    static void unpack(std::uint32_t word, std::int64_t count, float* numbers) {
        for (std::int64_t i = 0; i < count; ++i)
            numbers[i] = Codec::decode(word >> (static_cast<std::uint32_t>(i) * bits) & mask);
    }
    static void decode(const std::uint32_t* words, std::int64_t length, float* numbers) {
        const std::int64_t whole = length / in_word;
        for (std::int64_t w = 0; w < whole; ++w) unpack(words[w], in_word, numbers + w * in_word);
        if (length > whole * in_word)
            unpack(words[whole], length - whole * in_word, numbers + whole * in_word);
    }
};

struct FormatKernels {
    EncodeRow encode = nullptr;
    DecodeRow decode = nullptr;
};

#define CAMBRIAN_CODEC_OF(number, name, code_bits)                                        \
    struct Codec_##name {                                                                 \
        static constexpr std::uint32_t bits = code_bits;                                  \
        static std::uint32_t encode(float x) { return number_formats::encode_##name(x); } \
        static float decode(std::uint32_t c) { return number_formats::decode_##name(c); } \
    };
CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_CODEC_OF)
#undef CAMBRIAN_CODEC_OF

#define CAMBRIAN_FORMAT_KERNELS(number, name, bits) \
    FormatKernels{FormatRows<Codec_##name>::encode, FormatRows<Codec_##name>::decode},
constexpr std::array format_kernels{CAMBRIAN_NUMBER_FORMATS(CAMBRIAN_FORMAT_KERNELS)};
#undef CAMBRIAN_FORMAT_KERNELS

/// Rows of `from` elements that become rows of `to` elements.
struct RowSizes {
    std::int64_t rows = 0;
    std::int64_t from = 0;
    std::int64_t to = 0;
    explicit RowSizes(const KernelContext& context)
        : from(context.operand(0).shape[-1]), to(context.result().shape[-1]) {
        const std::int64_t elements = context.operand(0).shape.elements();
        rows = from == 0 ? 0 : elements / from;
    }
};

template <class From, class To>
class FormatKernel : public Kernel {
  public:
    using Loop = void (*)(const From*, std::int64_t length, To*);
    FormatKernel(const KernelContext& context, Loop row)
        : operand_(context.operands[0]),
          result_(context.results[0]),
          sizes_(context),
          length_(context.attribute<FormatAttribute>().length),
          row_(row) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const From* from = frame.at<From>(operand_) + i * operand_.stride;
            To* to = frame.at<To>(result_) + i * result_.stride;
            for (std::int64_t row = 0; row < sizes_.rows; ++row)
                row_(from + row * sizes_.from, length_, to + row * sizes_.to);
        }
    }

  private:
    BufferView operand_, result_;
    RowSizes sizes_;
    std::int64_t length_;
    Loop row_;
};

const FormatKernels& kernels_of(const KernelContext& context) {
    return format_kernels[static_cast<std::size_t>(context.attribute<FormatAttribute>().format)];
}

}  // namespace

std::unique_ptr<Kernel> make_encode(const KernelContext& context) {
    return std::make_unique<FormatKernel<float, std::uint32_t>>(context,
                                                                kernels_of(context).encode);
}

std::unique_ptr<Kernel> make_decode(const KernelContext& context) {
    return std::make_unique<FormatKernel<std::uint32_t, float>>(context,
                                                                kernels_of(context).decode);
}

}  // namespace cambrian::cpu
