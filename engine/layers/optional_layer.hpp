#pragma once

#include <cstddef>
#include <vector>

namespace cambrian {

class AnyLayer;

/// A layer or none, as a field: a list of at most one.
struct OptionalLayer {
    std::vector<AnyLayer> layer;

    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] std::vector<AnyLayer>::const_iterator begin() const;
    [[nodiscard]] std::vector<AnyLayer>::const_iterator end() const;
    [[nodiscard]] std::vector<AnyLayer>::iterator begin();
    [[nodiscard]] std::vector<AnyLayer>::iterator end();
};

}  // namespace cambrian
