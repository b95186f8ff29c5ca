#include <charconv>

#include "cambrian/engine/graph/dump/text.hpp"

namespace cambrian {
namespace {

std::string number(double value) {
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), end};
}

std::string window_text(const Window& window) {
    const auto list = [&](std::string_view title, const Window::Extents& extents) {
        std::string text(title);
        for (int i = 0; i < window.rank; ++i)
            text += " " + std::to_string(extents[static_cast<std::size_t>(i)]);
        return text;
    };
    return list("kernel", window.kernel) + list(", stride", window.stride) +
           list(", dilation", window.dilation) + list(", before", window.before) +
           list(", after", window.after);
}

/// By NeuronSet.
constexpr std::array<std::string_view, 4> neuron_set_texts{"", ", neurons that sum",
                                                           ", any neurons", ", plastic neurons"};

/// Text of the attributes of a node, empty when there is nothing to say.
struct AttributeText {
    int rank;
    std::string operator()(const std::monostate&) const { return ""; }
    std::string operator()(const AxisAttribute& a) const {
        return "axis " + std::to_string(a.axis) + (a.keep ? ", keep" : "");
    }
    std::string operator()(const ShapeAttribute&) const { return ""; }
    std::string operator()(const PermuteAttribute& a) const {
        std::string text = "order";
        for (int i = 0; i < rank; ++i)
            text += " " + std::to_string(a.order[static_cast<std::size_t>(i)]);
        return text;
    }
    std::string operator()(const SliceAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", start " + std::to_string(a.start);
    }
    std::string operator()(const PadAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", before " + std::to_string(a.before) +
               ", after " + std::to_string(a.after);
    }
    std::string operator()(const CastAttribute&) const { return ""; }
    std::string operator()(const MatmulAttribute& a) const {
        std::string text = a.transpose_left ? "transpose_left" : "";
        if (a.transpose_right) text += text.empty() ? "transpose_right" : ", transpose_right";
        return text;
    }
    std::string operator()(const ConstantAttribute& a) const {
        return a.value->elements.size() == 1 ? number(a.value->elements[0]) : "";
    }
    std::string operator()(const InputAttribute& a) const { return *a.name; }
    std::string operator()(const LengthAttribute& a) const {
        return "length " + std::to_string(a.length);
    }
    std::string operator()(const MatmulEpilogueAttribute& a) const {
        std::string text = (*this)(a.product);
        for (const auto& [flag, word] : {std::pair{a.bias, "bias"}, {a.activation, "activation"}})
            if (flag) text += (text.empty() ? "" : ", ") + std::string(word);
        if (a.set == ActivationSet::any) text += " of any";
        if (a.packed) text += (text.empty() ? "" : ", ") + (*this)(*a.packed);
        if (!a.codes) return text;
        return text + (text.empty() ? "" : ", ") + std::string(name(a.codes->format)) + " " +
               std::to_string(a.codes->left_length) + " " + std::to_string(a.codes->right_length) +
               (a.codes->result ? ", encode" : "");
    }
    std::string operator()(const FusedAttribute&) const { return ""; }
    std::string operator()(const InterpretAttribute& a) const {
        return "outputs " + std::to_string(a.outputs) + ", memory " + std::to_string(a.memory) +
               ", weights " + std::to_string(a.weights) +
               std::string(neuron_set_texts[static_cast<std::size_t>(a.neurons)]) +
               (a.activations == ActivationSet::any ? ", any activation" : "");
    }
    std::string operator()(const CumsumAttribute& a) const {
        return "axis " + std::to_string(a.axis) + (a.exclusive ? ", exclusive" : "") +
               (a.reverse ? ", reverse" : "");
    }
    std::string operator()(const SortAttribute& a) const {
        return "axis " + std::to_string(a.axis) + (a.descending ? ", descending" : "");
    }
    std::string operator()(const TopkAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", count " + std::to_string(a.count);
    }
    std::string operator()(const ScatterAlongAttribute& a) const {
        return "axis " + std::to_string(a.axis) + ", extent " + std::to_string(a.extent);
    }
    std::string operator()(const Im2colAttribute& a) const {
        return window_text(a.window) + (a.padding == Padding::lowest ? ", lowest outside" : "");
    }
    std::string operator()(const ConvAttribute& a) const {
        return window_text(a.window) + ", groups " + std::to_string(a.groups) +
               (a.bias ? ", bias" : "") + (a.packed ? ", " + (*this)(*a.packed) : "");
    }
    std::string operator()(const FormatAttribute& a) const {
        return std::string(name(a.format)) + ", length " + std::to_string(a.length);
    }
    std::string operator()(const PackedAttribute& a) const {
        std::string text = std::string(name(a.dtype)) + ", length " + std::to_string(a.length);
        if (a.scales)
            text += ", scales of a " +
                    std::string(scale_group_names[static_cast<std::size_t>(*a.scales)]);
        return text;
    }
    std::string operator()(const AttentionAttribute& a) const {
        return "scale " + number(a.scale) + (a.causal ? ", causal" : "") +
               (a.valid ? ", valid" : "");
    }
    std::string operator()(const CachedAttentionAttribute& a) const {
        return "scale " + number(a.scale) +
               (a.window > 0 ? ", window " + std::to_string(a.window) : "");
    }
    std::string operator()(const SelectiveScanAttribute& a) const {
        return a.discretization == Discretization::euler ? "euler" : "zero-order hold";
    }
    std::string operator()(const ScanAttribute& a) const {
        return "length " + std::to_string(a.length) + ", carries " + std::to_string(a.carries) +
               ", sequences " + std::to_string(a.sequences) + (a.reverse ? ", reverse" : "") +
               (a.alive_carry >= 0 ? ", alive " + std::to_string(a.alive_carry) : "") +
               (a.truncate > 0 ? ", truncate " + std::to_string(a.truncate) : "") +
               (a.checkpoint_every > 0 ? ", checkpoint every " + std::to_string(a.checkpoint_every)
                                       : "");
    }
};

}  // namespace

std::string value_label(ValueId id) {
    return "v" + std::to_string(static_cast<std::uint32_t>(id));
}

std::string info_text(const ValueInfo& info) {
    return std::string(name(info.type)) + " " + info.shape.text() +
           (info.per_individual ? " *" : "");
}

std::string attribute_text(const Graph& graph, const Node& node) {
    return std::visit(AttributeText{graph.value(ValueId{node.first_result}).shape.rank()},
                      node.attributes);
}

const Graph* body_of(const Node& node) {
    if (const auto* scan = std::get_if<ScanAttribute>(&node.attributes)) return scan->body.get();
    if (const auto* fused = std::get_if<FusedAttribute>(&node.attributes)) return fused->body.get();
    return nullptr;
}

}  // namespace cambrian
