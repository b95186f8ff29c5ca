#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cambrian/evolve/tasks/external/program_pool.hpp"
#include "cambrian/evolve/tasks/task.hpp"

namespace cambrian::evolve {

/// Neighbouring networks that one program works on.
struct NetworkGroup {
    std::size_t first = 0;
    std::size_t count = 0;
    bool retried = false;  ///< A part of one that failed: a new program tries it.
    bool again = false;    ///< It failed alone before.
};

/// A program at work on a group, until it fails.
class ProgramLane {
  public:
    ProgramLane(ProgramPool& pool, const NetworkGroup& group) : pool_(pool), group_(group) {
        attempt([this](ExternalProgram*) {
            program_ = group_.retried ? pool_.get().start() : pool_.get().take();
        });
    }

    [[nodiscard]] const NetworkGroup& group() const { return group_; }
    [[nodiscard]] const std::optional<ChildFailure>& failure() const { return failure_; }
    [[nodiscard]] bool works() const { return !failure_; }

    /// Does something with the program, unless it has failed; a ChildFailure is the end of it.
    /// Throws UntrustedTask where what it answered to earlier groups may be wrong, too.
    template <class Action>
    void attempt(const Action& action) {
        if (failure_) return;
        try {
            action(program_.get());
        } catch (const ChildExcess& excess) {
            if (program_ && program_->may_have_miscounted()) refuse_answers();
            fail(excess);
        } catch (const ChildFailure& failure) {
            fail(failure);
        }
    }
    /// The program goes back to the others.
    void finish() {
        program_->note_counts();
        pool_.get().give_back(std::move(program_));
    }

  private:
    [[noreturn]] static void refuse_answers() {
        throw UntrustedTask(
            "task.command: the program said more than it was asked (one answer follows a message: "
            "what counted before, which a resumed run keeps, may have been the answers to other "
            "messages) write each answer once, nothing else to standard output, and let answers "
            "repeat the ids of messages, with which none is taken for another");
    }
    void fail(const ChildFailure& failure) {
        failure_ = failure;
        program_.reset();
        pool_.get().note_failure();
    }

    std::reference_wrapper<ProgramPool> pool_;
    NetworkGroup group_;
    std::unique_ptr<ExternalProgram> program_;
    std::optional<ChildFailure> failure_;
};

/// How networks are divided among programs.
struct LaneSettings {
    std::int64_t programs = 1;  ///< At work at the same time.
    std::size_t group = 0;      ///< Networks of a group, at most; 0: all that there are.
};

/// Evaluates the groups of some lanes and writes the fitness of their networks, wherever a lane
/// works to the end.
using LaneWork = std::function<void(std::span<ProgramLane> lanes, std::span<double> fitness)>;

/// The fitness of every network; one with which the program failed twice, alone, has failed. Where
/// a program fails, its networks are tried again in halves by a new one, so that no network answers
/// for another. Throws ChildFailure when the program fails whatever it is given.
[[nodiscard]] std::vector<double> fitness_by_lanes(ProgramPool& pool, Population& population,
                                                   const LaneSettings& settings,
                                                   const LaneWork& work);

}  // namespace cambrian::evolve
