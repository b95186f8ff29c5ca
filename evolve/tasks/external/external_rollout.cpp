#include "cambrian/evolve/tasks/external/external_rollout.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace cambrian::evolve {
namespace {

/// The worlds of a lane, and what it does in them.
class Worlds {
  public:
    Worlds(ProgramLane& lane, const ExternalInterface& interface, const Population& population,
           const ExternalEpisodes& episodes)
        : lane_(&lane), interface_(&interface), episodes_(episodes.seeds.size()) {
        const NetworkGroup& group = lane.group();
        std::vector<ExternalWorld> worlds;
        for (std::size_t i = 0; i < group.count; ++i)
            for (std::size_t e = 0; e < episodes_; ++e)
                worlds.push_back({.network = static_cast<std::int64_t>(group.first + i),
                                  .episode = static_cast<std::int64_t>(e),
                                  .seed = episodes.seeds[e],
                                  .individual = population.origin(group.first + i)});
        going_.resize(worlds.size());
        for (std::size_t i = 0; i < going_.size(); ++i) going_[i] = i;
        returns_.assign(worlds.size(), 0.0);
        steps_.assign(group.count, 0);
        lane.attempt([&](ExternalProgram* program) {
            program->send_reset(worlds, episodes.phase, episodes.round);
        });
    }

    /// Writes observations where the population reads them.
    void receive_reset(std::span<float> observations) {
        lane_->attempt([&](ExternalProgram* program) {
            place(program->receive_reset(going_.size()), observations);
        });
    }
    /// @param outputs of all networks.
    void send_step(std::span<const float> outputs) {
        if (!goes_on()) return;
        const std::size_t width = interface_->actions.size();
        std::vector<float> actions;
        std::vector<std::size_t> asked;
        for (const std::size_t world : going_) {
            const auto action = outputs.subspan((first_world() + world) * width, width);
            if (!std::ranges::all_of(action, [](float x) { return std::isfinite(x); })) {
                // Its episode ends: nobody could act on this.
                returns_[world] = std::numeric_limits<double>::quiet_NaN();
                continue;
            }
            asked.push_back(world);
            actions.insert(actions.end(), action.begin(), action.end());
        }
        going_ = std::move(asked);
        if (!going_.empty())
            lane_->attempt([&](ExternalProgram* program) { program->send_step(going_, actions); });
    }
    void receive_step(std::span<float> observations) {
        if (!goes_on()) return;
        lane_->attempt([&](ExternalProgram* program) {
            const ExternalStep step = program->receive_step(going_.size());
            place(step.observations, observations);
            std::vector<std::size_t> left;
            for (std::size_t i = 0; i < going_.size(); ++i) {
                returns_[going_[i]] += step.rewards[i];
                ++steps_[going_[i] / episodes_];
                if (step.done[i] == 0) left.push_back(going_[i]);
            }
            going_ = std::move(left);
        });
    }
    [[nodiscard]] bool goes_on() const { return lane_->works() && !going_.empty(); }

    void write(std::span<double> fitness, Population& population) const {
        const NetworkGroup& group = lane_->group();
        lane_->attempt([](const ExternalProgram* program) { program->require_silence(); });
        if (!lane_->works()) return;
        for (std::size_t i = 0; i < group.count; ++i) {
            double sum = 0.0;
            for (std::size_t e = 0; e < episodes_; ++e) sum += returns_[i * episodes_ + e];
            fitness[group.first + i] = sum / static_cast<double>(episodes_);
            population.count_steps(group.first + i, steps_[i]);
        }
    }

  private:
    [[nodiscard]] std::size_t first_world() const { return lane_->group().first * episodes_; }

    void place(std::span<const float> from, std::span<float> observations) const {
        const std::size_t width = interface_->observations.size();
        for (std::size_t i = 0; i < going_.size(); ++i)
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(i * width), width,
                        observations.begin() +
                            static_cast<std::ptrdiff_t>((first_world() + going_[i]) * width));
    }

    ProgramLane* lane_;
    const ExternalInterface* interface_;
    std::size_t episodes_;
    std::vector<std::size_t> going_;    ///< Worlds whose episodes have not ended.
    std::vector<double> returns_;       ///< Of all of them.
    std::vector<std::uint64_t> steps_;  ///< Of the worlds of each network.
};

/// All steps of some lanes together: programs work at the same time, and networks once for all.
void roll_out(std::vector<Worlds>& lanes, Population& population, const ExternalEpisodes& episodes,
              std::size_t observations) {
    const auto batch = static_cast<std::int64_t>(episodes.seeds.size());
    std::vector<float> seen(population.size() * episodes.seeds.size() * observations, 0.0F);
    population.reset();
    for (Worlds& lane : lanes) lane.receive_reset(seen);
    for (std::int64_t step = 0; step < episodes.steps; ++step) {
        if (!std::ranges::any_of(lanes, &Worlds::goes_on)) return;
        const std::vector<float> outputs = population.step(seen, batch);
        for (Worlds& lane : lanes) lane.send_step(outputs);
        for (Worlds& lane : lanes) lane.receive_step(seen);
    }
}

}  // namespace

std::vector<double> rollout_fitness(ProgramPool& pool, Population& population,
                                    const ExternalEpisodes& episodes,
                                    const LaneSettings& settings) {
    const auto work = [&](std::span<ProgramLane> lanes, std::span<double> fitness) {
        std::vector<Worlds> worlds;
        for (ProgramLane& lane : lanes)
            worlds.emplace_back(lane, pool.interface(), population, episodes);
        roll_out(worlds, population, episodes, pool.interface().observations.size());
        for (const Worlds& one : worlds) one.write(fitness, population);
    };
    return fitness_by_lanes(pool, population, settings, work);
}

}  // namespace cambrian::evolve
