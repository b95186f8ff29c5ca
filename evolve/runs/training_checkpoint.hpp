#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cambrian/engine/core/hash.hpp"

namespace cambrian::distributed {

/// 2: a checksum of epochs.csv. 3: the epoch of each individual's best, at the end of the state; 2
/// is still read.
inline constexpr std::uint32_t training_format = 3;

/// What a training goes on from (training.cmb): its state between two steps, and how long its
/// tables were then.
struct TrainingCheckpoint {
    std::string identity_json;  ///< Of the training it is of.
    std::string arithmetic;     ///< What a resume must share, see arithmetic_of().
    std::uint64_t epochs_bytes = 0;
    std::uint64_t timings_bytes = 0;
    std::uint64_t observations_bytes = 0;
    Hash128 epochs_checksum;       ///< Of as many bytes.
    std::vector<std::byte> state;  ///< Of the Trainer.
    bool operator==(const TrainingCheckpoint&) const = default;
};

/// Atomically.
void write_training_checkpoint(const std::filesystem::path& path,
                               const TrainingCheckpoint& checkpoint);
/// Throws InputError for a missing file, damaged bytes and another kind of .cmb.
[[nodiscard]] TrainingCheckpoint read_training_checkpoint(const std::filesystem::path& path);

}  // namespace cambrian::distributed
