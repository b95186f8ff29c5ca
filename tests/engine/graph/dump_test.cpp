#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cambrian/engine/backend/for_backends.hpp"
#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/engine/graph/builders/builders.hpp"
#include "cambrian/engine/graph/plan/plan.hpp"

namespace cambrian {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A loop of a product, an update and an output that shows a part.
Graph sample() {
    Graph body;
    const Var a = body.input("a", ValueType::real, {2, 3});
    const Var w = body.input("w", ValueType::real, {3, 3});
    body.output(tanh(matmul(a, w)));
    Graph graph;
    const Var x = graph.input("say \"x\"", ValueType::real, {2, 3}, true);
    const Var w_outside = graph.input("w", ValueType::real, {3, 3});
    const Var y =
        scan(std::move(body), std::array{x}, {}, std::array{w_outside}, {.length = 4}).carries[0];
    graph.update(x, y * 2.0);
    graph.output(slice(exp(y), 0, 1, 1));
    return graph;
}

TEST(Dump, SaysWhatReplacesAnInput) {
    EXPECT_THAT(dump(sample()), HasSubstr("\nupdate v0 = v"));
}

TEST(Dump, PlansTellPlaceBytesAndLifetime) {
    EXPECT_THAT(dump_plan(sample()),
                AllOf(HasSubstr("arena 48 bytes of each individual, 0 bytes of all\n"),
                      HasSubstr("v0 real [2, 3] *: input 0, 24 bytes, nodes 0 to 2\n"),
                      HasSubstr("real [2, 3] *: output 0, 24 bytes, nodes "),
                      HasSubstr("real [1, 3] *: in v"), HasSubstr(" at 12, 12 bytes\n"),
                      HasSubstr("to the end\n"), HasSubstr("    0 input\n")));
}

TEST(Dump, DotHasABoxForEachNodeAndAClusterForEachBody) {
    const std::string dot = dump_dot(sample());
    EXPECT_THAT(dot, AllOf(testing::StartsWith("digraph"), HasSubstr("subgraph cluster_n2 {"),
                           HasSubstr("input say \\\"x\\\""), HasSubstr("n2_2 [label=\"matmul\"]"),
                           HasSubstr("n0 -> n2 [label=\"v0 real [2, 3] *\"]"),
                           HasSubstr("output 1"), testing::EndsWith("}\n")));
    EXPECT_EQ(std::ranges::count(dot, '{'), std::ranges::count(dot, '}'));
}

TEST(Dump, ProgramsOfTheCpuAreWrittenToADirectory) {
    const auto directory = std::filesystem::path(testing::TempDir()) / "cambrian_cpu_dump";
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    const auto cpu = make_cpu_backend({.dump_directory = directory.string()});
    (void)cpu->compile(sample());
    (void)cpu->compile(sample());
    for (const char* file : {"program-0.txt", "program-1.plan.txt", "program-1.dot"})
        EXPECT_GT(std::filesystem::file_size(directory / file), 10U) << file;
    EXPECT_THROW(write_program_dump((directory / "absent").string(), 0, sample(), ""), InputError);
}

TEST(OpTable, SaysSomethingOfEveryOp) {
    for (const OpInfo& op : op_table())
        for (const std::string_view text :
             {op.name, op.meaning, op.operands, op.results, op.shapes, op.types, op.source,
              batch_text(op), gradient_text(op), data_errors_text(op)})
            EXPECT_FALSE(text.empty()) << name(op.op);
}

TEST(OpTable, TellsGradientsApart) {
    EXPECT_EQ(gradient_text(op_info(Op::exp)), "rule");
    EXPECT_EQ(gradient_text(op_info(Op::matmul_epilogue)), "through lowering");
    EXPECT_EQ(gradient_text(op_info(Op::argmax)), "none");
}

}  // namespace
}  // namespace cambrian
