#include "cambrian/engine/cpu/lanes/transposed_kernels.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/cpu/kernels/rows.hpp"

namespace cambrian::cpu {

namespace {

/// Elements whose rows follow each other in every view; a shared word stays for all of them.
struct Run {
    std::array<ElementRow, Nest::max_views> views{};
    std::int64_t elements = 1;
};

bool continues(const ElementRow& first, const ElementRow& row, std::int64_t elements) {
    return row.slot == first.slot && row.shared == first.shared &&
           row.index == first.index + (first.shared ? 0 : elements);
}

std::vector<Run> runs_of(const ElementRows& result, std::span<const ElementRows> operands) {
    std::vector<Run> runs;
    for (std::size_t i = 0; i < result.size(); ++i) {
        Run next;
        next.views[0] = result[i];
        for (std::size_t o = 0; o < operands.size(); ++o) next.views[o + 1] = operands[o][i];
        bool joins = !runs.empty();
        for (std::size_t v = 0; joins && v <= operands.size(); ++v)
            joins = continues(runs.back().views[v], next.views[v], runs.back().elements);
        if (joins)
            ++runs.back().elements;
        else
            runs.push_back(next);
    }
    return runs;
}

class ElementwiseKernel : public Kernel {
  public:
    ElementwiseKernel(const LoopSet& rows, const ElementRows& result,
                      std::span<const ElementRows> operands)
        : views_(operands.size() + 1) {
        for (const Run& run : runs_of(result, operands)) {
            Nest::Strides strides{};
            for (std::size_t v = 0; v < views_; ++v) strides[v] = run.views[v].shared ? 0 : 1;
            parts_.push_back({run, strides, pick_loop(rows, strides, operands.size())});
        }
    }

    void run(Frame& frame, std::int64_t count) const override {
        for (const Part& part : parts_) {
            Pointers pointers{};
            for (std::size_t v = 0; v < views_; ++v)
                pointers[v] = row_of(frame, part.run.views[v], count);
            part.loop(pointers, part.run.elements * count, part.strides);
        }
    }

  private:
    struct Part {
        Run run;
        Nest::Strides strides;
        Loop loop;
    };
    std::size_t views_;
    std::vector<Part> parts_;
};

/// One look-up of the code for all individuals where they agree, else for each run of them.
class ActivateKernel : public Kernel {
  public:
    ActivateKernel(const ElementRows& result, const ElementRows& operand, const ElementRow& code,
                   ActivationSet set)
        : runs_(runs_of(result, std::span(&operand, 1))), code_(code), set_(set) {}

    void run(Frame& frame, std::int64_t count) const override {
        const auto* codes = reinterpret_cast<const std::int32_t*>(row_of(frame, code_, count));
        const bool one = code_.shared || std::all_of(codes, codes + count,
                                                     [&](auto code) { return code == *codes; });
        for (const Run& run : runs_) {
            const auto* x = reinterpret_cast<const float*>(row_of(frame, run.views[1], count));
            auto* y = reinterpret_cast<float*>(row_of(frame, run.views[0], count));
            if (one)
                activate(known_code(*codes, set_), x, y, run.elements * count);
            else
                for (std::int64_t e = 0; e < run.elements; ++e)
                    by_codes(codes, x + e * count, y + e * count, count);
        }
    }

  private:
    void by_codes(const std::int32_t* codes, const float* x, float* y, std::int64_t count) const {
        for (std::int64_t i = 0, end = 0; i < count; i = end) {
            for (end = i + 1; end < count && codes[end] == codes[i];) ++end;
            activate(known_code(codes[i], set_), x + i, y + i, end - i);
        }
    }

    std::vector<Run> runs_;
    ElementRow code_;
    ActivationSet set_;
};

template <class Element, bool largest>
void fold_into(Word* folded, const Word* row, std::int64_t length) {
    auto* const to = reinterpret_cast<Element*>(folded);
    const auto* const x = reinterpret_cast<const Element*>(row);
#pragma GCC ivdep
    for (std::int64_t i = 0; i < length; ++i) {
        if constexpr (largest)
            to[i] = x[i] > to[i] ? x[i] : to[i];
        else
            to[i] = add(to[i], x[i]);
    }
}

using FoldRow = void (*)(Word* folded, const Word* row, std::int64_t length);

FoldRow fold_row_of(Op op, ValueType type) {
    const bool real = type == ValueType::real;
    if (op == Op::reduce_sum)
        return real ? fold_into<float, false> : fold_into<std::int32_t, false>;
    return real ? fold_into<float, true> : fold_into<std::int32_t, true>;
}

class FoldKernel : public Kernel {
  public:
    FoldKernel(FoldRow fold, ElementRows result, ElementRows operand, std::int64_t length)
        : fold_(fold), result_(std::move(result)), operand_(std::move(operand)), length_(length) {}

    void run(Frame& frame, std::int64_t count) const override {
        const ElementRow* from = operand_.data();
        for (const ElementRow& element : result_) {
            Word* const to = row_of(frame, element, count);
            std::copy_n(row_of(frame, *from++, count), count, to);
            for (std::int64_t k = 1; k < length_; ++k)
                fold_(to, row_of(frame, *from++, count), count);
        }
    }

  private:
    FoldRow fold_;
    ElementRows result_;
    ElementRows operand_;
    std::int64_t length_;
};

}  // namespace

std::unique_ptr<Kernel> make_transposed_elementwise(const LoopSet& rows, const ElementRows& result,
                                                    std::span<const ElementRows> operands) {
    return std::make_unique<ElementwiseKernel>(rows, result, operands);
}

std::unique_ptr<Kernel> make_transposed_activate(const ElementRows& result,
                                                 const ElementRows& operand, const ElementRow& code,
                                                 ActivationSet set) {
    return std::make_unique<ActivateKernel>(result, operand, code, set);
}

std::unique_ptr<Kernel> make_transposed_fold(Op op, ValueType type, const ElementRows& result,
                                             const ElementRows& operand, std::int64_t length) {
    CAMBRIAN_ASSERT(length >= 1);
    return std::make_unique<FoldKernel>(fold_row_of(op, type), result, operand, length);
}

void transpose_to_rows(const IndividualWords& from, std::int64_t elements, Word* rows,
                       std::int64_t width) {
    for (std::int64_t e = 0; e < elements; ++e) {
        Word* const row = rows + e * width;
        for (std::int64_t i = 0; i < from.count; ++i) row[i] = from.first[i * from.stride + e];
        std::fill(row + from.count, row + width, row[from.count - 1]);
    }
}

void transpose_from_rows(const Word* rows, std::int64_t width, std::int64_t elements,
                         const IndividualWords& to) {
    for (std::int64_t e = 0; e < elements; ++e)
        for (std::int64_t i = 0; i < to.count; ++i)
            to.first[i * to.stride + e] = rows[e * width + i];
}

}  // namespace cambrian::cpu
