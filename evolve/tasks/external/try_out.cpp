#include "cambrian/evolve/tasks/external/try_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "cambrian/evolve/genome/genome.hpp"
#include "cambrian/evolve/tasks/external/network_message.hpp"

namespace cambrian::evolve {
namespace {

constexpr std::int64_t max_steps = 20;

/// As of the first birth of a run.
constexpr BirthId first_birth = 0;

std::string steps_text(std::int64_t steps) {
    return fmt::format("{} step{}", steps, steps == 1 ? "" : "s");
}

std::string begin_text(std::int64_t steps) {
    return fmt::format("the first {} of an episode, with actions of 0", steps_text(steps));
}

/// What is left of the time for all that is tried; no message has more than its own.
class Patience {
  public:
    using Clock = std::chrono::steady_clock;

    Patience(ExternalProgram& program, double own, double all)
        : program_(program),
          own_(own),
          all_(all),
          end_(Clock::now() +
               std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(all))) {}

    void before_first_message() { share(all_); }
    void before_message() { share(left()); }
    void before_answer() { program_.set_patience(std::clamp(left(), 0.0, own_)); }
    [[nodiscard]] bool over() const { return left() <= 0.0; }
    /// Whether the last message, which had less than its own time, proves nothing by silence.
    [[nodiscard]] bool shortened() const { return shortened_; }

  private:
    [[nodiscard]] double left() const {
        return std::chrono::duration<double>(end_ - Clock::now()).count();
    }
    void share(double seconds) {
        shortened_ = seconds < own_;
        program_.set_patience(std::clamp(seconds, 0.0, own_));
    }

    ExternalProgram& program_;
    double own_;
    double all_;
    Clock::time_point end_;
    bool shortened_ = false;
};

/// @param done steps that were answered.
std::string play(ExternalProgram& program, Patience& patience, const TryOut& asked,
                 std::int64_t& done) {
    const ExternalEpisodes& episodes = asked.episodes;
    const std::array world{ExternalWorld{
        .network = 0, .episode = 0, .seed = episodes.seeds.front(), .individual = first_birth}};
    patience.before_first_message();
    program.send_reset(world, episodes.phase, episodes.round);
    patience.before_answer();
    static_cast<void>(program.receive_reset(1));
    const std::vector<float> actions(program.interface().actions.size(), 0.0F);
    const std::array<std::size_t, 1> going{0};
    const std::int64_t steps = std::min(episodes.steps, max_steps);
    while (done < steps && !patience.over()) {
        patience.before_message();
        program.send_step(going, actions);
        patience.before_answer();
        const bool ended = program.receive_step(1).done.front() != 0;
        ++done;
        if (ended || done == episodes.steps)
            return fmt::format("an episode of {}, with actions of 0", steps_text(done));
    }
    return begin_text(done);
}

std::string judge(ExternalProgram& program, Patience& patience, const TryOut& asked,
                  const Blueprint& network) {
    RandomStream rng(random_key(0, "task/external/try out"), 0);
    nlohmann::ordered_json networks = nlohmann::ordered_json::array();
    networks.push_back(
        network_message(sample_genome(network, rng, first_birth), 0, first_birth, asked.frames));
    patience.before_first_message();
    program.send_networks(std::move(networks), asked.episodes);
    patience.before_answer();
    static_cast<void>(program.receive_fitness(1));
    return "one network";
}

}  // namespace

std::string try_out(ProgramPool& pool, const TryOut& asked, const Blueprint& network) {
    const ExternalCommand& command = pool.command();
    std::int64_t done = 0;
    bool shortened = false;
    try {
        const std::unique_ptr<ExternalProgram> program = pool.take();
        Patience patience(*program, command.seconds, asked.seconds);
        try {
            return asked.level == ExternalLevel::policy ? play(*program, patience, asked, done)
                                                        : judge(*program, patience, asked, network);
        } catch (const ChildSilence&) {
            shortened = patience.shortened();
            throw;
        }
    } catch (const ChildFailure& failure) {
        if (shortened)
            return fmt::format("{}: no {}answer came within {} s (task.seconds is {})",
                               done > 0 ? begin_text(done) : "nothing to its end",
                               done > 0 ? "further " : "", asked.seconds, command.seconds);
        throw ConfigError(fmt::format("task.command: when {} was tried once, {}",
                                      command.command.front(), failure.what()));
    }
}

}  // namespace cambrian::evolve
