#include <gtest/gtest.h>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "op_conformance.hpp"

namespace cambrian::test {
namespace {

TEST(CpuBackend, EqualsTheReferenceForEveryOpUnderStrictMath) {
    const auto backend = make_cpu_backend({.math = Math::strict});
    for (const OpCase& op_case : op_cases()) {
        expect_equal_to_reference(*backend, op_case, 0.0);
    }
}

TEST(CpuBackend, StaysCloseToTheReferenceForEveryOpUnderFastMath) {
    const auto backend = make_cpu_backend({.math = Math::fast});
    for (const OpCase& op_case : op_cases()) {
        expect_equal_to_reference(*backend, op_case, 2e-5);
    }
}

TEST(CpuBackend, IndividualsDoNotDependOnTheirPopulation) {
    for (const Math math : {Math::fast, Math::strict}) {
        const auto backend = make_cpu_backend({.threads = 2, .math = math});
        for (const OpCase& op_case : op_cases()) {
            expect_batch_independent(*backend, op_case);
        }
    }
}

}  // namespace
}  // namespace cambrian::test
