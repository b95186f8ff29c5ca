#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"
#include "cambrian/tests/conformance/golden_environments.hpp"

// Every case of the golden directory on the backends that every machine has. The suite's name is
// what ctest -R golden looks for.
namespace cambrian::test {
namespace {

TEST(golden, ReferenceInDoublePrecision) {
    expect_golden(*make_reference_backend(Precision::f64));
}

TEST(golden, ReferenceInSinglePrecision) {
    const auto backend = make_reference_backend(Precision::f32);
    expect_golden(*backend);
    expect_golden_number_formats(*backend);
}

TEST(golden, CpuWithStrictMath) {
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict, .poison = true});
    expect_golden(*backend);
    expect_golden_number_formats(*backend);
}

TEST(golden, CpuWithFastMath) {
    expect_golden(*make_cpu_backend({.threads = 2, .math = Math::fast}));
}

TEST(golden, WeightFormats) {
    expect_golden_weight_formats();
}

TEST(golden, WeightFormatsUnpackedByReference) {
    expect_golden_unpacked(*make_reference_backend(Precision::f32));
}

TEST(golden, WeightFormatsUnpackedByCpu) {
    for (const Math math : {Math::strict, Math::fast})
        expect_golden_unpacked(*make_cpu_backend({.threads = 2, .math = math}));
}

/// Trajectories of environments.
class golden_environments : public ::testing::Test {
  protected:
    void SetUp() override {
        if (golden_set_lacks("tasks")) GTEST_SKIP() << "the golden set has no tasks/";
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
