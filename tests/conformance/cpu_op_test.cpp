#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/conformance/op_conformance.hpp"

// The CPU backend against the op table: strict math in every bit, fast math within rounding.
namespace cambrian::test {
namespace {

TEST(CpuConformance, StrictMathEqualsTheReferenceInEveryBit) {
    const auto backend = make_cpu_backend({.threads = 2, .math = Math::strict, .poison = true});
    for (const OpCase& op_case : op_cases()) expect_equal_to_reference(*backend, op_case, 0.0);
}

TEST(CpuConformance, FastMathIsWithinRoundingOfTheReference) {
    const auto backend = make_cpu_backend({.threads = 1, .math = Math::fast, .poison = true});
    for (const OpCase& op_case : op_cases()) expect_equal_to_reference(*backend, op_case, 1e-5);
}

TEST(CpuConformance, IndividualsDoNotDependOnTheirPopulation) {
    for (const Math math : {Math::strict, Math::fast}) {
        const auto backend = make_cpu_backend({.threads = 2, .math = math});
        for (const OpCase& op_case : op_cases()) expect_batch_independent(*backend, op_case);
    }
}

}  // namespace
}  // namespace cambrian::test
