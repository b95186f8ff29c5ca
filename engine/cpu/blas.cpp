#include "cambrian/engine/cpu/blas.hpp"

#include <cblas.h>

#include <mutex>

namespace cambrian::cpu {

void BlasProduct::operator()(const float* a, const float* b, float* c) const {
    // The library is one for the process, and so is the lock that it lacks.
    static std::mutex calls;
    const auto index = [](std::int64_t extent) { return static_cast<blasint>(extent); };
    const std::lock_guard lock(calls);
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, index(m), index(n), index(k), factor, a,
                index(transpose_a ? m : k), b, index(transpose_b ? k : n), adds ? 1.0F : 0.0F, c,
                index(n));
}

}  // namespace cambrian::cpu
