#include "cambrian/engine/text/tokenizer_definition.hpp"

#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"

namespace cambrian {

void refuse_definition(std::string_view source, std::string_view why) {
    throw InputError(
        fmt::format("{} contradicts itself ({}) write it again or name another file", source, why));
}

}  // namespace cambrian
