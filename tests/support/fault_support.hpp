#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "cambrian/engine/backend/backend.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"

// What happens when the n-th allocation fails, for every n.
namespace cambrian::test {

/// Something that fails when it is told to.
struct Faults {
    /// Call `at` (from 1) and those after it fail, `count` in all.
    std::function<void(int at, int count)> arm;
    /// Ends it; how many calls have failed.
    std::function<int()> disarm;
};

/// Refuses memory to the backends it makes.
class CpuRefusal {
  public:
    [[nodiscard]] Faults faults() {
        return {.arm =
                    [this](int at, int count) {
                        left_ = {at, count}, fired_ = 0;
                    },
                .disarm = [this] { return left_ = {}, fired_; }};
    }
    [[nodiscard]] std::unique_ptr<Backend> backend(int threads) {
        return make_cpu_backend({.threads = threads, .math = Math::strict, .refuse_memory = [this] {
                                     return refuses();
                                 }});
    }

  private:
    struct Left {
        int before = 0;  ///< Calls up to the first that fails, that one included; 0: none does.
        int failing = 0;
    };
    bool refuses() {
        if (left_.before == 0 || left_.failing == 0) return false;
        if (left_.before > 1) {
            --left_.before;
            return false;
        }
        --left_.failing;
        ++fired_;
        return true;
    }

    Left left_;
    int fired_ = 0;
};

/// Uses a backend from scratch with the n-th allocation failing, once or from then on, for
/// n = 1, 2, .. until a use is over before. A failure that comes once is overcome; one that stays
/// is an OutOfMemoryError, or overcome too. Nothing is left over, and the backend works
/// afterwards. Returns the last n.
inline int expect_no_fault_hurts(const std::function<std::unique_ptr<Backend>()>& make,
                                 const Faults& faults,
                                 const std::function<std::vector<float>(Backend&)>& use,
                                 const std::string& what) {
    const std::vector<float> expected = use(*make());
    int last = 0;
    for (const int count : {1, 1000000}) {
        int errors = 0;
        for (int at = 1;; ++at) {
            SCOPED_TRACE(what + ": allocation " + std::to_string(at) +
                         (count == 1 ? " fails" : " and all after it fail"));
            const auto backend = make();
            const Backend::Memory start = backend->memory();
            bool failed = false;
            faults.arm(at, count);
            try {
                EXPECT_EQ(use(*backend), expected);
            } catch (const OutOfMemoryError& error) {
                failed = true;
                EXPECT_NE(std::string(error.what()).find(") "), std::string::npos) << error.what();
            }
            const int fired = faults.disarm();
            EXPECT_FALSE(failed && count == 1) << "one failure is overcome";
            errors += failed ? 1 : 0;
            backend->trim();
            EXPECT_EQ(backend->memory().used, start.used);
            EXPECT_EQ(backend->memory().pooled, start.pooled);
            EXPECT_EQ(backend->memory().buffers, start.buffers);
            EXPECT_EQ(backend->memory().programs, start.programs);
            EXPECT_EQ(use(*backend), expected) << "the backend works afterwards";
            if (fired == 0) break;
            last = at;
            if (testing::Test::HasFailure()) return last;
        }
        EXPECT_TRUE(count == 1 || errors > 0) << what << ": nothing has failed";
    }
    return last;
}

}  // namespace cambrian::test
