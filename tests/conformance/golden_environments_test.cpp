#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/golden_environments.hpp"

// Trajectories of environments on the backends that every machine has.
namespace cambrian::test {
namespace {

class golden_environments : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!has_golden_environments())
            GTEST_SKIP() << "the golden directory has no folder tasks: set CAMBRIAN_GOLDEN_DIR to "
                            "one that has";
    }
};

TEST_F(golden_environments, StepsInDoublePrecision) {
    expect_golden_steps(*make_reference_backend(Precision::f64), GoldenBound::f64);
}

TEST_F(golden_environments, FreeRunsInDoublePrecision) {
    expect_golden_free_runs(*make_reference_backend(Precision::f64));
}

TEST_F(golden_environments, StepsOnTheCpu) {
    for (const Math math : {Math::strict, Math::fast})
        expect_golden_steps(*make_cpu_backend({.threads = 2, .math = math}), GoldenBound::f32);
}

TEST_F(golden_environments, WalksInTheMaze) {
    expect_golden_mazes(*make_reference_backend(Precision::f64), GoldenBound::f64);
    expect_golden_mazes(*make_cpu_backend({.threads = 2, .math = Math::strict}), GoldenBound::f32);
}

TEST_F(golden_environments, FitnessOfDampedPoles) {
    expect_golden_damping(*make_reference_backend(Precision::f64));
}

TEST_F(golden_environments, StartsThatALinearControllerHolds) {
    expect_golden_generalisation(*make_cpu_backend({.threads = 2, .math = Math::strict}));
}

}  // namespace
}  // namespace cambrian::test
