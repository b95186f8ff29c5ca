#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cambrian/evolve/tasks/external/external_program.hpp"

namespace cambrian::evolve {

/// Programs of one command that wait for work. Any thread may take and give.
class ProgramPool {
  public:
    using Warn = std::function<void(const std::string& text)>;

    /// Starts one, to learn what it simulates. Throws ConfigError when it cannot be started or says
    /// nothing sensible.
    /// @param max_waiting programs that are kept while nobody needs them.
    ProgramPool(ExternalCommand command, std::size_t max_waiting, Warn warn);
    /// All are told to end before any is waited for.
    ~ProgramPool();
    ProgramPool(const ProgramPool&) = delete;
    ProgramPool& operator=(const ProgramPool&) = delete;

    [[nodiscard]] const ExternalCommand& command() const { return command_; }
    [[nodiscard]] const ExternalInterface& interface() const { return interface_; }
    /// One that waits, or a new one. Throws ChildFailure when a new one cannot be started, fails,
    /// or simulates something else than the first did.
    [[nodiscard]] std::unique_ptr<ExternalProgram> take();
    /// A new one; throws as take() does.
    [[nodiscard]] std::unique_ptr<ExternalProgram> start() const;
    /// For one that works; it ends when enough others wait.
    void give_back(std::unique_ptr<ExternalProgram> program);
    /// Tells the user what went wrong, each cause once, the first 100 of them.
    void warn(const std::string& cause, const std::string& text);
    void warn(const std::string& text) { warn(text, text); }
    /// Notes that a program has failed. After some without one between them that was given back,
    /// the standard error of new ones is hidden: they would all say the same.
    void note_failure();
    /// Notes whether any network of an evaluation was judged. Returns how many evaluations one
    /// after another had none.
    std::int64_t note(bool worked);

  private:
    const ExternalCommand command_;
    const std::size_t max_waiting_;
    const Warn warn_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<ExternalProgram>> waiting_;
    std::set<std::string> told_;    ///< Causes.
    std::int64_t in_vain_ = 0;      ///< Evaluations since one of which a network was judged.
    std::atomic<int> failures_{0};  ///< Since a program was given back.
    ExternalInterface interface_;
};

}  // namespace cambrian::evolve
