#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cambrian/engine/cpu/bytecode/rows.hpp"

/// How the numbers of a word lie beside each other: rows of one network, or rows of many.
namespace cambrian::cpu::bytecode {

template <int width, class Element>
struct VectorOf {
    using Type [[gnu::vector_size(width * sizeof(Element))]] = Element;
};
template <class Element>
struct VectorOf<1, Element> {
    using Type = Element;
};
template <int width>
using Vector = typename VectorOf<width, float>::Type;
template <int width>
using Mask = typename VectorOf<width, std::int32_t>::Type;

template <int width>
Vector<width> load(const float* from) {
    Vector<width> vector;
    std::memcpy(&vector, from, sizeof(vector));
    return vector;
}
template <int width>
void store(float* to, const Vector<width>& vector) {
    std::memcpy(to, &vector, sizeof(vector));
}
/// A function of a number, of every lane.
template <int width, class Function>
Vector<width> each_lane(const Vector<width>& vector, Function function) {
    float lane[static_cast<std::size_t>(width)];
    store<width>(lane, vector);
    for (float& value : lane) value = function(value);
    return load<width>(lane);
}

/// The state of a network's rows, `stride` words from one to the next.
struct RowState {
    float* first = nullptr;
    std::int64_t stride = 0;
};
/// Words of the state of so many rows, from `first` on, as words of these rows.
inline void load_rows(const RowState& state, std::int64_t first, std::int64_t count,
                      std::int64_t rows, float* to) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float* const from = state.first + row * state.stride + first;
        for (std::int64_t i = 0; i < count; ++i) to[i * rows + row] = from[i];
    }
}
inline void save_rows(const float* from, std::int64_t first, std::int64_t count, std::int64_t rows,
                      const RowState& state) {
    for (std::int64_t row = 0; row < rows; ++row) {
        float* const to = state.first + row * state.stride + first;
        for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * rows + row];
    }
}

/// Words of up to `lanes` rows of one network, the rows of a word side by side and the words
/// without a gap, so that elementwise work has no idle lanes. A vector load sees the rows of the
/// next word in the lanes that are left over; a vector store spills into it, which is why words are
/// stored in ascending order and the last one is blended. All rows share a weight.
template <int lanes>
class RowsOfOne {
  public:
    using Vector = bytecode::Vector<lanes>;
    using State = RowState;
    static constexpr int width = lanes;

    explicit RowsOfOne(std::int64_t rows) : rows_(rows) {
        if constexpr (lanes > 1)
            for (int lane = 0; lane < lanes; ++lane) own_[lane] = lane < rows ? -1 : 0;
    }
    /// Numbers of a word, and the vectors they are read in.
    [[nodiscard]] std::int64_t size() const { return rows_; }
    [[nodiscard]] static constexpr std::int64_t vectors() { return 1; }
    [[nodiscard]] static const float* weights(const float* all, std::int64_t first) {
        return all + first;
    }
    [[nodiscard]] static float weight(const float* weights, std::int64_t i) { return weights[i]; }
    /// The weight of number `number` of a word.
    [[nodiscard]] static float weight_of(const float* weights, std::int64_t i, std::int64_t) {
        return weights[i];
    }

    [[nodiscard]] Vector at(const float* words, std::int64_t i, std::int64_t = 0) const {
        return load<lanes>(words + i * rows_);
    }
    /// Stores a word that a later one follows.
    void put(float* words, std::int64_t i, const Vector& value) const {
        store<lanes>(words + i * rows_, value);
    }
    void put_last(float* words, std::int64_t i, const Vector& value) const {
        if constexpr (lanes == 1)
            put(words, i, value);
        else
            put(words, i, own_ ? value : at(words, i));
    }
    /// words[i] = function(i, vector) for i < count; function may read word i of the same words.
    template <class Function>
    void fill(float* words, std::int64_t count, Function function) const {
        Vector value = function(std::int64_t{0}, std::int64_t{0});
        for (std::int64_t i = 0; i + 1 < count; ++i) {
            const Vector next = function(i + 1, std::int64_t{0});
            put(words, i, value);
            value = next;
        }
        put_last(words, count - 1, value);
    }
    void load_state(const State& state, std::int64_t first, std::int64_t count, float* to) const {
        load_rows(state, first, count, rows_, to);
    }
    void save_state(const float* from, std::int64_t first, std::int64_t count,
                    const State& state) const {
        save_rows(from, first, count, rows_, state);
    }

  private:
    std::int64_t rows_;
    Mask<lanes> own_{};
};

/// Words of so many whole vectors.
template <std::size_t vector_count>
class WholeVectors {
  public:
    using Vector = bytecode::Vector<max_lanes>;
    static constexpr int width = max_lanes;

    [[nodiscard]] static constexpr std::int64_t vectors() {
        return static_cast<std::int64_t>(vector_count);
    }
    [[nodiscard]] static constexpr std::int64_t size() { return vectors() * max_lanes; }
    [[nodiscard]] static Vector at(const float* words, std::int64_t i, std::int64_t v) {
        return load<max_lanes>(words + (i * vectors() + v) * max_lanes);
    }
    static void put(float* words, std::int64_t i, std::int64_t v, const Vector& value) {
        store<max_lanes>(words + (i * vectors() + v) * max_lanes, value);
    }
    template <class Function>
    static void fill(float* words, std::int64_t count, Function function) {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t v = 0; v < vectors(); ++v) put(words, i, v, function(i, v));
    }
};

/// Words of as many rows of one network as fill so many vectors: chains of operations beside each
/// other, none of which waits for itself. All rows share a weight.
template <std::size_t vector_count>
class RowsInVectors : public WholeVectors<vector_count> {
    using Whole = WholeVectors<vector_count>;

  public:
    using State = RowState;

    [[nodiscard]] static const float* weights(const float* all, std::int64_t first) {
        return all + first;
    }
    [[nodiscard]] static float weight(const float* weights, std::int64_t i) { return weights[i]; }
    [[nodiscard]] static float weight_of(const float* weights, std::int64_t i, std::int64_t) {
        return weights[i];
    }

    static void load_state(const State& state, std::int64_t first, std::int64_t count, float* to) {
        load_rows(state, first, count, Whole::size(), to);
    }
    static void save_state(const float* from, std::int64_t first, std::int64_t count,
                           const State& state) {
        save_rows(from, first, count, Whole::size(), state);
    }
};

/// Words of `rows` rows of networks side by side: row after row, in each the networks. A weight is
/// a vector, one of each network.
template <std::size_t row_count>
class RowsOfMany : public WholeVectors<row_count> {
    using Whole = WholeVectors<row_count>;

  public:
    using typename Whole::Vector;
    using State = StateColumns;
    static constexpr auto rows = static_cast<std::int64_t>(row_count);

    /// @param networks that there are; the lanes after them are computed and not kept.
    explicit RowsOfMany(std::int64_t networks) : networks_(networks) {}
    [[nodiscard]] static const float* weights(const float* all, std::int64_t first) {
        return all + first * max_lanes;
    }
    [[nodiscard]] static Vector weight(const float* weights, std::int64_t i) {
        return load<max_lanes>(weights + i * max_lanes);
    }
    [[nodiscard]] static float weight_of(const float* weights, std::int64_t i,
                                         std::int64_t number) {
        return weights[i * max_lanes + number % max_lanes];
    }

    static void load_state(const State& state, std::int64_t first, std::int64_t count, float* to) {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t row = 0; row < rows; ++row)
                Whole::put(to, i, row, load<max_lanes>(state.at(row, first + i)));
    }
    void save_state(const float* from, std::int64_t first, std::int64_t count,
                    const State& state) const {
        for (std::int64_t i = 0; i < count; ++i)
            for (std::int64_t row = 0; row < rows; ++row)
                keep(Whole::at(from, i, row), state.at(row, first + i));
    }
    /// Writes the numbers of the networks there are.
    void keep(const Vector& value, float* to) const {
        if (networks_ == max_lanes)
            store<max_lanes>(to, value);
        else
            std::memcpy(to, &value, static_cast<std::size_t>(networks_) * sizeof(float));
    }

  private:
    std::int64_t networks_;
};

/// Vectors of a word that are summed together: as many as registers hold.
template <class Words>
constexpr std::int64_t vectors_at_once = Words::vectors() > max_rows_side_by_side
                                             ? std::int64_t{4}
                                             : Words::vectors();

}  // namespace cambrian::cpu::bytecode
