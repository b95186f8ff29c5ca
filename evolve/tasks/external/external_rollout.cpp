#include "cambrian/evolve/tasks/external/external_rollout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace cambrian::evolve {
namespace {

/// Failures one after another, with nothing that worked since the evaluation began, after which the
/// program is taken to be broken. One network alone causes fewer (halves of the largest shard).
constexpr int max_failures = 40;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

/// Neighbouring networks that one program evaluates.
struct Group {
    std::size_t first = 0;
    std::size_t count = 0;
    bool retried = false;  ///< A part of one that failed: a new program tries it.
    bool again = false;    ///< It failed alone before.
};

/// A program at work on the worlds of a group.
class Lane {
  public:
    Lane(ProgramPool& pool, const Group& group) : pool_(pool), group_(group) {
        attempt([this] { program_ = group_.retried ? pool_.start() : pool_.take(); });
    }

    [[nodiscard]] const Group& group() const { return group_; }
    [[nodiscard]] const std::optional<std::string>& failure() const { return failure_; }
    [[nodiscard]] bool works() const { return !failure_; }

    void send_reset(const ExternalEpisodes& episodes) {
        std::vector<ExternalWorld> worlds;
        for (std::size_t i = 0; i < group_.count; ++i)
            for (std::size_t e = 0; e < episodes.seeds.size(); ++e)
                worlds.push_back({static_cast<std::int64_t>(group_.first + i),
                                  static_cast<std::int64_t>(e), episodes.seeds[e]});
        going_.resize(worlds.size());
        for (std::size_t i = 0; i < going_.size(); ++i) going_[i] = i;
        returns_.assign(worlds.size(), 0.0);
        attempt([&] { program_->send_reset(worlds, episodes.phase, episodes.round); });
    }
    /// Writes observations where the population reads them.
    void receive_reset(std::span<float> observations) {
        attempt([&] { place(program_->receive_reset(going_.size()), observations); });
    }
    /// @param outputs of all networks.
    void send_step(std::span<const float> outputs) {
        const std::size_t width = pool_.interface().actions.size();
        std::vector<float> actions;
        std::vector<std::size_t> asked;
        for (const std::size_t world : going_) {
            const auto action = outputs.subspan((first_world() + world) * width, width);
            if (!std::ranges::all_of(action, [](float x) { return std::isfinite(x); })) {
                returns_[world] = no_number;  // Its episode ends: nobody could act on this.
                continue;
            }
            asked.push_back(world);
            actions.insert(actions.end(), action.begin(), action.end());
        }
        going_ = std::move(asked);
        if (!going_.empty()) attempt([&] { program_->send_step(going_, actions); });
    }
    void receive_step(std::span<float> observations) {
        if (going_.empty()) return;
        attempt([&] {
            const ExternalStep step = program_->receive_step(going_.size());
            place(step.observations, observations);
            std::vector<std::size_t> left;
            for (std::size_t i = 0; i < going_.size(); ++i) {
                returns_[going_[i]] += step.rewards[i];
                if (step.done[i] == 0) left.push_back(going_[i]);
            }
            going_ = std::move(left);
        });
    }
    [[nodiscard]] bool goes_on() const { return works() && !going_.empty(); }

    /// The fitness of its networks; the program goes back to the others.
    void finish(std::span<double> fitness, std::size_t episodes) {
        for (std::size_t i = 0; i < group_.count; ++i) {
            double sum = 0.0;
            for (std::size_t e = 0; e < episodes; ++e) sum += returns_[i * episodes + e];
            fitness[group_.first + i] = sum / static_cast<double>(episodes);
        }
        pool_.give_back(std::move(program_));
    }

  private:
    [[nodiscard]] std::size_t first_world() const {
        return group_.first * (returns_.size() / group_.count);
    }

    void place(std::span<const float> from, std::span<float> observations) const {
        const std::size_t width = pool_.interface().observations.size();
        for (std::size_t i = 0; i < going_.size(); ++i)
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        observations.begin() +
                            static_cast<std::ptrdiff_t>((first_world() + going_[i]) * width));
    }

    template <class Action>
    void attempt(const Action& action) {
        if (failure_) return;
        try {
            action();
        } catch (const ChildFailure& failure) {
            failure_ = failure.what();
            program_.reset();
            going_.clear();
        }
    }

    ProgramPool& pool_;
    Group group_;
    std::unique_ptr<ExternalProgram> program_;
    std::optional<std::string> failure_;
    std::vector<std::size_t> going_;  ///< Worlds of the group whose episodes have not ended.
    std::vector<double> returns_;     ///< Of all of them.
};

/// All steps of some lanes together: programs work at the same time, and networks once for all.
void roll_out(std::span<Lane> lanes, Population& population, const ExternalEpisodes& episodes,
              std::size_t observations) {
    const auto batch = static_cast<std::int64_t>(episodes.seeds.size());
    std::vector<float> seen(population.size() * episodes.seeds.size() * observations, 0.0F);
    population.reset();
    for (Lane& lane : lanes) lane.send_reset(episodes);
    for (Lane& lane : lanes) lane.receive_reset(seen);
    for (std::int64_t step = 0; step < episodes.steps; ++step) {
        if (!std::ranges::any_of(lanes, &Lane::goes_on)) return;
        const std::vector<float> outputs = population.step(seen, batch);
        for (Lane& lane : lanes) lane.send_step(outputs);
        for (Lane& lane : lanes) lane.receive_step(seen);
    }
}

std::deque<Group> divided(std::size_t networks, std::int64_t programs) {
    const std::size_t parts = std::min(networks, static_cast<std::size_t>(programs));
    std::deque<Group> groups;
    for (std::size_t i = 0; i < parts; ++i) {
        const std::size_t first = networks * i / parts;
        groups.push_back({first, networks * (i + 1) / parts - first});
    }
    return groups;
}

/// What is tried next in place of a group that failed, before all others.
void divide_again(std::deque<Group>& waiting, const Group& group) {
    if (group.count == 1) {
        waiting.push_front({group.first, 1, true, true});
        return;
    }
    const std::size_t half = group.count / 2;
    waiting.push_front({group.first + half, group.count - half, true});
    waiting.push_front({group.first, half, true});
}

}  // namespace

std::vector<double> external_fitness(ProgramPool& pool, Population& population,
                                     const ExternalEpisodes& episodes, std::int64_t programs) {
    std::vector<double> fitness(population.size(), no_number);
    std::deque<Group> waiting = divided(population.size(), programs);
    int failures = 0;
    bool has_worked = false;
    std::string last_failure;
    while (!waiting.empty()) {
        std::vector<Lane> lanes;
        while (!waiting.empty() && std::ssize(lanes) < programs) {
            lanes.emplace_back(pool, waiting.front());
            waiting.pop_front();
        }
        roll_out(lanes, population, episodes, pool.interface().observations.size());
        has_worked = has_worked || std::ranges::any_of(lanes, &Lane::works);
        for (Lane& lane : lanes) {
            if (lane.works()) {
                lane.finish(fitness, episodes.seeds.size());
                continue;
            }
            last_failure = *lane.failure();
            if (!has_worked && ++failures >= max_failures)
                throw ChildFailure(fmt::format("{} (it failed {} times, whatever it was given)",
                                               *lane.failure(), failures));
            if (lane.group().again)
                pool.warn(fmt::format("a network gets the worst fitness: with it alone, {}",
                                      *lane.failure()));
            else
                divide_again(waiting, lane.group());
        }
    }
    // With one network alone nobody knows whose fault it is.
    if (!has_worked && population.size() > 1)
        throw ChildFailure(last_failure + " (it failed with every network alone)");
    return fitness;
}

}  // namespace cambrian::evolve
