#include <fmt/format.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"

namespace cambrian::evolve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class TableLearning : public ::testing::Test {
  protected:
    TableLearning() : backend_(make_cpu_backend({})) {
        folder_.write("six.csv", "a,b,y\n1,0,1\n2,1,3\n3,0,2\n4,1,6\n5,0,4\n7,1,5\n");
        folder_.write("kinds.csv", "a,b,k\n1,0,5\n2,1,9\n3,0,5\n4,1,9\n5,0,9\n7,1,5\n");
    }
    /// Columns as they are, unless the keys say otherwise.
    std::unique_ptr<Task> make(const std::string& file, const std::string& keys) const {
        const char* scaling =
            keys.find("normalise") == std::string::npos ? R"("normalise": "none", )" : "";
        return testing::standard_task(
            fmt::format(R"({{"type": "table", "train": ["{}"], {}{}}})", file, scaling, keys),
            folder_.path());
    }

    testing::TemporaryFolder folder_;
    std::unique_ptr<Backend> backend_;
};

TEST_F(TableLearning, HasTheRowsOfTheTask) {
    const auto task = make("six.csv", R"("targets": ["y"], "validation": {"tail_fraction": 0.34},
        "test": ["six.csv"], "loss": "mae")");
    const Learning& learning = *task->learning();
    EXPECT_EQ(learning.loss, Loss(MeanAbsoluteError{}));
    EXPECT_EQ(learning.data.outputs, 1);
    EXPECT_EQ(learning.data.train.inputs.shape, Shape({4, 2}));
    EXPECT_THAT(learning.data.train.inputs.elements, ElementsAre(1, 0, 2, 1, 3, 0, 4, 1));
    EXPECT_THAT(learning.data.train.targets.elements, ElementsAre(1, 3, 2, 6));
    EXPECT_THAT(learning.data.validation.targets.elements, ElementsAre(4, 5));
    EXPECT_EQ(learning.data.test.rows(), 6);
    EXPECT_EQ(task->learning(), &learning);
}

TEST_F(TableLearning, AnswersAreInTheUnitsOfOutputs) {
    // y is 1 to 6: an output of 0.4 says 3.
    const auto scaled = make("six.csv", R"("targets": ["y"], "normalise": "min_max")");
    EXPECT_THAT(scaled->learning()->data.train.targets.elements,
                ElementsAre(0.0, 0.4, 0.2, 1.0, 0.6, 0.8));
    EXPECT_EQ(scaled->learning()->data.train.inputs.elements[2], 1.0 / 6.0);
    EXPECT_EQ(scaled->learning()->data.validation.rows(), 0);
}

TEST_F(TableLearning, ClassesAreIndicesOfTheirOrder) {
    const auto task =
        make("kinds.csv", R"("targets": ["k"], "mode": "classification", "test": ["kinds.csv"])");
    const Samples& train = task->learning()->data.train;
    EXPECT_EQ(train.targets.type, ValueType::integer);
    EXPECT_EQ(train.targets.shape, Shape({6}));
    EXPECT_THAT(train.targets.elements, ElementsAre(0, 1, 0, 1, 1, 0));
    EXPECT_EQ(task->learning()->data.outputs, 2);
}

TEST_F(TableLearning, SequencesAreWholeWindows) {
    const auto task = make("six.csv", R"("targets": ["y"], "inputs": ["a"], "sequence_length": 2,
        "time_offset": 1)");
    const Samples& train = task->learning()->data.train;
    EXPECT_EQ(train.inputs.shape, Shape({2, 2, 1}));
    EXPECT_THAT(train.inputs.elements, ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(train.targets.shape, Shape({2, 2, 1}));
    EXPECT_THAT(train.targets.elements, ElementsAre(3, 2, 6, 4));
    const auto warm = make("six.csv", R"("targets": ["y"], "sequence_length": 2, "warm_up": 1)");
    EXPECT_THAT(testing::message_of<ConfigError>([&] { (void)warm->learning(); }),
                AllOf(HasSubstr("task.warm_up is 1"),
                      HasSubstr("or evolve without learning (learning.mode \"off\")")));
}

TEST_F(TableLearning, AccuracyIsTheShareOfRightRows) {
    constexpr std::string_view linear = R"({"layers": [{"type": "dense"}]})";
    for (const std::string extra :
         {"", R"(, "sequence_length": 4)", R"(, "sequence_length": 3, "rows_per_evaluation": 3)"}) {
        const auto task = make("kinds.csv", R"("targets": ["k"], "mode": "classification",
            "inputs": ["b"], "test": ["kinds.csv"])" +
                                                extra);
        Genome genome = testing::genome_for(*task, linear);
        genome.weights = {-1, 1, 0.5F, -0.5F};  // class 1 where b is 1
        EXPECT_NEAR(*accuracy(*backend_, *task, genome, 1, {Phase::test, 0}), 4.0 / 6.0, 1e-6)
            << extra;
    }
    const auto regression = make("six.csv", R"("targets": ["y"])");
    EXPECT_FALSE(accuracy(*backend_, *regression, testing::genome_for(*regression, linear), 1,
                          {Phase::train, 0}));
}

}  // namespace
}  // namespace cambrian::evolve
