#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string_view>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/variation/child_plan.hpp"

// That a rate of mutation is the rate of its own operator, and of no other.
namespace cambrian::evolve::testing {

/// How many of some births differ from their parent, each of which must be as it should.
/// @param mutate changes the structure of a child: (rng, plan, birth).
/// @param is_hit what a child is like whom a mutation hit: (parent, child).
template <class Mutate, class IsHit>
int differing(const std::shared_ptr<const Structure>& parent, std::string_view stream, int births,
              const Mutate& mutate, const IsHit& is_hit) {
    int differ = 0;
    int as_told = 0;
    for (std::uint64_t id = 0; id < static_cast<std::uint64_t>(births); ++id) {
        RandomStream rng(random_key(5, stream), id);
        ChildPlan child;
        child.begin(parent);
        mutate(rng, child, id);
        if (*child.structure == *parent) {
            continue;
        }
        ++differ;
        as_told += is_hit(parent->genome(), child.structure->genome()) ? 1 : 0;
    }
    EXPECT_EQ(as_told, differ);
    return differ;
}

/// @param rates rows with a key, and how many draws its rate has in the parent.
/// @param hits how many of some births a rate hits: (row, rate, births).
template <class Rates, class Hits>
void expect_own_rates(const Rates& rates, const Hits& hits) {
    for (const auto& own : rates) {
        SCOPED_TRACE(own.key);
        EXPECT_EQ(hits(own, 0.0F, 4), 0);
        EXPECT_GE(hits(own, 1.0F, 40), 38);
        EXPECT_NEAR(hits(own, 0.25F, 400), 400.0 * (1.0 - std::pow(0.75, own.draws)), 40.0);
    }
}

}  // namespace cambrian::evolve::testing
