#include "cambrian/evolve/tasks/external/program_pool.hpp"

#include <fmt/format.h>

#include <utility>

namespace cambrian::evolve {

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
        program = std::make_unique<ExternalProgram>(command_);
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
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < max_waiting_) waiting_.push_back(std::move(program));
}

std::int64_t ProgramPool::note(bool worked) {
    const std::lock_guard lock(mutex_);
    in_vain_ = worked ? 0 : in_vain_ + 1;
    return in_vain_;
}

void ProgramPool::warn(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (warn_) warn_(text);
}

}  // namespace cambrian::evolve
