#include "cambrian/evolve/tasks/external/program_pool.hpp"

#include <fmt/format.h>

#include <utility>

namespace cambrian::evolve {
namespace {

/// Failures one after another whose standard error is shown: of a group, of a part of it, and of
/// one network, twice.
constexpr int shown_failures = 4;

/// A program may name something else each time.
constexpr std::size_t max_told = 100;

}  // namespace

ProgramPool::ProgramPool(ExternalCommand command, std::size_t max_waiting, Warn warn)
    : command_(std::move(command)), max_waiting_(max_waiting), warn_(std::move(warn)) {
    try {
        waiting_.push_back(std::make_unique<ExternalProgram>(command_));
    } catch (const ChildFailure& failure) {
        throw ConfigError(fmt::format("task.command: at the start of {}: {}",
                                      command_.command.front(), failure.what()));
    }
    interface_ = waiting_.front()->interface();
}

ProgramPool::~ProgramPool() {
    for (const auto& program : waiting_) program->hang_up();
}

std::unique_ptr<ExternalProgram> ProgramPool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!waiting_.empty()) {
            auto program = std::move(waiting_.back());
            waiting_.pop_back();
            return program;
        }
    }
    return start();
}

std::unique_ptr<ExternalProgram> ProgramPool::start() const {
    std::unique_ptr<ExternalProgram> program;
    try {
        program = std::make_unique<ExternalProgram>(
            command_, failures_.load() < shown_failures ? ErrorOutput::shown : ErrorOutput::hidden);
    } catch (const ChildFailure&) {
        throw;
    } catch (const Error& error) {
        // It could be started before: the host is short of something, perhaps not for long.
        throw ChildFailure(error.what());
    }
    if (program->interface() != interface_)
        throw ChildFailure(
            "the program, started again, names other observations or actions than at first (these "
            "belong to the task) let them depend on nothing but task.settings");
    return program;
}

void ProgramPool::give_back(std::unique_ptr<ExternalProgram> program) {
    failures_ = 0;
    if (program->errors() == ErrorOutput::hidden) return;  // The next one is heard again.
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < max_waiting_) waiting_.push_back(std::move(program));
}

std::int64_t ProgramPool::note(bool worked) {
    const std::lock_guard lock(mutex_);
    in_vain_ = worked ? 0 : in_vain_ + 1;
    return in_vain_;
}

void ProgramPool::warn(const std::string& cause, const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!warn_ || told_.size() > max_told || !told_.insert(cause).second) return;
    warn_(told_.size() <= max_told
              ? text
              : fmt::format("{} different warnings were told: further ones are not", max_told));
}

void ProgramPool::note_failure() {
    if (++failures_ == shown_failures)
        warn(fmt::format(
            "the program failed {} times in a row: what it writes to its standard error is hidden "
            "until it works, but for its end in what is told of failures",
            shown_failures));
}

}  // namespace cambrian::evolve
