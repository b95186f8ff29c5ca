#pragma once

#include <vector>

namespace cambrian {

class AnyLayer;

/// A layer or none, as a field: a list of at most one.
struct OptionalLayer {
    std::vector<AnyLayer> layer;

    [[nodiscard]] auto size() const { return layer.size(); }
    [[nodiscard]] bool empty() const { return layer.empty(); }
    [[nodiscard]] auto begin() const { return layer.begin(); }
    [[nodiscard]] auto end() const { return layer.end(); }
    [[nodiscard]] auto begin() { return layer.begin(); }
    [[nodiscard]] auto end() { return layer.end(); }
};

}  // namespace cambrian
