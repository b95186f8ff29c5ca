#include "cambrian/engine/network/network_text.hpp"

#include <string>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

void check_network_text(std::string_view text, std::string_view what) {
    if (const auto fault = json_text::fault(text, network_text_limits))
        throw ConfigError(std::string(what) + " cannot be written (nothing would read it again: " +
                          fault->why + ") keep the network as .cmb");
}

}  // namespace cambrian
