#include "cambrian/distributed/network_file.hpp"

#include <cstddef>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/io/archive.hpp"
#include "cambrian/engine/io/container.hpp"

namespace cambrian::distributed {

namespace {

constexpr std::uint32_t format = 1;

}  // namespace

std::vector<std::byte> encode(const NetworkFile& file) {
    ArchiveWriter about;
    about.write(format);
    about.write(file.identity_json);
    about.write(file.generation);
    about.write(file.birth);
    about.write(file.fitness);
    about.write(file.validated.has_value());
    about.write(file.validated.value_or(0.0));
    Container container{"network", {}};
    container.add("about", about.take());
    container.add("genome", evolve::encode(file.genome));
    return cambrian::encode(container);
}

void write_network(const std::filesystem::path& path, const NetworkFile& file) {
    write_file_atomically(path, encode(file));
}

NetworkFile read_network(const std::filesystem::path& path) {
    const std::string source = path.string();
    const Container container = decode_container(read_file(path), source);
    if (container.kind != "network") {
        throw InputError(source + " holds no network (it is a " + container.kind +
                         " file) give the best.cmb of a run");
    }
    NetworkFile file;
    ArchiveReader about(container.section("about"), source);
    std::uint32_t found = 0;
    about.read(found);
    if (found != format) {
        about.fail("its network has format " + std::to_string(found) + ", this program reads " +
                   std::to_string(format));
    }
    about.read(file.identity_json);
    about.read(file.generation);
    about.read(file.birth);
    about.read(file.fitness);
    bool validated = false;
    double value = 0.0;
    about.read(validated);
    about.read(value);
    about.finish();
    if (validated) {
        file.validated = value;
    }
    file.genome = evolve::decode_genome(container.section("genome"), source);
    return file;
}

}  // namespace cambrian::distributed
