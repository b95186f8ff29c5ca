#include "cambrian/engine/backend/program_dump.hpp"

#include <fstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian {
namespace {

void write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush())
        throw InputError("cannot write " + path +
                         " (the system refused it) name a directory that exists and can be "
                         "written");
}

}  // namespace

void write_program_dump(const std::string& directory, std::int64_t number, const Graph& graph,
                        const std::string& summary) {
    if (directory.empty()) return;
    const std::string path = directory + "/program-" + std::to_string(number);
    write(path + ".txt", dump(graph) + "\n" + summary + "\n");
    write(path + ".plan.txt", dump_plan(graph));
    write(path + ".dot", dump_dot(graph));
}

}  // namespace cambrian
