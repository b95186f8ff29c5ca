#pragma once

#include <cstdint>

#include "cambrian/engine/train/source.hpp"

// Samples from formulas; every random number is drawn from the stream of the seed.
namespace cambrian {

/// The four rows of exclusive or; classes 0 and 1.
struct XorSource {};
/// y = sin(π cycles x) for x from −1 to 1, plus normal noise.
struct SineSource {
    std::int64_t rows = 256;
    double cycles = 2.0;
    double noise = 0.0;
};
/// Two spirals around each other: angle t from 0 to 2π turns at radius t / (2π turns), the second
/// one turned by π, plus normal noise; classes 0 and 1.
struct SpiralsSource {
    std::int64_t rows = 400;
    double turns = 1.5;
    double noise = 0.0;
};
/// Normal clouds around centres that are drawn from [−1, 1]; one class each.
struct BlobsSource {
    std::int64_t rows = 300;
    std::int64_t classes = 3;
    std::int64_t features = 2;
    double spread = 0.1;
};
/// Sequences of random −1 and 1; the target is the input `delay` steps ago, before that 0.
struct DelaySource {
    std::int64_t rows = 256;
    std::int64_t steps = 16;
    std::int64_t delay = 2;
};

[[nodiscard]] SourceRows rows_of(const XorSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SineSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const SpiralsSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const BlobsSource& source, const SourceContext& context);
[[nodiscard]] SourceRows rows_of(const DelaySource& source, const SourceContext& context);

}  // namespace cambrian
