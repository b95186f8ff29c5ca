#include <algorithm>
#include <cstring>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {

namespace {

using Int = std::int32_t;

std::int64_t row_elements(const Shape& shape, std::int64_t rows) {
    return rows == 0 ? 0 : shape.elements() / rows;
}

class GatherKernel : public Kernel {
  public:
    explicit GatherKernel(const KernelContext& context)
        : table_(context.operands[0]),
          indices_(context.operands[1]),
          result_(context.results[0]),
          rows_(context.operand(0).shape[0]),
          row_(row_elements(context.operand(0).shape, rows_)),
          count_(context.operand(1).shape.elements()) {}

    void run(Frame& frame, std::int64_t count) const override {
        // Indices of rows without elements are not looked at, on any backend.
        if (row_ == 0) return;
        for (std::int64_t i = 0; i < count; ++i) {
            const Word* table = frame.at<Word>(table_) + i * table_.stride;
            const Int* indices = frame.at<Int>(indices_) + i * indices_.stride;
            Word* result = frame.at<Word>(result_) + i * result_.stride;
            for (std::int64_t j = 0; j < count_; ++j) {
                check_index(Op::gather, indices[j], rows_);
                std::copy_n(table + indices[j] * row_, row_, result + j * row_);
            }
        }
    }

  private:
    BufferView table_, indices_, result_;
    std::int64_t rows_, row_, count_;
};

template <class Element, class Sum>
class ScatterAddKernel : public Kernel {
  public:
    explicit ScatterAddKernel(const KernelContext& context)
        : values_(context.operands[0]),
          indices_(context.operands[1]),
          result_(context.results[0]),
          rows_(context.result().shape[0]),
          row_(row_elements(context.result().shape, rows_)),
          count_(context.operand(1).shape.elements()) {}

    void run(Frame& frame, std::int64_t count) const override {
        if (row_ == 0) return;
        for (std::int64_t i = 0; i < count; ++i) {
            const Element* values = frame.at<Element>(values_) + i * values_.stride;
            const Int* indices = frame.at<Int>(indices_) + i * indices_.stride;
            Element* result = frame.at<Element>(result_) + i * result_.stride;
            std::fill_n(result, rows_ * row_, Element{0});
            for (std::int64_t j = 0; j < count_; ++j) {
                check_index(Op::scatter_add, indices[j], rows_);
                Element* row = result + indices[j] * row_;
                for (std::int64_t k = 0; k < row_; ++k) {
                    row[k] = static_cast<Element>(static_cast<Sum>(row[k]) +
                                                  static_cast<Sum>(values[j * row_ + k]));
                }
            }
        }
    }

  private:
    BufferView values_, indices_, result_;
    std::int64_t rows_, row_, count_;
};

class IotaKernel : public Kernel {
  public:
    explicit IotaKernel(const KernelContext& context)
        : result_(context.results[0]), length_(context.result().shape.elements()) {}

    void run(Frame& frame, std::int64_t) const override {
        Int* result = frame.at<Int>(result_);
        for (std::int64_t i = 0; i < length_; ++i) {
            result[i] = static_cast<Int>(i);
        }
    }

  private:
    BufferView result_;
    std::int64_t length_;
};

class RandomKernel : public Kernel {
  public:
    explicit RandomKernel(const KernelContext& context)
        : key_(context.operands[0]),
          ids_(context.operands[1]),
          result_(context.results[0]),
          count_(context.operand(1).shape.elements()),
          draws_(static_cast<std::size_t>(context.attribute<LengthAttribute>().length)) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const Int* words = frame.at<Int>(key_) + i * key_.stride;
            const Int* ids = frame.at<Int>(ids_) + i * ids_.stride;
            float* result = frame.at<float>(result_) + i * result_.stride;
            const RandomKey key{std::uint64_t{static_cast<std::uint32_t>(words[0])} |
                                std::uint64_t{static_cast<std::uint32_t>(words[1])} << 32};
            for (std::int64_t j = 0; j < count_; ++j) {
                fill({result + static_cast<std::size_t>(j) * draws_, draws_}, key,
                     static_cast<std::uint32_t>(ids[j]));
            }
        }
    }

  private:
    static void fill(std::span<float> values, RandomKey key, std::uint32_t id) {
        RandomStream stream(key, id);
        // Runs of blocks pay only for many draws; both ways give word d for draw d.
        if (values.size() > 64) {
            stream.fill_uniform(values);
            return;
        }
        for (float& value : values) {
            value = stream.uniform();
        }
    }

    BufferView key_, ids_, result_;
    std::int64_t count_;
    std::size_t draws_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelContext& context) {
    return std::make_unique<GatherKernel>(context);
}

std::unique_ptr<Kernel> make_scatter_add(const KernelContext& context) {
    if (context.operand(0).type == ValueType::real) {
        return std::make_unique<ScatterAddKernel<float, float>>(context);
    }
    return std::make_unique<ScatterAddKernel<Int, std::uint32_t>>(context);
}

std::unique_ptr<Kernel> make_iota(const KernelContext& context) {
    return std::make_unique<IotaKernel>(context);
}

std::unique_ptr<Kernel> make_random(const KernelContext& context) {
    return std::make_unique<RandomKernel>(context);
}

}  // namespace cambrian::cpu
