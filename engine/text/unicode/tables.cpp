#include "cambrian/engine/text/unicode/tables.hpp"

#include <array>

namespace cambrian::unicode::tables {
namespace {
namespace written {
#include "cambrian/engine/text/unicode/tables.inl"
}  // namespace written
}  // namespace

std::span<const ClassRun> class_runs() {
    return written::class_runs;
}
std::span<const ClassRun> combining_runs() {
    return written::combining_runs;
}
std::span<const Decomposition> decompositions() {
    return written::decompositions;
}
std::span<const std::uint16_t> compositions() {
    return written::compositions;
}

}  // namespace cambrian::unicode::tables
