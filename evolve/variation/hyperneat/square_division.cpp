#include "cambrian/evolve/variation/hyperneat/square_division.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cambrian::evolve {

namespace {

constexpr std::size_t parts = 4;
/// Where the centres of the parts of a square lie, in halves of their distance.
constexpr std::array<std::array<float, 2>, parts> corners{
    {{-1.0F, -1.0F}, {1.0F, -1.0F}, {-1.0F, 1.0F}, {1.0F, 1.0F}}};
/// The neighbours of a place: left, right, below, above.
constexpr std::array<std::array<float, 2>, 4> sides{
    {{-1.0F, 0.0F}, {1.0F, 0.0F}, {0.0F, -1.0F}, {0.0F, 1.0F}}};

SubstratePoint moved(const SubstratePoint& place, const std::array<float, 2>& direction,
                     float length) {
    return {place[0] + direction[0] * length, place[1] + direction[1] * length, 0.0F};
}

}  // namespace

std::span<const SquareDivision::Found> SquareDivision::find(const SubstratePoint& node,
                                                            bool outgoing) {
    node_ = node;
    outgoing_ = outgoing;
    candidates_.clear();
    found_.clear();
    divide();
    extract(0);
    keep_bands();
    return found_;
}

void SquareDivision::ask(const SubstratePoint& place) {
    if (outgoing_) {
        cppn_.ask(node_, place);
    } else {
        cppn_.ask(place, node_);
    }
}

void SquareDivision::divide() {
    squares_.assign(1, Square{});
    std::vector<std::size_t> open{0};
    while (!open.empty()) {
        const std::size_t first = squares_.size();
        for (const std::size_t parent : open) {
            const Square whole = squares_[parent];
            squares_[parent].children = squares_.size();
            for (const std::array<float, 2>& corner : corners) {
                const float half = 0.5F * whole.half;
                const SubstratePoint centre = moved(whole.centre, corner, half);
                squares_.push_back({.centre = centre, .half = half, .depth = whole.depth + 1});
                ask(centre);
            }
        }
        const std::span<const Cppn::Answer> answers = cppn_.answers();
        for (std::size_t i = 0; i < answers.size(); ++i) {
            squares_[first + i].answer = answers[i];
        }
        std::vector<std::size_t> next;
        for (const std::size_t parent : open) {
            const std::int64_t depth = squares_[parent].depth + 1;
            const bool further = depth < settings_.initial_depth ||
                                 (depth < settings_.maximum_depth &&
                                  variance(parent) > settings_.division_threshold);
            for (std::size_t part = 0; further && part < parts; ++part) {
                next.push_back(squares_[parent].children + part);
            }
        }
        open = std::move(next);
    }
}

void SquareDivision::extract(std::size_t square) {
    for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t child = squares_[square].children + part;
        if (squares_[child].children != 0 && variance(child) >= settings_.variance_threshold) {
            extract(child);
        } else {
            candidates_.push_back(child);
        }
    }
}

/// A place is kept where the weight is other than on both sides, as within a band.
void SquareDivision::keep_bands() {
    for (const std::size_t candidate : candidates_) {
        const Square& square = squares_[candidate];
        for (const std::array<float, 2>& side : sides) {
            ask(moved(square.centre, side, 2.0F * square.half));
        }
    }
    const std::span<const Cppn::Answer> answers = cppn_.answers();
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
        const Square& square = squares_[candidates_[i]];
        const auto difference = [&](std::size_t side) {
            return std::abs(square.answer.weight - answers[i * sides.size() + side].weight);
        };
        const float across = std::min(difference(0), difference(1));
        const float along = std::min(difference(2), difference(3));
        if (static_cast<double>(std::max(across, along)) > settings_.band_threshold) {
            found_.push_back({square.centre, square.answer});
        }
    }
}

void SquareDivision::add_leaves(std::size_t square) {
    const std::size_t children = squares_[square].children;
    if (children == 0) {
        leaves_.push_back(static_cast<double>(squares_[square].answer.weight));
        return;
    }
    for (std::size_t part = 0; part < parts; ++part) {
        add_leaves(children + part);
    }
}

double SquareDivision::variance(std::size_t square) {
    leaves_.clear();
    add_leaves(square);
    const auto count = static_cast<double>(leaves_.size());
    double sum = 0.0;
    for (const double weight : leaves_) {
        sum += weight;
    }
    const double mean = sum / count;
    double squares = 0.0;
    for (const double weight : leaves_) {
        squares += (weight - mean) * (weight - mean);
    }
    return squares / count;
}

}  // namespace cambrian::evolve
