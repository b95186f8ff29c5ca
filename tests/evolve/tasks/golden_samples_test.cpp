#include <cmath>
#include <fstream>

#include "cambrian/engine/cpu/cpu_backend.hpp"
#include "cambrian/evolve/tasks/samples/samples.hpp"
#include "cambrian/tests/evolve/support/fixed_answers.hpp"
#include "cambrian/tests/evolve/support/task_support.hpp"
#include "cambrian/tests/support/golden_directory.hpp"

// Rows and sequences against known ones in tasks/ below the golden directory. The suite's name is
// what ctest -R golden looks for.
namespace cambrian::evolve::golden_samples_test {
namespace {

using Doubles = std::vector<double>;

class golden_samples : public ::testing::Test {
  protected:
    void SetUp() override {
        if (test::golden_set_lacks("tasks")) GTEST_SKIP() << "the golden set has no tasks/";
    }
    static nlohmann::json known(const std::string& name) {
        return nlohmann::json::parse(
            std::ifstream(test::golden_directory() / "tasks" / (name + ".json")));
    }
};

/// The targets of a task with one output, as text.
std::string target_bits(const Task& task) {
    std::string result;
    const Tensor targets = task.data(Phase::train)[1];
    for (const double target : targets.elements) result += target == 1.0 ? '1' : '0';
    return result;
}

/// Bit i is bit i % 4 of digit i / 4.
std::string bits_of_hex(const std::string& digits) {
    std::string result;
    for (const char digit : digits) {
        const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
        for (int bit = 0; bit < 4; ++bit) result += (value >> bit & 1) == 1 ? '1' : '0';
    }
    return result;
}

void expect_close(const Doubles& found, const Doubles& expected, double tolerance,
                  std::size_t count) {
    ASSERT_GE(found.size(), count);
    ASSERT_GE(expected.size(), count);
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << i;
}

Doubles flat(const nlohmann::json& rows) {
    Doubles result;
    for (const auto& row : rows)
        for (const double value : row) result.push_back(value);
    return result;
}

TEST_F(golden_samples, BooleanTables) {
    const auto tables = known("boolean_tables").at("tables");
    for (const auto& [name, table] : tables.items()) {
        const std::size_t split = name.find('_');
        const int size = std::stoi(name.substr(split + 1));
        const bool multiplexer = name.starts_with("multiplexer");
        const auto task = testing::standard_task(
            multiplexer ? R"({"type": "multiplexer", "address_bits": )" +
                              table.at("address_bits").dump() + "}"
                        : R"({"type": "parity", "bits": )" + std::to_string(size) + "}");
        const bool packed = table.at("targets").is_null();
        const std::string expected = packed ? bits_of_hex(table.at("targets_hex_lsb_first"))
                                            : table.at("targets").get<std::string>();
        EXPECT_EQ(target_bits(*task), expected) << name;
        if (!table.contains("samples")) continue;
        const Tensor inputs = task->data(Phase::train)[0];
        for (const auto& sample : table.at("samples"))
            for (int bit = 0; bit < size; ++bit)
                EXPECT_EQ(inputs.elements[sample.at("i").get<std::size_t>() *
                                              static_cast<std::size_t>(size) +
                                          static_cast<std::size_t>(bit)],
                          sample.at("inputs").at(static_cast<std::size_t>(bit)).get<double>());
    }
}

TEST_F(golden_samples, FitnessOfTheMultiplexer) {
    const auto task =
        testing::standard_task(R"({"type": "multiplexer", "address_bits": 2, "bonus": 1000})");
    const auto exact = make_reference_backend(Precision::f64);
    const auto single = make_cpu_backend({.threads = 1, .math = Math::strict});
    const auto tables = known("boolean_tables").at("tables");
    for (const auto& known_case : tables.at("multiplexer_6").at("fitness_cases")) {
        const Tensor outputs(ValueType::real, Shape{64, 1}, known_case.at("outputs"));
        const double fitness = known_case.at("fitness");
        EXPECT_NEAR(testing::judge_answers(*exact, *task, outputs).fitness, fitness, 1e-11);
        // Eight roundings of numbers as large as the fitness.
        EXPECT_NEAR(testing::judge_answers(*single, *task, outputs).fitness, fitness,
                    fitness * 8.0 * 0x1p-24);
    }
}

TEST_F(golden_samples, Retina) {
    const auto retina = known("boolean_tables").at("retina");
    const auto known_bits = [&](const char* name) { return retina.at(name).get<std::string>(); };
    const auto task_of = [](const std::string& goal) {
        return testing::standard_task(R"({"type": "retina", "goal": ")" + goal + R"("})");
    };
    EXPECT_EQ(target_bits(*task_of("and")), known_bits("L_and_R"));
    EXPECT_EQ(target_bits(*task_of("or")), known_bits("L_or_R"));
    const std::string both = target_bits(*task_of("both"));
    std::string left;
    std::string right;
    for (std::size_t i = 0; i < both.size(); i += 2) {
        left += both[i];
        right += both[i + 1];
    }
    EXPECT_EQ(left, known_bits("L"));
    EXPECT_EQ(right, known_bits("R"));
}

TEST_F(golden_samples, Spirals) {
    const auto spirals = known("two_spirals");
    const auto task = testing::standard_task(R"({"type": "spirals"})");
    const auto train = task->data(Phase::train);
    ASSERT_EQ(spirals.at("points").size(), 194U);
    for (std::size_t i = 0; i < 194; ++i) {
        const Doubles point = spirals.at("points").at(i);
        EXPECT_NEAR(train[0].elements[2 * i], point[0], 1e-13);
        EXPECT_NEAR(train[0].elements[2 * i + 1], point[1], 1e-13);
        EXPECT_EQ(train[1].elements[i], point[2]);
    }
    const Doubles between = task->data(Phase::test)[0].elements;
    for (const auto& known_point : spirals.at("half_step_points_on_class1")) {
        const Doubles point = known_point;
        // Half steps of even numbers are the points that train.
        const auto half_steps = static_cast<std::size_t>(2.0 * point[0]);
        const bool halfway = half_steps % 2 == 1;
        const Doubles& points = halfway ? between : train[0].elements;
        const std::size_t row = halfway ? half_steps - 1 : half_steps;
        EXPECT_NEAR(points[2 * row], point[1], 1e-13);
        EXPECT_NEAR(points[2 * row + 1], point[2], 1e-13);
    }
}

TEST_F(golden_samples, MackeyGlassSeries) {
    const auto series = known("mackey_glass").at("series");
    const auto expect_series = [&](const std::string& name, const std::string& settings) {
        SCOPED_TRACE(name);
        const auto task = testing::standard_task(
            R"({"type": "mackey_glass", "lags": [0], "discard": 0, "train_steps": 1001,)" +
            settings + "}");
        const Doubles found = task->data(Phase::train)[0].elements;
        const Doubles expected = series.at(name).at("first");
        expect_close(found, expected, 1e-9, 200);
        expect_close(found, expected, 1e-6, expected.size());
        EXPECT_NEAR(found[1000], series.at(name).at("at_1000"), 1e-6);
    };
    expect_series("rk4_linear_h01_constant_history", R"("history": "constant")");
    expect_series("rk4_held_h01_constant_history",
                  R"("history": "constant", "method": "rk4_held")");
    expect_series("rk4_held_h01_zero_history", R"("history": "zero", "method": "rk4_held")");
    expect_series("rk4_held_h1_constant_history",
                  R"("history": "constant", "method": "rk4_held", "steps_per_unit": 1)");
    expect_series("euler_h01_constant_history", R"("history": "constant", "method": "euler")");
    expect_series("euler_h1_constant_history",
                  R"("history": "constant", "method": "euler", "steps_per_unit": 1)");
    const auto given = series.at("rk4_held_h1_given_history");
    expect_close(
        mackey_glass(MackeyGlassMethod::rk4_held, 1, given.at("history").get<Doubles>(), 200),
        given.at("first"), 1e-9, 200);
}

TEST_F(golden_samples, MackeyGlassPairsAndSquash) {
    const auto mackey_glass = known("mackey_glass");
    const auto pairs = testing::standard_task(R"({"type": "mackey_glass", "method": "rk4_held"})");
    const auto train = pairs->data(Phase::train);
    const auto test = pairs->data(Phase::test);
    for (const auto& pair : mackey_glass.at("jang_pairs")) {
        const std::size_t t = pair.at("t").get<std::size_t>() - 118;
        const auto& part = t < 500 ? train : test;
        const Doubles inputs = pair.at("inputs");
        for (std::size_t i = 0; i < 4; ++i)
            EXPECT_NEAR(part[0].elements[t % 500 * 4 + i], inputs[i], 1e-6) << t;
        EXPECT_NEAR(part[1].elements[t % 500], pair.at("target").get<double>(), 1e-6) << t;
    }
    const auto squashed = testing::standard_task(
        R"({"type": "mackey_glass", "lags": [0], "discard": 1000, "history": "constant",
            "method": "euler", "squash": true, "train_steps": 20})");
    // Our tanh is of single precision, within two units in the last place.
    expect_close(squashed->data(Phase::train)[0].elements,
                 mackey_glass.at("esn_squash").at("squashed"), 1e-6, 20);
}

TEST_F(golden_samples, Narma10) {
    const auto narma = known("narma10");
    const Doubles u = narma.at("u");
    const Doubles y = narma.at("y");
    expect_close(narma10(u), y, narma.at("tolerance"), y.size());

    const auto washout = narma.at("metrics").at("washout").get<std::size_t>();
    SeriesPart part;
    part.samples.inputs = Tensor(ValueType::real, Shape{1, 400, 1}, u);
    part.samples.targets =
        Tensor(ValueType::real, Shape{1, 300, 1}, Doubles(y.begin() + 100, y.end()));
    ASSERT_EQ(washout, 100U);
    const auto task = make_series_task("narma10", {part, {}, {}});
    // The well-known slip of one step, whose error is told.
    Doubles slipped(400, 0.0);
    for (std::size_t t = 10; t < 399; ++t) {
        double sum = 0.0;
        for (std::size_t i = 1; i <= 10; ++i) sum += slipped[t - i];
        slipped[t + 1] = 0.3 * slipped[t] + 0.05 * slipped[t] * sum + 1.5 * u[t - 10] * u[t] + 0.1;
    }
    const Tensor answers(ValueType::real, Shape{1, 400, 1}, slipped);
    const double nrmse = narma.at("nrmse_of_off_by_one_variant");
    const auto exact = make_reference_backend(Precision::f64);
    const auto single = make_cpu_backend({.threads = 1, .math = Math::strict});
    EXPECT_NEAR(testing::judge_answers(*exact, *task, answers).fitness, -nrmse, 1e-12);
    EXPECT_NEAR(testing::judge_answers(*single, *task, answers).fitness, -nrmse, 1e-5);
    EXPECT_NEAR(task->baselines(Phase::train).at(0).loss, 1.0, 1e-12);
}

TEST_F(golden_samples, DelayAndCopy) {
    const auto sequences = known("sequence_tasks");
    const Doubles u = sequences.at("delay").at("u");
    const auto length = static_cast<std::int64_t>(u.size());
    for (const auto& [delay, targets] : sequences.at("delay").at("targets").items()) {
        const Samples samples = delay_samples({1, length, 1, u}, std::stoi(delay));
        EXPECT_EQ(samples.inputs.elements, u);
        const Doubles all = targets;
        EXPECT_EQ(samples.targets.elements, Doubles(all.begin() + std::stoi(delay), all.end()));
    }
    for (const auto& known_case : sequences.at("copy")) {
        const auto items = known_case.at("length").get<std::int64_t>();
        const Doubles targets = flat(known_case.at("targets"));
        const Doubles bits(targets.end() - items * 8, targets.end());
        const Samples samples = copy_samples({1, items, 8, bits});
        EXPECT_EQ(samples.inputs.elements, flat(known_case.at("inputs")));
        EXPECT_EQ(samples.inputs.shape, (Shape{1, 2 * items + 1, 9}));
        EXPECT_EQ(samples.targets.elements, bits);
    }
}

TEST_F(golden_samples, RecallHasTheErrorsOfNeatPython) {
    const auto backend = make_reference_backend(Precision::f64);
    const auto tasks = known("sequence_tasks");
    for (const auto& known_case : tasks.at("neat_python_fixed").at("cases")) {
        const Doubles bits = known_case.at("sequence");
        const Samples samples = recall_samples({1, 4, 1, bits});
        EXPECT_EQ(samples.inputs.elements, flat(known_case.at("inputs")));
        const auto task = make_bits_task("delayed_copy", {.train = samples});
        Doubles outputs(4, 0.0);
        for (const double output : known_case.at("outputs_on_recall")) outputs.push_back(output);
        const Tensor answers(ValueType::real, Shape{1, 8, 1}, outputs);
        // Outputs from 0 to 1 are wrong by one or right, once they are rounded.
        const double wrong = known_case.at("error");
        EXPECT_EQ(testing::judge_answers(*backend, *task, answers).accuracy, 1.0 - wrong / 4.0);
    }
}

}  // namespace
}  // namespace cambrian::evolve::golden_samples_test
