#include <algorithm>
#include <limits>

#include "cambrian/engine/cpu/conv/window_taps.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {

namespace {

/// Planes of one individual, which taps are read from or added to.
class PlanesKernel : public Kernel {
  public:
    PlanesKernel(const KernelContext& context, const Shape& whole)
        : operand_(context.operands[0]),
          result_(context.results[0]),
          taps_(window_geometry(context.attribute<Im2colAttribute>().window, whole.extents())),
          plane_(taps_.geometry().elements()),
          windows_(taps_.geometry().windows()),
          tap_count_(taps_.geometry().taps()) {}

  protected:
    BufferView operand_, result_;
    WindowTaps taps_;
    std::int64_t plane_, windows_, tap_count_;
};

class Im2colKernel : public PlanesKernel {
  public:
    explicit Im2colKernel(const KernelContext& context)
        : PlanesKernel(context, context.operand(0).shape),
          planes_(context.result().shape.elements() / (windows_ * tap_count_)),
          outside_(context.attribute<Im2colAttribute>().padding == Padding::lowest
                       ? -std::numeric_limits<float>::infinity()
                       : 0.0F) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const float* plane = frame.at<float>(operand_) + i * operand_.stride;
            float* to = frame.at<float>(result_) + i * result_.stride;
            for (std::int64_t p = 0; p < planes_; ++p, plane += plane_) {
                for (std::int64_t tap = 0; tap < tap_count_; ++tap, to += windows_) {
                    taps_.read(plane, tap, outside_, to);
                }
            }
        }
    }

  private:
    std::int64_t planes_;
    float outside_;
};

class Col2imKernel : public PlanesKernel {
  public:
    explicit Col2imKernel(const KernelContext& context)
        : PlanesKernel(context, context.result().shape),
          planes_(context.operand(0).shape.elements() / (windows_ * tap_count_)) {}

    void run(Frame& frame, std::int64_t count) const override {
        for (std::int64_t i = 0; i < count; ++i) {
            const float* from = frame.at<float>(operand_) + i * operand_.stride;
            float* plane = frame.at<float>(result_) + i * result_.stride;
            for (std::int64_t p = 0; p < planes_; ++p, plane += plane_) {
                std::fill_n(plane, plane_, 0.0F);
                for (std::int64_t tap = 0; tap < tap_count_; ++tap, from += windows_) {
                    taps_.add(plane, tap, from);
                }
            }
        }
    }

  private:
    std::int64_t planes_;
};

}  // namespace

std::unique_ptr<Kernel> make_im2col(const KernelContext& context) {
    return std::make_unique<Im2colKernel>(context);
}

std::unique_ptr<Kernel> make_col2im(const KernelContext& context) {
    return std::make_unique<Col2imKernel>(context);
}

}  // namespace cambrian::cpu
