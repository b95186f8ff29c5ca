#include "cambrian/evolve/runs/training_checkpoint.hpp"

#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/container.hpp"
#include "cambrian/engine/network/archive/archive.hpp"
#include "cambrian/evolve/runs/network_file.hpp"

namespace cambrian::distributed {
namespace {

constexpr const char* kind = "training";
constexpr std::uint32_t oldest_format = 2;

/// The state has as many numbers as the network and its optimiser.
constexpr std::array<WantedSection, 2> training_sections{{{"about", longest_about}, {"state"}}};

}  // namespace

void write_training_checkpoint(const std::filesystem::path& path,
                               const TrainingCheckpoint& checkpoint) {
    ArchiveWriter about;
    about.write(training_format);
    about.write(checkpoint.identity_json);
    about.write(checkpoint.arithmetic);
    about.write(checkpoint.epochs_bytes);
    about.write(checkpoint.timings_bytes);
    about.write(checkpoint.observations_bytes);
    about.write(checkpoint.epochs_checksum);
    Container container{kind, {}};
    container.add("about", about.take());
    container.add("state", checkpoint.state);
    write_file_atomically(path, encode(container));
}

TrainingCheckpoint read_training_checkpoint(const std::filesystem::path& path) {
    const Container container = decode_container(read_file(path), path.string(), training_sections);
    if (container.kind != kind)
        throw InputError(path.string() + " holds no training (it is a " + container.kind +
                         " file) give the directory of a training");
    TrainingCheckpoint checkpoint;
    ArchiveReader about(container.section("about"), path.string());
    static_cast<void>(about.read_format("training", oldest_format, training_format));
    about.read(checkpoint.identity_json);
    about.read(checkpoint.arithmetic);
    about.read(checkpoint.epochs_bytes);
    about.read(checkpoint.timings_bytes);
    about.read(checkpoint.observations_bytes);
    about.read(checkpoint.epochs_checksum);
    about.finish();
    const auto state = container.section("state");
    checkpoint.state.assign(state.begin(), state.end());
    return checkpoint;
}

}  // namespace cambrian::distributed
