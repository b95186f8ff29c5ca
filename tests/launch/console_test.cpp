#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/exit_code.hpp"
#include "cambrian/launch/devices/device.hpp"
#include "cambrian/launch/show/console_reporter.hpp"
#include "cambrian/launch/show/run_text.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

namespace cambrian::launch {
namespace {

using distributed::GenerationReport;
using testing::HasSubstr;

GenerationReport report(std::uint64_t generation) {
    GenerationReport result;
    result.generation = generation;
    result.evaluations = 10 * (generation + 1);
    result.best = 3.5;
    result.seconds = 0.5;
    result.evaluate_seconds = 0.4;
    result.vary_seconds = 0.05;
    result.wait_seconds = 0.05;
    return result;
}

/// A reporter with a clock of its own.
class Console : public testing::Test {
  protected:
    ConsoleReporter make(bool terminal, bool quiet = false, int width = 60) {
        return ConsoleReporter(out_, {.terminal = terminal,
                                      .colour = false,
                                      .quiet = quiet,
                                      .width = width,
                                      .seconds = [this] { return now_; }});
    }
    [[nodiscard]] std::size_t lines() const {
        const std::string text = out_.str();
        return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    }

    std::ostringstream out_;
    double now_ = 100.0;
};

TEST_F(Console, PrintsEveryGenerationThatTakesItsTime) {
    ConsoleReporter reporter = make(false);
    for (std::uint64_t i = 0; i < 5; ++i, now_ += 10.5) reporter.generation_done(report(i));
    EXPECT_EQ(lines(), 5U);
    EXPECT_THAT(out_.str(), HasSubstr("best       3.5"));
    EXPECT_THAT(out_.str(), HasSubstr("evaluations 50  20/s"));
    EXPECT_EQ(out_.str().find('\033'), std::string::npos);
    EXPECT_EQ(out_.str().find('\r'), std::string::npos);
}

/// With everything that a line may tell of, in numbers as long as they come.
GenerationReport full_report() {
    GenerationReport line = report(99999);
    line.best = -1.23457e-05;
    line.mean = -1.23457e+15;
    line.worst = -1.23457e+15;
    line.validated = -1.23457e-05;
    line.invalid = 123456;
    line.evaluations = 123456789012;
    line.species = distributed::SpeciesDiversity{.count = 12345};
    return line;
}

TEST_F(Console, ALineHasTheFieldsThatItsWidthHasRoomFor) {
    ConsoleReporter file = make(false);
    file.generation_done(full_report());
    const std::string narrow = out_.str();
    EXPECT_LT(narrow.size(), 81U) << narrow;  // 79 columns and the end of the line.
    EXPECT_THAT(narrow, HasSubstr("validated -1.23457e-05"));
    EXPECT_THAT(narrow, testing::Not(HasSubstr("worst")));

    out_.str("");
    ConsoleReporter wide = make(true, false, 300);
    wide.generation_done(full_report());
    EXPECT_THAT(out_.str(), HasSubstr("invalid 123456  species 12345  evaluations 123456789012"));
    EXPECT_THAT(out_.str(),
                HasSubstr("0.5 s (evaluate 80% vary 10% wait 10%)  worst -1.23457e+15"));
}

distributed::Experiment small_experiment() {
    distributed::Experiment experiment;
    experiment.task =
        evolve::standard_tasks().make(nlohmann::json::parse(R"({"type": "xor"})"), {});
    experiment.variation.founder =
        blueprint_from_json(nlohmann::json::parse(R"({"layers": [{"type": "dense"}]})"), 2, 1);
    return experiment;
}

TEST_F(Console, CountsTheSteadyStateInBlocks) {
    distributed::Experiment experiment = small_experiment();
    experiment.steady_state = {.window = 8, .block = 4};
    ConsoleReporter reporter = make(false);
    reporter.started(experiment, {}, 7);
    reporter.generation_done(report(7));
    distributed::RunResult result;
    result.last = report(7);
    reporter.finished(experiment, result);
    EXPECT_THAT(out_.str(), HasSubstr("continued at block 7"));
    EXPECT_THAT(out_.str(), HasSubstr("\nblock     7  best"));
    EXPECT_THAT(out_.str(), HasSubstr("after 8 blocks and 80 evaluations"));
    EXPECT_EQ(out_.str().find("generation"), std::string::npos);
}

TEST_F(Console, ARunThatAProgramAsksForGoesOnInThatProgram) {
    distributed::Experiment experiment = small_experiment();
    experiment.directory = "runs/ask";
    distributed::RunResult result;
    result.reason = distributed::StopReason::interrupted;
    const std::string command = "  go on:  cambrian resume runs/ask\n";
    EXPECT_THAT(result_text(experiment, result), HasSubstr(command));
    experiment.resolved_json =
        R"({"task": {"type": "external", "command": ["python3", "judge.py"]}})";
    EXPECT_THAT(result_text(experiment, result), HasSubstr(command));
    experiment.resolved_json =
        R"({"task": {"type": "external", "command": ["python3", "/usr/share/cambrian.py"]}})";
    for (const bool begun : {false, true}) {
        if (begun) {
            result.last = report(7);
            result.best_fitness = 1.0;
        }
        EXPECT_THAT(result_text(experiment, result),
                    testing::EndsWith("  go on:  in its program, with resume=True\n"));
    }
    result.reason = distributed::StopReason::generations;
    EXPECT_EQ(result_text(experiment, result).find("cambrian evaluate"), std::string::npos);
}

TEST_F(Console, SaysWhenTheTaskChanges) {
    distributed::Experiment experiment = small_experiment();
    experiment.changes = {{2, experiment.task, R"({"force":-10})"}};
    ConsoleReporter reporter = make(false);
    reporter.started(experiment, {}, 0);
    for (std::uint64_t i = 0; i < 4; ++i) {
        GenerationReport line = report(i);
        line.task = experiment.task_number(i);
        reporter.generation_done(line);
    }
    EXPECT_THAT(out_.str(), HasSubstr("generation     1"));  // The last of the task before.
    EXPECT_THAT(out_.str(), HasSubstr("generation     2  the task changes: {\"force\":-10}; all"));
    std::ostringstream again;
    ConsoleReporter resumed(again, {.terminal = false, .seconds = [this] { return now_; }});
    resumed.started(experiment, {}, 3);
    GenerationReport line = report(3);
    line.task = 1;
    resumed.generation_done(line);
    EXPECT_EQ(again.str().find("the task changes:"), std::string::npos);
}

TEST_F(Console, ThinsFastGenerationsButKeepsTheFirstAndTheValidated) {
    ConsoleReporter reporter = make(true);
    for (std::uint64_t i = 0; i < 100; ++i, now_ += 0.001) {
        GenerationReport line = report(i);
        if (i == 50) line.validated = 4.25;
        reporter.generation_done(line);
    }
    EXPECT_EQ(lines(), 2U);
    EXPECT_THAT(out_.str(), HasSubstr("generation     0"));
    EXPECT_THAT(out_.str(), HasSubstr("generation    50"));
    EXPECT_THAT(out_.str(), HasSubstr("validated 4.25"));
}

TEST_F(Console, AFileGetsALineInAnInterval) {
    ConsoleReporter reporter = make(false);
    // A minute of generations, each of which validates but every third.
    for (std::uint64_t i = 0; i < 600; ++i, now_ += 0.1) {
        GenerationReport line = report(i);
        if (i % 3 != 0) line.validated = static_cast<double>(i);
        reporter.generation_done(line);
    }
    EXPECT_GE(lines(), 6U);
    EXPECT_LE(lines(), 12U);
    EXPECT_THAT(out_.str(), HasSubstr("generation     0"));
    EXPECT_THAT(out_.str(), HasSubstr("validated 101"));
    EXPECT_THAT(out_.str(), testing::Not(HasSubstr("generation     1 ")));
}

TEST_F(Console, RewritesItsBarWithinTheWidthOfATerminal) {
    ConsoleReporter reporter = make(true);
    reporter.generation_done(report(0));
    now_ += 1.0;
    reporter.progressed(1, 5, 10);
    const std::string text = out_.str();
    const std::string bar = text.substr(text.rfind('\r') + 1);
    EXPECT_THAT(bar, HasSubstr("[============            ] generation 1  5/10"));
    EXPECT_LT(bar.size(), 64U);
    reporter.warning("a rank left");
    EXPECT_THAT(out_.str(), HasSubstr("\r\033[Kwarning: a rank left\n"));
}

TEST_F(Console, QuietPrintsOnlyWarnings) {
    ConsoleReporter reporter = make(true, true);
    reporter.generation_done(report(0));
    reporter.progressed(1, 5, 10);
    reporter.warning("careful");
    EXPECT_EQ(out_.str(), "warning: careful\n");
}

TEST(Remaining, TakesTheFirstCriterionInSight) {
    distributed::StopSettings stop;
    EXPECT_EQ(remaining_seconds(stop, report(4), 2.0, 10.0), std::nullopt);
    stop.generations = 15;
    EXPECT_DOUBLE_EQ(*remaining_seconds(stop, report(4), 2.0, 10.0), 20.0);
    stop.evaluations = 80;
    EXPECT_DOUBLE_EQ(*remaining_seconds(stop, report(4), 2.0, 10.0), 6.0);
    stop.seconds = 3.0;
    EXPECT_DOUBLE_EQ(*remaining_seconds(stop, report(4), 2.0, 10.0), 3.0);
}

TEST(Duration, ReadsLikeAClock) {
    EXPECT_EQ(duration_text(0.44), "0.4 s");
    EXPECT_EQ(duration_text(65.0), "1:05");
    EXPECT_EQ(duration_text(7200.0), "2:00:00");
}

TEST(Memory, UnderstandsSharesAndSizes) {
    EXPECT_EQ(memory_bytes("80%", 1000, 1), 800);
    EXPECT_EQ(memory_bytes("50%", 1000, 4), 125);
    EXPECT_EQ(memory_bytes("4GiB", 1, 1), std::int64_t{4} << 30);
    EXPECT_EQ(memory_bytes("0.5KiB", 1, 1), 512);
    EXPECT_THROW((void)memory_bytes("120%", 1000, 1), ConfigError);
    EXPECT_THROW((void)memory_bytes("4 bytes", 1000, 1), ConfigError);
}

TEST(ExitCode, FollowsTheKindOfError) {
    const auto code = [](const auto& error) {
        return failure_of(std::make_exception_ptr(error)).exit_code;
    };
    EXPECT_EQ(code(ConfigError("")), 2);
    EXPECT_EQ(code(ShapeError("")), 2);
    EXPECT_EQ(code(InputError("")), 3);
    EXPECT_EQ(code(DeviceError("")), 4);
    EXPECT_EQ(code(std::runtime_error("")), 1);
    const std::filesystem::filesystem_error refused(
        "", "place", std::make_error_code(std::errc::permission_denied));
    EXPECT_EQ(code(refused), 3);
    EXPECT_THAT(failure_of(std::make_exception_ptr(refused)).text,
                HasSubstr("place cannot be used (Permission denied) check"));
    EXPECT_EQ(code(std::bad_alloc()), 1);
}

}  // namespace
}  // namespace cambrian::launch
