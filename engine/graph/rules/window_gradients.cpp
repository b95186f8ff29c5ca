#include <algorithm>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/conv_form.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Gradient rules of patches, patches_add and conv.
namespace cambrian::gradient_rule {

void patches(GradientContext& c) {
    PatchesAttribute adjoint = attribute<PatchesAttribute>(c.attributes());
    const auto rank = static_cast<std::size_t>(adjoint.window.rank);
    const auto inside = c.operand().shape().extents().last(rank);
    adjoint.padding = Padding::zero;
    adjoint.extents = {};
    std::ranges::copy(inside, adjoint.extents.begin());
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::patches_add, std::span(&g, 1), adjoint));
}

void patches_add(GradientContext& c) {
    const Window& window = attribute<PatchesAttribute>(c.attributes()).window;
    const Var g = c.upstream();
    c.accumulate(0,
                 c.graph().add(Op::patches, std::span(&g, 1), PatchesAttribute{.window = window}));
}

void conv(GradientContext& c) {
    const ConvForm form(attribute<ConvAttribute>(c.attributes()), c.operand(0).shape(),
                        c.operand(1).shape());
    const Var g = c.upstream();
    if (c.wants(0)) c.accumulate(0, form.adjoint(g, c.operand(1)));
    if (c.wants(1)) c.accumulate(1, form.weight_adjoint(c.operand(0), g));
    if (form.conv.bias && c.wants(2)) {
        const Var sums = cambrian::reduce_sum(form.rows(g), -1);
        c.accumulate(2, cambrian::reshape(cambrian::reduce_sum(sums, 0), {form.outputs}));
    }
}

}  // namespace cambrian::gradient_rule
