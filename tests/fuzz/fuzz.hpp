#pragma once

#include <cstddef>
#include <span>

// What a fuzz target defines, and what it may use.
namespace cambrian {

/// Reads bytes of any content. An InputError or ShapeError is an answer; anything else that leaves
/// it, and a report of a sanitizer, is a finding.
void fuzz(std::span<const std::byte> bytes);

/// Ends the process with a finding unless the condition holds.
void fuzz_expect(bool condition);

}  // namespace cambrian
