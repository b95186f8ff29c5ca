#pragma once

#include <cstdint>
#include <span>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/engine/weights/initial_value.hpp"

// How the weights of a child come from those of its parents: what a device does where weights lie
// on it, and the host elsewhere, in the same bits. Products and sums are rounded one by one.
namespace cambrian {

/// What a piece of a child's weights starts from, before noise.
enum class WeightSource : std::uint8_t {
    first,    ///< The first parent's.
    second,   ///< The second parent's.
    literal,  ///< Values that the plan of the child brings.
    blend,    ///< (1 − s)·first + s·second, s = blend_share of the similarity of both pieces.
    choose,   ///< Each of the second parent with a probability, else of the first.
    initial,  ///< What a parameter starts with.
    count_,
};

/// Elements of a child's weight vector that are made alike: of one gene, or of one parameter where
/// values are drawn afresh. The number of an element in the child counts its random values.
struct WeightPiece {
    std::int64_t to = 0;     ///< First element in the child.
    std::int64_t from = 0;   ///< First element in the first parent, or among the literals.
    std::int64_t other = 0;  ///< First element in the second parent.
    std::int64_t count = 0;
    std::int64_t before = 0;  ///< Elements of the gene before the piece: a blend compares genes.
    std::int64_t whole = 0;   ///< Elements of the gene; 0: the piece is the gene.
    WeightSource source = WeightSource::first;
    bool noise = false;
    bool replace = false;    ///< Some elements start afresh.
    InitialRule initial{};   ///< Of `replace` and WeightSource::initial.
    std::int64_t index = 0;  ///< Of the first element in its parameter.
    bool operator==(const WeightPiece&) const = default;
};

/// What all pieces of one child have in common.
struct WeightDraws {
    RandomField choose;
    RandomField noise;
    RandomField replace;  ///< Which elements start afresh.
    RandomField fresh;    ///< With what.
    float share = 0.0F;   ///< Of the second parent: probability, or at a similarity of 1.
    float noise_power = 0.0F;
    float replace_rate = 0.0F;
};

/// Sums over two pieces of equal length.
struct SimilaritySums {
    float product = 0.0F;
    float first = 0.0F;   ///< Of squares.
    float second = 0.0F;  ///< Of squares.
};
/// Elements whose sums are made by themselves, in lanes: element i belongs to lane i % 32, lanes
/// are added pairwise, and the sums of chunks one after another.
inline constexpr std::int64_t similarity_chunk = 4096;
inline constexpr std::int64_t similarity_lanes = 32;
[[nodiscard]] SimilaritySums similarity_sums(std::span<const float> first,
                                             std::span<const float> second);
/// Cosine in [-1, 1]: 1 for two zero vectors, 0 for one, or where squares are beyond f32.
[[nodiscard]] float similarity(const SimilaritySums& sums);
/// share · max(similarity, 0).
[[nodiscard]] float blend_share(const SimilaritySums& sums, float share);

struct WeightParents {
    std::span<const float> first;
    std::span<const float> second;
    std::span<const float> literals;
};
/// Makes the weights of one child on the host. Pieces cover them, in order.
void write_weights(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                   const WeightParents& parents, std::span<float> weights);
/// Its two halves: what pieces start from, and the noise and fresh values that follow.
void write_sources(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                   const WeightParents& parents, std::span<float> weights);
void vary_weights(const WeightDraws& draws, std::span<const WeightPiece> pieces,
                  std::span<float> weights);

}  // namespace cambrian
