#include "cambrian/engine/network/packed_weights.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "cambrian/engine/core/contract.hpp"

namespace cambrian {

namespace {

std::size_t as_size(std::int64_t count) {
    return static_cast<std::size_t>(count);
}

/// Rows of bytes as rows of words.
void copy_codes(const QuantisedMatrix& matrix, std::int64_t row_words,
                std::span<std::int32_t> words) {
    const std::int64_t row_bytes = matrix.row_bytes();
    for (std::int64_t r = 0; r < matrix.extents.rows; ++r)
        for (std::int64_t w = 0; w < row_words; ++w) {
            std::uint32_t word = 0;
            for (std::int64_t i = 0; i < 4 && 4 * w + i < row_bytes; ++i)
                word |= std::uint32_t{matrix.codes[as_size(r * row_bytes + 4 * w + i)]} << (8 * i);
            words[as_size(r * row_words + w)] = static_cast<std::int32_t>(word);
        }
}

/// The zero points of rows as rows of words; `of_all` stands for those of every row.
void copy_zero_points(const QuantisedMatrix& matrix, const PackedAttribute& packed, bool of_all,
                      std::span<std::int32_t> words) {
    const std::int64_t groups = scales_of_row(packed);
    const std::int64_t row_words = zero_point_words(packed);
    const std::uint32_t bits = row(packed.dtype).bits;
    const std::int64_t in_word = 32 / bits;
    std::ranges::fill(words, 0);
    for (std::int64_t r = 0; r < matrix.extents.rows; ++r)
        for (std::int64_t g = 0; g < groups; ++g) {
            const std::uint64_t code = matrix.scaling(of_all ? 0 : r * groups + g).zero_point;
            words[as_size(r * row_words + g / in_word)] |= static_cast<std::int32_t>(
                static_cast<std::uint32_t>(code) << static_cast<std::uint32_t>(g % in_word) * bits);
        }
}

/// What kernels see of a matrix; the scale of all of it stands beside every row.
PackedAttribute packed_attribute(const EncodedRange& encoded) {
    PackedAttribute packed{.dtype = encoded.dtype, .length = encoded.extents.columns};
    const ScaleGroup group = encoded.scheme().group;
    const ScaleGroup seen = group == ScaleGroup::tensor ? ScaleGroup::row : group;
    if (seen != row(encoded.dtype).group) packed.scales = seen;
    return packed;
}

}  // namespace

PackedWeights::PackedWeights(const Network& network, std::int64_t min_numbers)
    : ranges_(network.weights().begin(), network.weights().end()),
      first_word_(std::max<std::int64_t>(network.activation_count(), 1)) {
    for (const WeightRange& range : ranges_) {
        encoded_.push_back(encoded_range(network.blueprint(), range));
        add(range, encoded_.back(), min_numbers);
    }
    // What a program binds is never empty.
    if (any()) floats_ = std::max<std::int64_t>(floats_, 1);
}

void PackedWeights::add(const WeightRange& range, const std::optional<EncodedRange>& encoded,
                        std::int64_t min_numbers) {
    Place place{.floats = floats_};
    if (encoded && can_pack(encoded->dtype) && range.count >= min_numbers) {
        place.packed = packed_attribute(*encoded);
        place.extents = encoded->extents;
        place.words = words_;
        words_ += encoded->extents.rows * packed_words(*place.packed);
        place.zero_points = words_;
        words_ += encoded->extents.rows * zero_point_words(*place.packed);
        floats_ += encoded->extents.rows * scales_of_row(*place.packed);
    } else {
        floats_ += range.count;
    }
    places_.push_back(place);
}

void PackedWeights::pack(std::span<const float> masters, std::span<float> floats,
                         std::span<std::int32_t> words) const {
    CAMBRIAN_EXPECT(static_cast<std::int64_t>(floats.size()) == floats_ &&
                    static_cast<std::int64_t>(words.size()) == words_);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        const Place& place = places_[i];
        const auto own = masters.subspan(as_size(ranges_[i].offset), as_size(ranges_[i].count));
        if (!place.packed) {
            const auto to = floats.subspan(as_size(place.floats), own.size());
            std::ranges::copy(own, to.begin());
            if (encoded_[i]) encoded_[i]->round(to);
            continue;
        }
        const QuantisedMatrix matrix = encoded_[i]->quantised(own);
        const std::int64_t row_words = packed_words(*place.packed);
        copy_codes(matrix, row_words,
                   words.subspan(as_size(place.words), as_size(place.extents.rows * row_words)));
        const bool of_all = matrix.scheme.group == ScaleGroup::tensor;
        const std::int64_t groups = place.extents.rows * scales_of_row(*place.packed);
        for (std::int64_t group = 0; group < groups; ++group)
            floats[as_size(place.floats + group)] = matrix.scaling(of_all ? 0 : group).scale;
        if (const std::int64_t width = zero_point_words(*place.packed); width > 0)
            copy_zero_points(
                matrix, *place.packed, of_all,
                words.subspan(as_size(place.zero_points), as_size(place.extents.rows * width)));
    }
}

EvaluatedOperands evaluated_operands(const Network& network, std::span<const float> masters,
                                     std::int64_t min_numbers) {
    EvaluatedOperands result{
        .weights = {}, .activations = network.activation_codes(), .packed = {}};
    const PackedWeights packed(network, min_numbers);
    result.weights.resize(as_size(packed.floats()));
    result.activations.resize(as_size(packed.integers()));
    packed.pack(masters, result.weights,
                std::span(result.activations).subspan(as_size(packed.first_word())));
    if (packed.any()) result.packed = std::make_shared<const PackedWeights>(packed);
    return result;
}

}  // namespace cambrian
