#include "cambrian/engine/cpu/execution/lift.hpp"

namespace cambrian::cpu {

Row pick_row(const RowSet& rows, const Nest::Strides& strides, std::size_t operands) {
    unsigned mask = 0;
    for (std::size_t view = 0; view < operands; ++view) {
        const std::int64_t stride = strides[view + 1];
        if (stride != 0 && stride != 1) {
            return rows.strided;
        }
        mask |= static_cast<unsigned>(stride) << view;
    }
    return strides[0] == 1 ? rows.contiguous[mask] : rows.strided;
}

namespace {

class ElementwiseStep : public Step {
  public:
    ElementwiseStep(const Site& site, const RowSet& rows)
        : nest_(elementwise_nest(site)), views_(site.operands.size() + 1) {
        refs_[0] = site.results[0];
        for (std::size_t i = 0; i < site.operands.size(); ++i) {
            refs_[i + 1] = site.operands[i];
        }
        row_ = pick_row(rows, nest_.inner().strides, site.operands.size());
    }

    void run(Frame& frame, std::int64_t count) const override {
        Pointers pointers{};
        for (std::size_t view = 0; view < views_; ++view) {
            pointers[view] = frame.at<Word>(refs_[view]);
        }
        for_each_row(nest_, count, frame.team, pointers,
                     [&](const Pointers& at, std::int64_t length) {
                         row_(at, length, nest_.inner().strides);
                     });
    }

  private:
    Nest nest_;
    std::size_t views_;
    std::array<Ref, Nest::max_views> refs_{};
    Row row_;
};

}  // namespace

std::unique_ptr<Step> make_elementwise(const Site& site, const RowSet& rows) {
    return std::make_unique<ElementwiseStep>(site, rows);
}

}  // namespace cambrian::cpu
