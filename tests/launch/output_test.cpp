#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "cambrian/distributed/coordinator/evolution_directory.hpp"
#include "cambrian/launch/commands/commands.hpp"
#include "cambrian/launch/commands/output_file.hpp"
#include "cambrian/tests/launch/launch_support.hpp"

// What commands write, and where: -o, run.directory, files that are in the way.
namespace cambrian::launch {
namespace {

namespace fs = std::filesystem;
using test::Result;
using test::run;
using test::TemporaryDirectory;
using test::write_xor;
using testing::HasSubstr;

class Output : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(run({"evolve", write_xor(directory_), "-q"}).code, 0);
        best_ = directory_.file("run-xor/best.cmb");
    }

    TemporaryDirectory directory_;
    std::string best_;
};

TEST_F(Output, NeverReplacesAnInput) {
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    const std::string link = directory_.file("link");
    const std::string hard = directory_.file("hard.cmb");
    fs::create_symlink("rows.csv", link);
    fs::create_hard_link(best_, hard);
    const std::string network = test::content(best_);
    const std::string roundabout = (directory_.path() / "." / "rows.csv").string();
    for (const std::vector<std::string>& arguments :
         std::vector<std::vector<std::string>>{{"infer", best_, "--input", rows, "-o", rows},
                                               {"infer", best_, "--input", rows, "-o", link},
                                               {"infer", best_, "--input", rows, "-o", roundabout},
                                               {"infer", best_, "--input", rows, "-o", best_},
                                               {"splice", best_, best_, "-o", hard},
                                               {"convert", best_, hard}}) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2) << arguments.back();
        EXPECT_THAT(result.err, HasSubstr("would replace what it is made of")) << arguments.back();
    }
    EXPECT_EQ(test::content(rows), "a,b\n0,1\n");
    EXPECT_EQ(test::content(best_), network);
}

/// Every file in a folder and below.
std::vector<std::string> files_below(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path().string());
    return files;
}

void expect_kept(const std::vector<std::string>& command, const std::string& file) {
    const std::string before = test::content(file);
    const Result result = run(command);
    EXPECT_EQ(result.code, 2) << command.front() << ' ' << file << result.out;
    EXPECT_THAT(result.err, HasSubstr(" name ")) << command.front() << ' ' << file;
    EXPECT_EQ(test::content(file), before) << command.front() << ' ' << file;
}

TEST_F(Output, NeverReplacesAFileOfARun) {
    const std::string run_directory = directory_.file("run-xor");
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    const std::string link = directory_.file("link.csv");
    fs::create_symlink("run-xor/best.cmb", link);
    for (const char* name : {"best_genotype.cmb", "initial.cmb", "initial/2.cmb", "logs/host.log"})
        directory_.write(std::string("run-xor/") + name, "of another run");
    const std::string other = directory_.file("other.cmb");
    fs::copy_file(best_, other);
    for (const std::string& file : files_below(run_directory)) {
        for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
                 {"report", run_directory, "-o", file},
                 {"individuals", run_directory, "--csv", file},
                 {"lineage", run_directory, "--csv", file},
                 {"compare", run_directory, "--csv", file},
                 {"infer", other, "--input", rows, "-o", file},
                 {"quantise", other, "--dtype", "int8", "-o", file},
                 {"splice", other, other, "-o", file},
                 {"tokenize", "--train", rows, "-o", file},
                 {"new", "--csv", rows, "--target", "b", "--force", "-o", file},
                 {"convert", other, file}})
            expect_kept(command, file);
    }
    EXPECT_EQ(run({"lineage", run_directory, "--csv", link}).code, 2);
    // Under names of their own results may lie there, and be replaced.
    for (int times = 0; times < 2; ++times) {
        EXPECT_EQ(run({"individuals", run_directory, "--csv", run_directory + "/all.csv"}).code, 0);
        EXPECT_EQ(
            run({"quantise", best_, "--dtype", "int8", "-o", run_directory + "/int8.cmb"}).code, 0);
    }
}

TEST_F(Output, NeverReplacesAFileOfTrainingsTrialsAndSweeps) {
    const std::string trained = directory_.file("trained");
    const std::string swept = directory_.file("swept");
    ASSERT_EQ(run({"train", std::string(CAMBRIAN_SOURCE_DIR) + "/configs/train_xor.json", "-q",
                   "--set", "training.epochs=2", "--set", "training.observe.every=1", "--set",
                   "training.observe.to=file", "--set", "log.tensorboard=true", "--set",
                   "run.directory=" + trained})
                  .code,
              0);
    ASSERT_EQ(
        run({"sweep", directory_.file("xor.json"), "-q", "--over", "splice.rate=0.5", "--runs", "1",
             "--directory", swept, "--set", "log.tensorboard=true", "--set", "islands.count=2"})
            .code,
        0);
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    for (const std::string& folder : {trained, swept})
        for (const std::string& file : files_below(folder))
            expect_kept({"infer", best_, "--input", rows, "-o", file}, file);
}

/// A standard stream comes from a file, or goes to it, as long as this lives.
class Redirected {
  public:
    Redirected(int stream, const std::string& path) : stream_(stream), before_(::dup(stream)) {
        const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        ::dup2(file, stream_);
        ::close(file);
    }
    ~Redirected() {
        ::dup2(before_, stream_);
        ::close(before_);
    }
    Redirected(const Redirected&) = delete;
    Redirected& operator=(const Redirected&) = delete;

  private:
    int stream_;
    int before_;
};

TEST_F(Output, NeverReplacesWhatStandardInputComesFrom) {
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    const Redirected input(STDIN_FILENO, rows);
    for (const char* name : {"-", "/dev/stdin"}) {
        const Result result = run({"infer", best_, "--input", name, "-o", rows});
        EXPECT_EQ(result.code, 2) << name;
        EXPECT_THAT(result.err, HasSubstr("would replace what it is made of")) << name;
    }
    EXPECT_EQ(test::content(rows), "a,b\n0,1\n");
}

TEST_F(Output, StandardOutputHasTheResultAlone) {
    const std::string place = directory_.file("run-xor");
    std::string table = "a,b\n";
    for (int i = 0; i < 20; ++i) table += fmt::format("{},{}\n", i * i % 7, 0.5 * (i % 5));
    const std::string rows = directory_.write("rows.csv", table);
    const std::string file = directory_.file("result.cmb");
    const std::string link = directory_.file("link.cmb");
    fs::create_symlink("/dev/stdout", link);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"infer", best_, "--input", rows, "-o"},
             {"quantise", best_, "--dtype", "int8", "-o"},
             {"splice", best_, best_, "--report", "-o"},
             {"splice", best_, best_, "--mode", "graft", "-o"},
             {"tokenize", "--train", rows, "-o"},
             {"new", "--csv", rows, "--target", "b", "--mode", "regression", "--force", "-o"},
             {"report", place, "-o"},
             {"individuals", place, "--csv"},
             {"lineage", place, "--csv"},
             {"compare", place, "--csv"}}) {
        const auto to = [&](const std::string& path) {
            std::vector<std::string> arguments = command;
            arguments.push_back(path);
            const Result result = run(arguments);
            EXPECT_EQ(result.code, 0) << command.front() << ' ' << path << ' ' << result.err;
            return result.out;
        };
        to(file);
        const std::string written = test::content(file);
        EXPECT_NE(written, "") << command.front();
        for (const std::string& path : {std::string("-"), std::string("/dev/stdout"), link})
            EXPECT_TRUE(to(path) == written) << command.front() << ' ' << path;
    }
    EXPECT_EQ(run({"convert", best_, file}).code, 0);
    const Result converted = run({"convert", best_, link});
    EXPECT_TRUE(converted.out == test::content(file));
    EXPECT_THAT(converted.err, HasSubstr("standard output: "));
    EXPECT_FALSE(fs::exists("-"));
    EXPECT_TRUE(fs::is_symlink(link));
    const Result folder = run({"convert", best_, "-", "--family", "torch"});
    EXPECT_EQ(folder.code, 2);
    EXPECT_THAT(folder.err, HasSubstr("a model of others is a folder"));
}

TEST_F(Output, RefusesTheFileThatStandardOutputGoesTo) {
    const std::string file = directory_.write("out.cmb", "before");
    const std::string link = directory_.file("link.cmb");
    fs::create_symlink("out.cmb", link);
    const int other = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    {
        const Redirected lines(STDOUT_FILENO, file);
        for (const std::string& path : {file, link, "/dev/fd/" + std::to_string(other)}) {
            const Result result = run({"quantise", best_, "--dtype", "int8", "-o", path});
            EXPECT_EQ(result.code, 2) << path;
            EXPECT_THAT(result.err, HasSubstr("standard output goes to that file")) << path;
        }
        EXPECT_EQ(run({"quantise", best_, "--dtype", "int8", "-o", "-"}).code, 0);
    }
    ::close(other);
    EXPECT_EQ(test::content(file), "before");
    EXPECT_EQ(run({"quantise", best_, "--dtype", "int8", "-o", file}).code, 0);
}

TEST_F(Output, NewProtectsFilesAlone) {
    std::string table = "a,b\n";
    for (int i = 0; i < 20; ++i) table += fmt::format("{},{}\n", i * i % 7, 0.5 * (i % 5));
    const std::string rows = directory_.write("data.csv", table);
    const auto into = [&](const std::string& path) {
        return run({"new", "--csv", rows, "--target", "b", "--mode", "regression", "-o", path});
    };
    EXPECT_EQ(into("/dev/null").code, 0);
    const std::string named = directory_.write("named.json", "");
    const int file = ::open(named.c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(into("/dev/fd/" + std::to_string(file)).code, 0);
    ::close(file);
    EXPECT_EQ(run({"validate", named}).code, 0);
    const std::string config = test::content(named);
    EXPECT_THAT(into(named).err, HasSubstr("is there already"));
    EXPECT_EQ(test::content(named), config);
}

TEST_F(Output, ADescriptorIsAppendedTo) {
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    const std::string all = directory_.write("all.csv", "first\n");
    const std::string answers = run({"infer", best_, "--input", rows}).out;
    const int file = ::open(all.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    for (int times = 0; times < 2; ++times)
        EXPECT_EQ(
            run({"infer", best_, "--input", rows, "-o", "/dev/fd/" + std::to_string(file)}).code,
            0);
    ::close(file);
    EXPECT_EQ(test::content(all), "first\n" + answers + answers);
}

TEST_F(Output, ADescriptorIsTheOneThatWasNamed) {
    const std::string named = directory_.write("named", "");
    const std::string own = directory_.write("own", "");
    const int file = ::open(named.c_str(), O_WRONLY | O_CLOEXEC);
    const std::string path = "/dev/fd/" + std::to_string(file);
    std::ostringstream none;
    const evolve::TaskRegistry tasks = evolve::standard_tasks();
    const evolve::StrategyRegistry strategies = evolve::standard_strategies();
    const evolve::GenomeRegistry genomes = evolve::standard_genomes();
    const CommandContext context{tasks, none, none, strategies, genomes};
    Destination output(context, path, {});
    const int other = ::open(own.c_str(), O_WRONLY | O_CLOEXEC);
    ::dup2(other, file);
    output.write(std::string_view("answers"));
    output.finish();
    ::close(other);
    ::close(file);
    EXPECT_EQ(test::content(named), "answers");
    EXPECT_EQ(test::content(own), "");
    EXPECT_THROW(Destination(context, path, {}), OutputError);
}

TEST_F(Output, NewNeverReplacesItsData) {
    const std::string rows = directory_.write("data.csv", "a,b\n0,1\n1,0\n2,1\n3,0\n");
    const Result result = run({"new", "--csv", rows, "--target", "b", "-o", rows, "--force"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("would replace what it is made of"));
    EXPECT_EQ(test::content(rows), "a,b\n0,1\n1,0\n2,1\n3,0\n");
}

TEST_F(Output, CheckpointsWithoutNetworksSaySo) {
    const std::string other = directory_.file("short");
    ASSERT_EQ(run({"evolve", write_xor(directory_), "-q", "--set", "run.stop.generations=1",
                   "--set", "run.directory=" + other})
                  .code,
              0);
    const std::string first = other + "/checkpoint-0.cmb";
    for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
             {"evaluate", first}, {"compare", first}, {"extract", first, "--elite", "1"}}) {
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 3) << arguments.front();
        EXPECT_THAT(result.err, HasSubstr("holds no network")) << arguments.front();
    }
    EXPECT_THAT(run({"evaluate", best_, "--elite", "3"}).err, HasSubstr("--elite is given"));
}

TEST_F(Output, ADeviceIsWrittenToAndStays) {
    const std::string rows = directory_.write("rows.csv", "a,b\n0,1\n");
    // A device of its own, where the system lets us make one: that of the system must not suffer.
    std::string device = directory_.file("null.cmb");
    if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0) device = "/dev/null";
    EXPECT_EQ(run({"splice", best_, best_, "-o", device}).code, 0);
    EXPECT_EQ(run({"infer", best_, "--input", rows, "-o", device}).code, 0);
    EXPECT_TRUE(fs::is_character_file(device));
    const Result full = run({"infer", best_, "--input", rows, "-o", "/dev/full"});
    EXPECT_EQ(full.code, 3);
    EXPECT_THAT(full.err, HasSubstr("No space left on device"));
}

TEST_F(Output, ARunReplacesNoNetworkThatLiesThere) {
    const std::string config = directory_.file("xor.json");
    fs::create_directories(directory_.file("only"));
    fs::copy_file(best_, directory_.file("only/best.cmb"));
    const std::string place = "run.directory=" + directory_.file("only");
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, std::vector<std::string>{"--continue"}}) {
        std::vector<std::string> arguments{"evolve", config, "-q", "--set", place};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Result result = run(arguments);
        EXPECT_EQ(result.code, 2);
        EXPECT_THAT(result.err, HasSubstr("holds best.cmb and no checkpoint"));
    }
    EXPECT_EQ(test::content(directory_.file("only/best.cmb")), test::content(best_));
    fs::rename(directory_.file("only/best.cmb"), directory_.file("away.cmb"));
    EXPECT_EQ(run({"evolve", config, "-q", "--set", place}).code, 0);
}

TEST(RunDirectoryName, TakesEveryKeyInBraces) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    const auto name = [&](const std::string& text, std::vector<std::string> more = {}) {
        more.insert(more.begin(),
                    {"evolve", config, "--print-config", "--set", "run.directory=" + text});
        const Result result = run(more);
        EXPECT_EQ(result.code, 0) << result.err;
        return nlohmann::json::parse(result.out)["run"]["directory"].get<std::string>();
    };
    EXPECT_EQ(name("a/{name}-{seed}"), "a/small-1");
    EXPECT_EQ(name("{run.name}"), "small");
    EXPECT_EQ(name("{task.type}-{population.size}-{splice.mode}"), "xor-12-blend");
    EXPECT_EQ(name("{mutation.weight_power}", {"--set", "mutation.weight_power=0.25"}), "0.25");
    EXPECT_EQ(name("{name}", {"--set", "run.name=up/and/down"}), "up-and-down");
    // A config.json with this directory would ask for a key.
    EXPECT_EQ(name("{name}", {"--set", "run.name=${{}seed}{x}"}), "-seed--x-");
    EXPECT_EQ(name("no keys"), "no keys");
    const std::string plain =
        directory.write("plain.json", R"({"run": {"name": "mine"}, "task": {"type": "xor"}})");
    EXPECT_THAT(run({"evolve", plain, "--print-config"}).out,
                HasSubstr("\"directory\": \"runs/mine-1\""));
    EXPECT_THAT(run({"evolve", plain, "--print-config", "--set", "run.seed=4"}).out,
                HasSubstr("\"directory\": \"runs/mine-4\""));
}

TEST(RunDirectoryName, NamesTheNearestKey) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
             {"{nane}", "{nane} is no key that the config has) did you mean {name}?"},
             {"{popolation.size}", "did you mean {population.size}?"},
             {"{size}", "did you mean {population.size}?"},
             {"{pop_size}", "Cambrian calls it {population.size}"},
             {"{run.directory}", "is no key that the config has"},
             {"{task}", "{task} is a section) name a key"},
             {"{network.layers}", "{network.layers} is a list) name a key"},
             {"{name", "\"{\" without \"}\""},
             {"a{}", "{} is no key that the config has"}}) {
        const Result result = run({"validate", config, "--set", "run.directory=" + text});
        EXPECT_EQ(result.code, 2) << text;
        EXPECT_THAT(result.err, HasSubstr("run.directory is \"" + text + "\"")) << text;
        EXPECT_THAT(result.err, HasSubstr(message)) << text;
    }
}

TEST(RunDirectoryName, KeepsTheRunsOfASweepApart) {
    const TemporaryDirectory directory;
    const std::string config = write_xor(directory);
    for (const char* size : {"10", "12", "14"})
        EXPECT_EQ(run({"evolve", config, "-q", "--set",
                       "run.directory=" + directory.file("sweep-{population.size}"), "--set",
                       std::string("population.size=") + size})
                      .code,
                  0);
    for (const char* size : {"10", "12", "14"})
        EXPECT_TRUE(fs::exists(directory.file(std::string("sweep-") + size + "/best.cmb")));
}

class Training : public testing::Test {
  protected:
    [[nodiscard]] std::vector<std::string> train() const {
        return {"train",
                std::string(CAMBRIAN_SOURCE_DIR) + "/configs/train_xor.json",
                "-q",
                "--set",
                "training.epochs=5",
                "--set",
                "run.directory=" + place_};
    }

    TemporaryDirectory directory_;
    std::string place_ = directory_.file("run");
};

TEST_F(Training, BeginsAgainWhereItEndedBeforeItsFirstCheckpoint) {
    // As a full disk leaves it.
    const Result printed =
        run({"train", train()[1], "--print-config", "--set", "run.directory=" + place_});
    const std::string written = directory_.write("run/config.json", printed.out);
    directory_.write("run/epochs.csv", "epoch,indi");
    const Result missing = run({"resume", place_});
    EXPECT_EQ(missing.code, 3);
    EXPECT_THAT(missing.err, HasSubstr("training.cmb (the training ended before its first "
                                       "checkpoint) start it again with 'cambrian train'"));
    const Result status = run({"status", place_});
    EXPECT_EQ(status.code, 1);
    EXPECT_THAT(status.out, HasSubstr("go on:  cambrian train CONFIG"));
    const Result again = run(train());
    EXPECT_EQ(again.code, 0) << again.err;
    EXPECT_EQ(run(train()).code, 2) << "now there is something to lose";
}

TEST_F(Training, RefusesATableThatWasEdited) {
    ASSERT_EQ(run(train()).code, 0);
    const std::string epochs = place_ + "/epochs.csv";
    const std::string original = test::content(epochs);
    std::string edited = original;
    edited[original.find('\n') + 3] ^= 1;
    std::ofstream(epochs, std::ios::binary) << edited;
    const Result refused = run({"resume", place_, "-q"});
    EXPECT_EQ(refused.code, 3);
    EXPECT_THAT(refused.err, HasSubstr("epochs.csv is not as its checkpoint left it"));
    std::ofstream(epochs, std::ios::binary) << original;
    EXPECT_EQ(run({"resume", place_, "-q"}).code, 0);
    EXPECT_EQ(test::content(epochs), original);
}

TEST_F(Training, RequiresNoFitness) {
    ASSERT_EQ(run(train()).code, 0);
    const Result result = run({"resume", place_, "--require-solved"});
    EXPECT_EQ(result.code, 2);
    EXPECT_THAT(result.err, HasSubstr("a training has no fitness to reach"));
}

}  // namespace
}  // namespace cambrian::launch
