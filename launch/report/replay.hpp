#pragma once

#include <cstdint>
#include <string>

#include "cambrian/evolve/tasks/picture.hpp"

namespace cambrian::launch {

/// Steps of an episode that a replay has at most, and the frames that show them.
inline constexpr std::int64_t max_replay_steps = 4000;
inline constexpr std::size_t max_replay_frames = 1000;

/// An episode of the best network.
struct Replay {
    evolve::DrawnEpisode episode;
    std::string phase{};  ///< Of the task.
    std::uint64_t seed = 0;
    std::string command{};  ///< That evaluates the same episodes.
};

/// A player as HTML: the first frame as a picture, all of them as numbers, and the script that
/// shows them, which loads nothing. Of long episodes every so many steps, as a text says. Empty
/// where there is no picture.
[[nodiscard]] std::string replay_html(const Replay& replay);

}  // namespace cambrian::launch
