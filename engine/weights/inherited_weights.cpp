#include "cambrian/engine/weights/inherited_weights.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/elementary.hpp"

namespace cambrian {
namespace {

constexpr std::size_t run_length = 1024;
constexpr std::size_t word_count = 4;  // of a block of random words
/// Random values of a run, and those of its first block that come before it.
using Run = std::array<float, run_length + word_count>;

using Fill = void (RandomField::*)(std::uint64_t, std::span<float>) const;

/// Values number `first` and up. Whole blocks: the edges cost nothing then.
std::span<const float> values_of(const RandomField& field, Fill fill, std::int64_t first,
                                 std::size_t count, Run& run) {
    const std::size_t before = static_cast<std::size_t>(first) % word_count;
    (field.*fill)(static_cast<std::uint64_t>(first) - before, std::span(run).first(before + count));
    return std::span(run).subspan(before, count);
}

template <class Value>
std::span<Value> part(std::span<Value> values, std::int64_t first, std::int64_t count) {
    CAMBRIAN_ASSERT(first >= 0 && count >= 0 &&
                    static_cast<std::size_t>(first + count) <= values.size());
    return values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

/// Calls f(first element in the piece, elements) for runs of a piece.
template <class F>
void for_each_run(std::int64_t count, const F& f) {
    constexpr auto length = static_cast<std::int64_t>(run_length);
    for (std::int64_t first = 0; first < count; first += length)
        f(first, static_cast<std::size_t>(std::min(length, count - first)));
}

SimilaritySums chunk_sums(std::span<const float> first, std::span<const float> second) {
    constexpr auto lanes = static_cast<std::size_t>(similarity_lanes);
    using Lanes = std::array<float, lanes>;
    Lanes product{};
    Lanes squares{};
    Lanes others{};
    const auto add = [&](std::size_t start, std::size_t count) {
        for (std::size_t lane = 0; lane < count; ++lane) {
            const float a = first[start + lane];
            const float b = second[start + lane];
            product[lane] += a * b;
            squares[lane] += a * a;
            others[lane] += b * b;
        }
    };
    std::size_t start = 0;
    for (; start + lanes <= first.size(); start += lanes) add(start, lanes);
    add(start, first.size() - start);
    for (std::size_t half = lanes / 2; half > 0; half /= 2)
        for (std::size_t lane = 0; lane < half; ++lane) {
            product[lane] += product[lane + half];
            squares[lane] += squares[lane + half];
            others[lane] += others[lane + half];
        }
    return {product[0], squares[0], others[0]};
}

void blend(float share, std::span<const float> first, std::span<const float> second,
           std::span<float> weights) {
    const float rest = 1.0F - share;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const float mixed = rest * first[i] + share * second[i];
        weights[i] = first[i] == second[i] ? first[i] : mixed;
    }
}

void choose(const WeightDraws& draws, const WeightPiece& piece, std::span<const float> first,
            std::span<const float> second, std::span<float> weights) {
    Run run;
    for_each_run(piece.count, [&](std::int64_t start, std::size_t count) {
        const auto uniforms =
            values_of(draws.choose, &RandomField::fill_uniform, piece.to + start, count, run);
        const auto at = static_cast<std::size_t>(start);
        for (std::size_t i = 0; i < count; ++i)
            weights[at + i] = uniforms[i] < draws.share ? second[at + i] : first[at + i];
    });
}

void start_afresh(const WeightDraws& draws, const WeightPiece& piece, std::span<float> weights) {
    Run run;
    for_each_run(piece.count, [&](std::int64_t start, std::size_t count) {
        const auto uniforms =
            values_of(draws.fresh, &RandomField::fill_uniform, piece.to + start, count, run);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t at = start + static_cast<std::int64_t>(i);
            weights[static_cast<std::size_t>(at)] =
                initial_value(piece.initial, piece.index + at, uniforms[i]);
        }
    });
}

/// Sums over the genes that blended pieces are of. A gene that was cut has many pieces in a row.
class GeneSums {
  public:
    explicit GeneSums(const WeightParents& parents) : parents_(parents) {}

    const SimilaritySums& of(const WeightPiece& piece) {
        const std::array gene{piece.from - piece.before, piece.other - piece.before,
                              piece.whole > 0 ? piece.whole : piece.count};
        if (gene != gene_) {
            gene_ = gene;
            sums_ = similarity_sums(part(parents_.first, gene[0], gene[2]),
                                    part(parents_.second, gene[1], gene[2]));
        }
        return sums_;
    }

  private:
    const WeightParents& parents_;
    std::array<std::int64_t, 3> gene_{-1, -1, -1};  ///< First elements, and how many.
    SimilaritySums sums_;
};

void write_source(const WeightDraws& draws, const WeightPiece& piece, const WeightParents& parents,
                  GeneSums& sums, std::span<float> weights) {
    const auto first = [&] { return part(parents.first, piece.from, piece.count); };
    const auto second = [&] { return part(parents.second, piece.other, piece.count); };
    switch (piece.source) {
        case WeightSource::first:
            std::copy_n(first().data(), weights.size(), weights.data());
            break;
        case WeightSource::second:
            std::copy_n(second().data(), weights.size(), weights.data());
            break;
        case WeightSource::literal:
            std::copy_n(part(parents.literals, piece.from, piece.count).data(), weights.size(),
                        weights.data());
            break;
        case WeightSource::blend:
            blend(blend_share(sums.of(piece), draws.share), first(), second(), weights);
            break;
        case WeightSource::choose:
            choose(draws, piece, first(), second(), weights);
            break;
        case WeightSource::initial:
        case WeightSource::count_:
            start_afresh(draws, piece, weights);
            break;
    }
}

void add_noise(const WeightDraws& draws, std::int64_t to, std::span<float> weights) {
    constexpr float largest = std::numeric_limits<float>::max();
    Run run;
    for_each_run(static_cast<std::int64_t>(weights.size()),
                 [&](std::int64_t start, std::size_t count) {
                     const auto noise =
                         values_of(draws.noise, &RandomField::fill_normal, to + start, count, run);
                     const auto at = static_cast<std::size_t>(start);
                     for (std::size_t i = 0; i < count; ++i) {
                         const float moved = weights[at + i] + draws.noise_power * noise[i];
                         weights[at + i] = std::min(std::max(moved, -largest), largest);
                     }
                 });
}

void replace_some(const WeightDraws& draws, const WeightPiece& piece, std::span<float> weights) {
    Run choice_run;
    Run fresh_run;
    for_each_run(piece.count, [&](std::int64_t start, std::size_t count) {
        const auto choice = values_of(draws.replace, &RandomField::fill_uniform, piece.to + start,
                                      count, choice_run);
        const auto fresh =
            values_of(draws.fresh, &RandomField::fill_uniform, piece.to + start, count, fresh_run);
        for (std::size_t i = 0; i < count; ++i) {
            const std::int64_t at = start + static_cast<std::int64_t>(i);
            if (choice[i] < draws.replace_rate)
                weights[static_cast<std::size_t>(at)] =
                    initial_value(piece.initial, piece.index + at, fresh[i]);
        }
    });
}

}  // namespace

SimilaritySums similarity_sums(std::span<const float> first, std::span<const float> second) {
    CAMBRIAN_EXPECT(first.size() == second.size());
    constexpr auto chunk = static_cast<std::size_t>(similarity_chunk);
    SimilaritySums sums;
    for (std::size_t start = 0; start < first.size(); start += chunk) {
        const std::size_t count = std::min(chunk, first.size() - start);
        const SimilaritySums more =
            chunk_sums(first.subspan(start, count), second.subspan(start, count));
        sums.product += more.product;
        sums.first += more.first;
        sums.second += more.second;
    }
    return sums;
}

float similarity(const SimilaritySums& sums) {
    constexpr float largest = std::numeric_limits<float>::max();
    const bool first = sums.first > 0.0F;
    const bool second = sums.second > 0.0F;
    if (!first && !second) return 1.0F;
    if (!first || !second || sums.first > largest || sums.second > largest) return 0.0F;
    const float cosine =
        elementary::divide(elementary::divide(sums.product, elementary::sqrt(sums.first)),
                           elementary::sqrt(sums.second));
    return std::min(std::max(cosine, -1.0F), 1.0F);
}

float blend_share(const SimilaritySums& sums, float share) {
    return share * std::max(similarity(sums), 0.0F);
}

void write_weights(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                   const WeightParents& parents, std::span<float> weights) {
    write_sources(draws, pieces, parents, weights);
    vary_weights(draws, pieces, weights);
}

void write_sources(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                   const WeightParents& parents, std::span<float> weights) {
    GeneSums sums(parents);
    for (const WeightPiece& piece : pieces)
        write_source(draws, piece, parents, sums, part(weights, piece.to, piece.count));
}

void vary_weights(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                  std::span<float> weights) {
    // Neighbours share a run of noise: a small network has many short genes.
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (!pieces[i].noise) continue;
        const std::int64_t to = pieces[i].to;
        while (i + 1 < pieces.size() && pieces[i + 1].noise) ++i;
        add_noise(draws, to, part(weights, to, pieces[i].to + pieces[i].count - to));
    }
    for (const WeightPiece& piece : pieces)
        if (piece.replace) replace_some(draws, piece, part(weights, piece.to, piece.count));
}

}  // namespace cambrian
