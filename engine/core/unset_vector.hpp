#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace cambrian {

/// Leaves elements unset that are made without a value.
template <class T>
struct UnsetAllocator : std::allocator<T> {
    template <class Other>
    struct rebind {  // NOLINT(readability-identifier-naming): the name that allocators have
        using other = UnsetAllocator<Other>;
    };
    template <class Element, class... Arguments>
    void construct(Element* place, Arguments&&... arguments) {
        if constexpr (sizeof...(Arguments) == 0)
            ::new (static_cast<void*>(place)) Element;
        else
            std::construct_at(place, std::forward<Arguments>(arguments)...);
    }
};

/// A vector of numbers whose size is known before they are: resize() does not write them, which for
/// large ones would take as long as all else that is done with them.
template <class T>
using UnsetVector = std::vector<T, UnsetAllocator<T>>;

}  // namespace cambrian
