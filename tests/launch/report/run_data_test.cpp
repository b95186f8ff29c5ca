#include "cambrian/launch/report/data/run_data.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cambrian/engine/core/random.hpp"
#include "cambrian/evolve/analysis/statistics.hpp"
#include "cambrian/launch/report/run_charts.hpp"
#include "cambrian/tests/support/temporary_directory.hpp"

namespace cambrian::launch {
namespace run_data_tests {
namespace {

using cambrian::test::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;

TEST(ColumnThinner, KeepsAllOfFewGenerations) {
    ColumnThinner thinner;
    thinner.add(0, 1);
    thinner.add(3, std::nan(""));
    thinner.add(4, 2);
    const LoggedColumn column = thinner.column();
    EXPECT_THAT(column.generation, ElementsAre(0, 3, 4));
    EXPECT_THAT(column.value, ElementsAre(1, IsNan(), 2));
}

TEST(ColumnThinner, KeepsEndsAndExtremesOfMany) {
    ColumnThinner thinner;
    for (int i = 0; i < 300'000; ++i)
        thinner.add(i, i == 123'456                  ? 9.0
                       : i == 250'001                ? -9.0
                       : i >= 150'000 && i < 160'000 ? std::nan("")
                                                     : 1e-6 * i);
    const LoggedColumn column = thinner.column();
    EXPECT_LE(column.value.size(), 5U * 4096);
    EXPECT_TRUE(std::ranges::is_sorted(column.generation));
    EXPECT_EQ(column.generation.front(), 0);
    EXPECT_EQ(column.generation.back(), 299'999);
    const auto value_of = [&](double generation) {
        const auto at = std::ranges::find(column.generation, generation);
        return column.value[static_cast<std::size_t>(at - column.generation.begin())];
    };
    EXPECT_EQ(value_of(123'456), 9.0);
    EXPECT_EQ(value_of(250'001), -9.0);
    EXPECT_GT(std::ranges::count_if(column.value, [](double v) { return std::isnan(v); }), 50);
}

/// A number from 0 to 1 that hangs on both alone.
double noise(int run, int generation) {
    RandomStream stream(random_key(static_cast<std::uint64_t>(run), "noise"),
                        static_cast<std::uint64_t>(generation));
    return stream.uniform();
}

TEST(ColumnThinner, SamplesHaveTheQuantilesOfAllNumbers) {
    constexpr std::size_t runs = 9;
    constexpr std::size_t generations = 20'000;
    std::vector<LoggedColumn> samples;
    std::vector<std::vector<double>> logged(generations);
    for (std::size_t run = 0; run < runs; ++run) {
        ColumnThinner thinner;
        for (std::size_t i = 0; i < generations; ++i) {
            logged[i].push_back(noise(static_cast<int>(run), static_cast<int>(i)));
            thinner.add(static_cast<double>(i), logged[i].back());
        }
        samples.push_back(thinner.sample());
        EXPECT_LE(samples.back().value.size(), 4097U);
        EXPECT_EQ(samples.back().generation, samples.front().generation);
        EXPECT_EQ(samples.back().generation.back(), generations - 1);
    }
    std::vector<std::vector<double>> sampled;
    for (std::size_t i = 0; i < samples[0].value.size(); ++i) {
        sampled.emplace_back();
        for (const LoggedColumn& sample : samples) sampled.back().push_back(sample.value[i]);
        ASSERT_EQ(sampled.back(), logged[static_cast<std::size_t>(samples[0].generation[i])]);
    }
    const auto mean_quantile = [](std::vector<std::vector<double>> rows, double share) {
        double sum = 0.0;
        for (std::vector<double>& row : rows) {
            std::ranges::sort(row);
            sum += evolve::quantile_of(row, share);
        }
        return sum / static_cast<double>(rows.size());
    };
    for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0})
        EXPECT_NEAR(mean_quantile(sampled, share), mean_quantile(logged, share), 0.01) << share;
}

TEST(ColumnThinner, SamplesHaveNoGaps) {
    ColumnThinner thinner;
    for (int i = 0; i < 9000; ++i) thinner.add(i, i % 8 < 5 && i > 8 ? std::nan("") : i);
    const LoggedColumn sample = thinner.sample();
    // Of cells of four generations every second one has no number, others begin with none.
    EXPECT_THAT(std::vector(sample.generation.begin(), sample.generation.begin() + 5),
                ElementsAre(0, 4, 8, 13, 21));
    EXPECT_EQ(sample.generation.back(), 8999);
    EXPECT_EQ(sample.value, sample.generation);
}

TEST(FitnessChart, OfALongRunIsCutAsThatOfAShortOne) {
    const TemporaryDirectory directory;
    for (const int generations : {2'000, 20'000}) {
        std::string text = "generation,best,mean,worst\n";
        for (int i = 0; i < generations; ++i)
            text += fmt::format("{0},{1},{2},{2}\n", i, i == 0 ? 0 : 1,
                                noise(1, i) < 0.12 ? -40.0 : 0.9);
        directory.write("generations.csv", text);
        EXPECT_THAT(fitness_html(read_run(directory.path())),
                    HasSubstr("<p>Numbers below -4 are not drawn.</p>"))
            << generations;
    }
}

TEST(RunData, HasGapsWhereNobodyIsValidAndNoneWhereNothingIsMeasured) {
    const TemporaryDirectory directory;
    directory.write("generations.csv",
                    "generation,best,validated,parameters\n"
                    "0,1,,5\n1,-inf,,0\n2,2,1.5,6\n3,3,,7\n4,4,2.5,7\n");
    const RunData run = read_run(directory.path());
    EXPECT_THAT(run.columns.at("best").generation, ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(run.columns.at("best").value, ElementsAre(1, IsNan(), 2, 3, 4));
    EXPECT_THAT(run.columns.at("parameters").value, ElementsAre(5, IsNan(), 6, 7, 7));
    EXPECT_THAT(run.columns.at("validated").generation, ElementsAre(2, 4));
    EXPECT_THAT(run.columns.at("validated").value, ElementsAre(1.5, 2.5));
    // The first generation is alone: a mark beside the two of validation.
    const std::string text = fitness_html(run);
    EXPECT_THAT(text, HasSubstr("r='2'"));
}

TEST(RunData, HasTheBestWithoutItsPrice) {
    const TemporaryDirectory directory;
    directory.write("config.json",
                    R"({"selection": {"bytes_weight": 0.5, "products_weight": 0.25}})");
    directory.write("generations.csv",
                    "generation,best,bytes,products\n0,-14,8,4\n1,-inf,0,0\n2,-10,8,4\n");
    EXPECT_THAT(read_run(directory.path()).unpriced.value, ElementsAre(-9, IsNan(), -5));
    directory.write("generations.csv", "generation,best,bytes\n0,-14,8\n");
    EXPECT_TRUE(read_run(directory.path()).unpriced.value.empty());
}

TEST(RunData, TakesNoMoreMemoryForLongerRuns) {
    const TemporaryDirectory directory;
    std::string generations = "generation,best\n";
    std::string timings = "generation,rank,evaluate\n";
    std::string species = "generation,id,size\n";
    constexpr int count = 20'000;
    for (int i = 0; i < count; ++i) {
        generations += fmt::format("{},{}\n", i, i % 7);
        timings += fmt::format("{0},0,0.5\n{0},1,0.25\n", i);
        species += fmt::format("{0},{1},6\n{0},{2},4\n", i, i / 100, i / 100 + 1);
    }
    directory.write("generations.csv", generations);
    directory.write("timings.csv", timings);
    directory.write("species.csv", species);
    const RunData run = read_run(directory.path());
    EXPECT_LE(run.columns.at("best").value.size(), 4U * 4096);
    EXPECT_LE(run.species.size(), 2048U);
    EXPECT_GT(run.species.size(), 1000U);
    EXPECT_EQ(run.species.begin()->first, 0);
    EXPECT_GT(run.species.rbegin()->first, count - 32);
    ASSERT_EQ(run.evaluation_by_rank.size(), 2U);
    const MeanColumn& rank = run.evaluation_by_rank.at(1);
    EXPECT_LE(rank.cells().size(), 1024U);
    EXPECT_EQ(rank.last(), count - 1);
    std::size_t summed = 0;
    for (const MeanColumn::Cell& cell : rank.cells()) {
        EXPECT_EQ(cell.sum, 0.25 * static_cast<double>(cell.count));
        summed += cell.count;
    }
    EXPECT_EQ(summed, static_cast<std::size_t>(count));
    EXPECT_EQ(run.seconds_by_rank.at(1).at("evaluate"), 0.25 * count);
    // Some are of generations that are not kept.
    EXPECT_THAT(species_html(run), HasSubstr("</i>smaller ones"));
}

}  // namespace
}  // namespace run_data_tests
}  // namespace cambrian::launch
