#include "cambrian/engine/backend/for_backends.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <fstream>

#include "cambrian/engine/core/contract.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian {
namespace {

bool overlap(const BoundRange& a, const BoundRange& b) {
    // Nothing lies inside an empty range, wherever it is.
    return a.buffer == b.buffer && a.words > 0 && b.words > 0 && a.first < b.first + b.words &&
           b.first < a.first + a.words;
}

}  // namespace

void require_apart(std::span<const BoundRange> inputs, std::span<const BoundRange> outputs,
                   std::span<const Update> updates) {
    for (std::uint32_t o = 0; o < outputs.size(); ++o) {
        for (std::uint32_t other = 0; other < o; ++other)
            CAMBRIAN_ASSERT(!overlap(outputs[o], outputs[other]));
        for (std::uint32_t i = 0; i < inputs.size(); ++i) {
            if (!overlap(outputs[o], inputs[i])) continue;
            const bool replaces = std::ranges::find(updates, Update{i, o}) != updates.end();
            CAMBRIAN_ASSERT(replaces && outputs[o] == inputs[i]);
        }
    }
}

std::string index_message(Op op, std::int64_t index, std::int64_t rows) {
    const std::string advice =
        rows == 0 ? "pass no indices" : fmt::format("use indices from 0 to {}", rows - 1);
    return fmt::format("index {} is out of range ({} over {} rows) {}", index, name(op), rows,
                       advice);
}

void fail_index(Op op, std::int64_t index, std::int64_t rows) {
    throw InputError(index_message(op, index, rows));
}

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
