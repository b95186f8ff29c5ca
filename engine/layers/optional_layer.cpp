#include "cambrian/engine/layers/optional_layer.hpp"

#include "cambrian/engine/layers/any_layer.hpp"

namespace cambrian {

std::size_t OptionalLayer::size() const {
    return layer.size();
}

bool OptionalLayer::empty() const {
    return layer.empty();
}

std::vector<AnyLayer>::const_iterator OptionalLayer::begin() const {
    return layer.begin();
}

std::vector<AnyLayer>::const_iterator OptionalLayer::end() const {
    return layer.end();
}

std::vector<AnyLayer>::iterator OptionalLayer::begin() {
    return layer.begin();
}

std::vector<AnyLayer>::iterator OptionalLayer::end() {
    return layer.end();
}

}  // namespace cambrian
