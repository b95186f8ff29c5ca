#include "cambrian/engine/onnx/node_writer.hpp"

#include <numeric>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::onnx {

bool NodeWriter::any_batched() const {
    for (std::size_t i = 0; i < count(); ++i)
        if (batched(i)) return true;
    return false;
}

std::string NodeWriter::name(std::size_t operand) const {
    return written(builder_, places_[static_cast<std::size_t>(graph_.operands(node_)[operand])]);
}

std::string NodeWriter::aligned(std::size_t operand) const {
    const int missing = result().shape.rank() - info(operand).shape.rank();
    if (missing <= 0 || !batched(operand)) return name(operand);
    std::vector<std::int64_t> axes(static_cast<std::size_t>(missing));
    std::iota(axes.begin(), axes.end(), 1);
    return add("Unsqueeze", {name(operand), builder_.integers(axes)});
}

std::vector<std::string> NodeWriter::all_aligned() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count(); ++i) names.push_back(aligned(i));
    return names;
}

std::string NodeWriter::spread(std::size_t operand) const {
    return batched(operand) ? name(operand)
                            : builder_.spread(name(operand), info(operand).shape.rank());
}

std::string NodeWriter::reshaped(const std::string& value, std::vector<std::int64_t> extents,
                                 bool has_batch) const {
    // An extent of 0 says: as it was.
    if (has_batch) extents.insert(extents.begin(), 0);
    return add("Reshape", {value, builder_.integers(extents)});
}

}  // namespace cambrian::onnx
