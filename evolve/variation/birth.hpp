#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian::evolve {

/// Running number of a birth in a run; unique, the coordinate of its random stream.
using BirthId = std::uint64_t;

enum class Recipe : std::uint8_t {
    sample,  ///< A founder, of the starting structure or of the initial network.
    carry,   ///< The parent, unchanged.
    vary,    ///< Splice (with two parents) and mutation.
};
inline constexpr std::array<std::string_view, 3> recipe_names{"sample", "carry", "vary"};
[[nodiscard]] constexpr std::string_view name(Recipe recipe) {
    return recipe_names.at(static_cast<std::size_t>(recipe));
}

/// A place in Strategy::parent_pool().
enum class PoolPlace : std::uint32_t {};
[[nodiscard]] constexpr std::size_t index_of(PoolPlace place) {
    return static_cast<std::size_t>(place);
}

struct Parent {
    BirthId birth = 0;
    double fitness = 0.0;
    PoolPlace place{};
    bool operator==(const Parent&) const = default;
};

/// At most two parents, kept in place: a generation copies its births several times.
class Parents {
  public:
    static constexpr std::size_t max_count = 2;

    Parents() = default;
    Parents(std::initializer_list<Parent> parents) {
        for (const Parent& parent : parents) push_back(parent);
    }

    void push_back(const Parent& parent) {
        CAMBRIAN_ASSERT(count_ < max_count);
        parents_[count_++] = parent;
    }
    void clear() { count_ = 0; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] const Parent* begin() const { return parents_.data(); }
    [[nodiscard]] const Parent* end() const { return parents_.data() + count_; }
    [[nodiscard]] const Parent& operator[](std::size_t index) const {
        CAMBRIAN_EXPECT(index < count_);
        return parents_[index];
    }
    [[nodiscard]] const Parent& front() const { return (*this)[0]; }
    bool operator==(const Parents& other) const {
        return std::equal(begin(), end(), other.begin(), other.end());
    }

  private:
    std::array<Parent, max_count> parents_{};
    std::uint8_t count_ = 0;
};

/// An order for one individual. With its parents' genomes it determines the child completely.
struct Birth {
    BirthId id = 0;
    Recipe recipe = Recipe::sample;
    Parents parents;  ///< Two for a splice, fitter first.
    std::uint32_t island = 0;
    bool simplifies = false;  ///< A child that may lose genes and gains none.
    bool operator==(const Birth&) const = default;
};

enum class Status : std::uint8_t {
    ok,
    non_finite,  ///< Fitness was NaN or infinite.
    failed,      ///< The evaluation threw on two ranks.
};
inline constexpr std::array<std::string_view, 3> status_names{"ok", "non_finite", "failed"};
[[nodiscard]] constexpr std::string_view name(Status status) {
    return status_names.at(static_cast<std::size_t>(status));
}

/// The fitness of an individual without a valid one: below every valid fitness.
inline constexpr double worst_fitness = -std::numeric_limits<double>::infinity();

}  // namespace cambrian::evolve
