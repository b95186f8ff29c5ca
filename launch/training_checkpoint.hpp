#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace cambrian::launch {

/// What a training goes on from (training.cmb): its state between two epochs, and how long its
/// tables were then.
struct TrainingCheckpoint {
    std::string identity_json;  ///< Of the training it is of.
    std::uint64_t epochs_bytes = 0;
    std::uint64_t timings_bytes = 0;
    std::uint64_t observations_bytes = 0;
    std::vector<std::byte> state;  ///< Of the Trainer.
    bool operator==(const TrainingCheckpoint&) const = default;
};

/// Atomically.
void write_training_checkpoint(const std::filesystem::path& path,
                               const TrainingCheckpoint& checkpoint);
/// Nothing where there is no such file. Throws InputError for damaged bytes or another kind of
/// .cmb.
[[nodiscard]] std::optional<TrainingCheckpoint> read_training_checkpoint(
    const std::filesystem::path& path);

}  // namespace cambrian::launch
