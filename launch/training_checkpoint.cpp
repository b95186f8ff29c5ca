#include "cambrian/launch/training_checkpoint.hpp"

#include <array>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/archive.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::launch {
namespace {

constexpr std::uint32_t format = 2;
/// Without a checksum of epochs.csv.
constexpr std::uint32_t first_format = 1;
constexpr const char* kind = "training";

/// An identity is a config; the state has as many numbers as the network and its optimiser.
constexpr std::array<WantedSection, 2> sections{{{"about", std::uint64_t{32} << 20U}, {"state"}}};

}  // namespace

void write_training_checkpoint(const std::filesystem::path& path,
                               const TrainingCheckpoint& checkpoint) {
    ArchiveWriter about;
    about.write(checkpoint.epochs_checksum ? format : first_format);
    about.write(checkpoint.identity_json);
    about.write(checkpoint.arithmetic);
    about.write(checkpoint.epochs_bytes);
    about.write(checkpoint.timings_bytes);
    about.write(checkpoint.observations_bytes);
    if (checkpoint.epochs_checksum) about.write(*checkpoint.epochs_checksum);
    Container container{kind, {}};
    container.add("about", about.take());
    container.add("state", checkpoint.state);
    write_file_atomically(path, encode(container));
}

TrainingCheckpoint read_training_checkpoint(const std::filesystem::path& path) {
    const Container container = decode_container(read_file(path), path.string(), sections);
    if (container.kind != kind)
        throw InputError(path.string() + " holds no training (it is a " + container.kind +
                         " file) give the directory of a training");
    TrainingCheckpoint checkpoint;
    ArchiveReader about(container.section("about"), path.string());
    std::uint32_t found = 0;
    about.read(found);
    if (found < first_format || found > format)
        about.fail("its training has format " + std::to_string(found) + ", this program reads " +
                   std::to_string(first_format) + " to " + std::to_string(format));
    about.read(checkpoint.identity_json);
    about.read(checkpoint.arithmetic);
    about.read(checkpoint.epochs_bytes);
    about.read(checkpoint.timings_bytes);
    about.read(checkpoint.observations_bytes);
    if (found > first_format) about.read(checkpoint.epochs_checksum.emplace());
    about.finish();
    const auto state = container.section("state");
    checkpoint.state.assign(state.begin(), state.end());
    return checkpoint;
}

}  // namespace cambrian::launch
