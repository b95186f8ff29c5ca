#pragma once

#include <cstddef>
#include <span>
#include <string_view>

// The fuzz targets, and what they may use.
namespace cambrian {

/// Each reads bytes of any content. An InputError or ShapeError is an answer; anything else that
/// leaves it, and a report of a sanitizer, is a finding.
void fuzz_blueprint(std::span<const std::byte> bytes);
void fuzz_container(std::span<const std::byte> bytes);
void fuzz_idx(std::span<const std::byte> bytes);
void fuzz_individuals(std::span<const std::byte> bytes);
void fuzz_json(std::span<const std::byte> bytes);
void fuzz_network(std::span<const std::byte> bytes);
void fuzz_preparation(std::span<const std::byte> bytes);
void fuzz_safetensors(std::span<const std::byte> bytes);
void fuzz_safetensors_index(std::span<const std::byte> bytes);
void fuzz_tokenizer(std::span<const std::byte> bytes);

/// Ends the process with a finding unless the condition holds.
void fuzz_expect(bool condition);

/// Runs a target, whose answers are not told.
void run_target(void (*target)(std::span<const std::byte>), std::span<const std::byte> bytes);

}  // namespace cambrian
