#include <gmock/gmock.h>

#include <array>
#include <vector>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/gpu/support/program_support.hpp"

namespace cambrian::test {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class DataErrorsTest : public ProgramTest {};

/// rows of a table by index, for each individual.
Graph gather_graph(std::int64_t rows, std::int64_t picks) {
    Graph graph;
    const Var table = graph.input("table", ValueType::real, {rows, 2});
    const Var indices = graph.input("indices", ValueType::integer, {picks}, true);
    graph.output(gather(table, indices) * 2.0);
    return graph;
}

TEST_F(DataErrorsTest, AnIndexOutOfRangeIsAnInputErrorOfTheDownload) {
    const auto program = backend_->compile(gather_graph(5, 3));
    const auto table = buffer(numbers(10));
    const auto indices = buffer(std::vector<std::int32_t>{0, 4, 2, 1, 5, 3});
    const auto output = backend_->allocate(ValueType::real, 12);
    const auto run = [&] {
        program->run(2, std::vector<Binding>{{table.get()}, {indices.get()}},
                     std::vector<Binding>{{output.get()}});
    };
    run();
    EXPECT_THAT([&] { (void)reals(*output); },
                ThrowsMessage<InputError>(HasSubstr("index 5 is out of range (gather over 5 rows) "
                                                    "use indices from 0 to 4")));
    backend_->upload(*indices, 4, std::vector<std::int32_t>{-7});
    run();
    EXPECT_THAT([&] { (void)reals(*output); },
                ThrowsMessage<InputError>(HasSubstr("index -7 is out of range")));
    backend_->upload(*indices, 4, std::vector<std::int32_t>{0});
    run();
    EXPECT_EQ(reals(*output).size(), 12U);
}

TEST_F(DataErrorsTest, AnErrorThatNobodyAskedForComesWithTheNextDownload) {
    const auto table = buffer(numbers(10));
    const auto indices = buffer(std::vector<std::int32_t>{9});
    const auto output = backend_->allocate(ValueType::real, 2);
    {
        const auto program = backend_->compile(gather_graph(5, 1));
        program->run(1, std::vector<Binding>{{table.get()}, {indices.get()}},
                     std::vector<Binding>{{output.get()}});
    }
    EXPECT_THROW((void)reals(*table), InputError);
    EXPECT_EQ(reals(*table), numbers(10));
}

TEST_F(DataErrorsTest, AnErrorOfOneProgramHidesNoneOfAnother) {
    const auto table = buffer(numbers(10));
    const auto indices = buffer(std::vector<std::int32_t>{9});
    const auto output = backend_->allocate(ValueType::real, 2);
    const std::array programs{backend_->compile(gather_graph(5, 1)),
                              backend_->compile(gather_graph(4, 1))};
    int errors = 0;
    const auto succeeds = [&errors](const auto& action) {
        try {
            action();
            return true;
        } catch (const InputError&) {
            ++errors;
            return false;
        }
    };
    // A run, too, tells of one before it that is done by then, and does not begin.
    for (const auto& program : programs) {
        while (!succeeds([&] {
            program->run(1, std::vector<Binding>{{table.get()}, {indices.get()}},
                         std::vector<Binding>{{output.get()}});
        })) {
        }
    }
    while (!succeeds([&] { EXPECT_EQ(reals(*table), numbers(10)); })) {
    }
    EXPECT_EQ(errors, 2);
}

TEST_F(DataErrorsTest, WhatIsForgottenIsThrownByNoLaterCall) {
    const auto table = buffer(numbers(10));
    const auto indices = buffer(std::vector<std::int32_t>{9});
    const auto output = backend_->allocate(ValueType::real, 2);
    const std::array programs{backend_->compile(gather_graph(5, 1)),
                              backend_->compile(gather_graph(4, 1))};
    const auto run = [&](Program& program) {
        program.run(1, std::vector<Binding>{{table.get()}, {indices.get()}},
                    std::vector<Binding>{{output.get()}});
    };
    for (const bool one_is_told : {false, true}) {
        backend_->upload(*indices, 0, std::vector<std::int32_t>{9});
        run(*programs[0]);
        if (one_is_told) {
            EXPECT_THROW((void)reals(*output), InputError);
        }
        // Does not begin where the other one is done by then, and has not been told.
        try {
            run(*programs[1]);
        } catch (const InputError&) {
            run(*programs[1]);
        }
        backend_->forget_errors();
        backend_->upload(*indices, 0, std::vector<std::int32_t>{3});
        for (const auto& program : programs) {
            run(*program);
            EXPECT_EQ(reals(*output), (std::vector<float>{2 * numbers(10)[6], 2 * numbers(10)[7]}));
        }
    }
    backend_->upload(*indices, 0, std::vector<std::int32_t>{7});
    run(*programs[1]);
    EXPECT_THAT([&] { (void)reals(*output); },
                ThrowsMessage<InputError>(HasSubstr("index 7 is out of range")));
}

TEST_F(DataErrorsTest, ErrorsInsideScansNameTheirOp) {
    Graph body;
    const Var total = body.input("total", ValueType::real, {3});
    const Var index = body.input("index", ValueType::integer, {1});
    const Var values = body.input("values", ValueType::real, {1});
    body.output(total + scatter_add(values, index, 3));
    Graph graph;
    const Var start = graph.input("start", ValueType::real, {3});
    const Var indices = graph.input("indices", ValueType::integer, {4, 1});
    const Var all = graph.input("values", ValueType::real, {4, 1});
    graph.output(
        scan(std::move(body), std::array{start}, std::array{indices, all}, {}, {.length = 4})
            .carries[0]);
    std::vector<Tensor> inputs{Tensor(ValueType::real, {3}),
                               Tensor(ValueType::integer, {4, 1}, {0, 2, 1, 1}),
                               Tensor(ValueType::real, {4, 1}, {1, 2, 3, 4})};
    EXPECT_EQ(evaluate(*backend_, graph, 1, inputs)[0].elements, (std::vector<double>{1, 7, 2}));
    inputs[1].elements[2] = 3;
    EXPECT_THAT(
        [&] { (void)evaluate(*backend_, graph, 1, inputs); },
        ThrowsMessage<InputError>(HasSubstr("index 3 is out of range (scatter_add over 3 rows)")));
}

}  // namespace
}  // namespace cambrian::test
