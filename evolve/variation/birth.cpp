#include "cambrian/evolve/variation/birth.hpp"

#include <array>

namespace cambrian::evolve {

namespace {

constexpr std::array<std::string_view, 3> recipe_names{"sample", "carry", "vary"};
constexpr std::array<std::string_view, 3> status_names{"ok", "non_finite", "failed"};

}  // namespace

std::string_view name(Recipe recipe) {
    return recipe_names.at(static_cast<std::size_t>(recipe));
}

std::string_view name(Status status) {
    return status_names.at(static_cast<std::size_t>(status));
}

}  // namespace cambrian::evolve
