#pragma once

#include <gtest/gtest.h>

#include <optional>

#include "cambrian/tests/engine/train/training_support.hpp"

namespace cambrian::test {

inline void expect_same_memory(const Backend::Memory& a, const Backend::Memory& b,
                               const std::string& when) {
    EXPECT_EQ(a.used, b.used) << when;
    EXPECT_EQ(a.pooled, b.pooled) << when;
    EXPECT_EQ(a.buffers, b.buffers) << when;
    EXPECT_EQ(a.programs, b.programs) << when;
    EXPECT_EQ(a.allocations, b.allocations) << when;
}

/// Trains, asks and makes buffers for a hundred steps: after the first few nothing grows and
/// nothing is taken from the system any more, and all is as it was when all has ended.
inline void expect_steady_memory(Backend& backend) {
    backend.trim();
    const Backend::Memory start = backend.memory();
    {
        Training training(backend, 3);
        const auto step = [&] {
            training.step();
            training.infer();
            const auto passing = backend.allocate(ValueType::real, 1000);
            return training.answer();
        };
        for (int i = 0; i < 3; ++i) (void)step();
        const Backend::Memory warm = backend.memory();
        EXPECT_EQ(warm.programs, start.programs + 2);
        EXPECT_GT(warm.buffers, start.buffers);
        for (int i = 0; i < 100; ++i) (void)step();
        expect_same_memory(backend.memory(), warm, "after 100 steps");
    }
    backend.trim();
    EXPECT_EQ(backend.memory().used, start.used);
    EXPECT_EQ(backend.memory().pooled, start.pooled);
    EXPECT_EQ(backend.memory().buffers, start.buffers);
    EXPECT_EQ(backend.memory().programs, start.programs);
}

}  // namespace cambrian::test
