#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// The fuzz targets, and what they may use.
namespace cambrian {

/// Each reads bytes of any content. An InputError or ShapeError is an answer; anything else that
/// leaves it, and a report of a sanitizer, is a finding.
#define CAMBRIAN_FUZZ_ROW(name) void fuzz_##name(std::span<const std::byte> bytes);
#include "cambrian/tests/fuzz/targets.inl"
#undef CAMBRIAN_FUZZ_ROW

/// Ends the process with a finding unless the condition holds.
void fuzz_expect(bool condition);

/// Runs a target, whose answers are not told.
void run_target(void (*target)(std::span<const std::byte>), std::span<const std::byte> bytes);

}  // namespace cambrian
