#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cambrian/engine/network/blueprint.hpp"
#include "cambrian/evolve/runs/network_file.hpp"
#include "cambrian/evolve/variation/mutation_detail.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using test::Result;
using test::run;
using test::TemporaryDirectory;
using testing::ElementsAre;

/// What a report says of the DNA in its column "child, other", layer by layer.
std::vector<std::string> likeness_to_other(const std::string& report) {
    std::vector<std::string> column;
    std::istringstream lines(report.substr(report.find("  DNA ")));
    std::string line;
    std::getline(lines, line);
    while (std::getline(lines, line) && line.find('%') == std::string::npos) {
        std::istringstream words(line);
        std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
        column.push_back(row.at(row.size() - 2));
    }
    return column;
}

TEST(SpliceCommand, ReportsLayersOfOneGeneWhereverTheyAreInTheirGrids) {
    const TemporaryDirectory directory;
    const auto path = [&](const char* name) { return directory.file(name); };
    distributed::NetworkFile small;
    RandomStream rng(random_key(3, "test"), 0);
    small.genome = evolve::sample_genome(
        blueprint_from_json(nlohmann::json::parse(R"({"grid": {"layers_per_cell": 2}, "layers": [
            {"type": "dense", "out": 4}, {"type": "dense", "out": 4}, {"type": "dense"}]})"),
                            4, 4),
        rng, 7);
    distributed::NetworkFile large;
    // Its layers are one slot further on.
    large.genome = evolve::with_larger_grid(small.genome, 0, 16).value().genome;
    write_network(path("small.cmb"), small);
    write_network(path("large.cmb"), large);
    large.genome.slot_genes[1].id = content_hash(small.genome);
    write_network(path("stranger.cmb"), large);
    const auto likeness = [&](const char* first, const char* second) {
        const Result result =
            run({"splice", path(first), path(second), "-o", path("child.cmb"), "--report"});
        EXPECT_EQ(result.code, 0) << result.err;
        return likeness_to_other(result.out);
    };
    EXPECT_THAT(likeness("small.cmb", "large.cmb"), ElementsAre("1.0000", "1.0000", "1.0000"));
    EXPECT_THAT(likeness("large.cmb", "small.cmb"), ElementsAre("1.0000", "1.0000", "1.0000"));
    EXPECT_THAT(likeness("small.cmb", "stranger.cmb"), ElementsAre("-", "1.0000", "1.0000"));
}

}  // namespace
}  // namespace cambrian::launch
