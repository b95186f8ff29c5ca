#pragma once

#include <cstdint>
#include <string>

// The scripts of a page. They load nothing but, of a page that is served, its version.
namespace cambrian::launch {

/// Plays the frames of the element replay-data.
[[nodiscard]] std::string replay_script();

/// Asks the server of the page every two seconds whether there is a newer one, and loads that.
[[nodiscard]] std::string watch_script(std::uint64_t version);

}  // namespace cambrian::launch
