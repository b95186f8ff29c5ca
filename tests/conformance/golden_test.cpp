#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/reference/reference.hpp"
#include "cambrian/tests/conformance/golden_cases.hpp"

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

}  // namespace
}  // namespace cambrian::test
