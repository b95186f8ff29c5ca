#include <algorithm>

#include "cambrian/engine/graph/builders/arithmetic.hpp"
#include "cambrian/engine/graph/builders/conv_form.hpp"
#include "cambrian/engine/graph/rules/op_rules.hpp"

// Gradient rules of im2col, col2im and conv.
namespace cambrian::gradient_rule {

void im2col(GradientContext& c) {
    Im2colAttribute adjoint = attribute<Im2colAttribute>(c.attributes());
    const auto rank = static_cast<std::size_t>(adjoint.window.rank);
    const auto inside = c.operand().shape().extents().last(rank);
    adjoint.padding = Padding::zero;
    adjoint.extents = {};
    std::ranges::copy(inside, adjoint.extents.begin());
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::col2im, std::span(&g, 1), adjoint));
}

void col2im(GradientContext& c) {
    const Window& window = attribute<Im2colAttribute>(c.attributes()).window;
    const Var g = c.upstream();
    c.accumulate(0, c.graph().add(Op::im2col, std::span(&g, 1), Im2colAttribute{.window = window}));
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
