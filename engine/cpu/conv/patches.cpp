#include <algorithm>
#include <limits>

#include "cambrian/engine/cpu/conv/window_taps.hpp"
#include "cambrian/engine/cpu/execution/kernel_table.hpp"

namespace cambrian::cpu {

namespace {

/// Planes of one individual, which taps are read from or added to.
class PlanesStep : public Step {
  public:
    PlanesStep(const Site& site, const Shape& whole)
        : operand_(site.operands[0]),
          result_(site.results[0]),
          taps_(window_geometry(site.attribute<PatchesAttribute>().window, whole.extents())),
          plane_(taps_.geometry().elements()),
          windows_(taps_.geometry().windows()),
          tap_count_(taps_.geometry().taps()) {}

  protected:
    Ref operand_, result_;
    WindowTaps taps_;
    std::int64_t plane_, windows_, tap_count_;
};

class PatchesStep : public PlanesStep {
  public:
    explicit PatchesStep(const Site& site)
        : PlanesStep(site, site.operand(0).shape),
          planes_(site.result().shape.elements() / (windows_ * tap_count_)),
          outside_(site.attribute<PatchesAttribute>().padding == Padding::lowest
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

class PatchesAddStep : public PlanesStep {
  public:
    explicit PatchesAddStep(const Site& site)
        : PlanesStep(site, site.result().shape),
          planes_(site.operand(0).shape.elements() / (windows_ * tap_count_)) {}

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

std::unique_ptr<Step> make_patches(const Site& site) {
    return std::make_unique<PatchesStep>(site);
}

std::unique_ptr<Step> make_patches_add(const Site& site) {
    return std::make_unique<PatchesAddStep>(site);
}

}  // namespace cambrian::cpu
