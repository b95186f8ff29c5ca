#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cambrian::launch::test {

/// How a child process is started.
struct ChildSettings {
    std::string output;          ///< A file for what it prints.
    bool closed = false;         ///< Without descriptors 0, 1 and 2.
    std::vector<int> ignored{};  ///< Signals it ignores from the start.
    std::vector<std::pair<std::string, std::string>> environment{};
};

/// The environment of one whose calls of the system fail or take long: tests/faulty_system.
inline std::vector<std::pair<std::string, std::string>> with_fault(const std::string& variable,
                                                                   const std::string& value) {
    // A sanitizer wants to be the first library.
    return {{"LD_PRELOAD", CAMBRIAN_FAULTY_SYSTEM},
            {"ASAN_OPTIONS", "verify_asan_link_order=0"},
            {variable, value}};
}

/// The program as a process of its own, killed at the latest with this object.
class ChildProcess {
  public:
    ChildProcess(const std::vector<std::string>& arguments, const ChildSettings& settings)
        : pid_(fork()) {
        if (pid_ == 0) begin(arguments, settings);
    }
    ~ChildProcess() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }
    ChildProcess(const ChildProcess&) = delete;
    ChildProcess& operator=(const ChildProcess&) = delete;

    void tell(int signal) const {
        if (pid_ > 0) ::kill(pid_, signal);
    }
    /// The exit code, or minus the signal that ended it; nothing while it runs on after so long.
    std::optional<int> end_within(double seconds) {
        const auto limit =
            std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (pid_ > 0 && std::chrono::steady_clock::now() < limit) {
            int status = 0;
            if (::waitpid(pid_, &status, WNOHANG) == pid_) {
                pid_ = 0;
                return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        return std::nullopt;
    }

    /// Processor time of all its threads so far; 0 once it has ended.
    double processor_seconds() const {
        clockid_t clock{};
        timespec used{};
        if (pid_ <= 0 || ::clock_getcpuclockid(pid_, &clock) != 0 ||
            ::clock_gettime(clock, &used) != 0)
            return 0.0;
        return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
    }

  private:
    [[noreturn]] static void begin(const std::vector<std::string>& arguments,
                                   const ChildSettings& settings) {
        for (const int signal : settings.ignored) ::signal(signal, SIG_IGN);
        for (const auto& [name, value] : settings.environment)
            ::setenv(name.c_str(), value.c_str(), 1);
        const int file = ::open(settings.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
        for (const int descriptor : {1, 2}) ::dup2(file, descriptor);
        if (file > 2) ::close(file);
        for (const int descriptor : {0, 1, 2})
            if (settings.closed) ::close(descriptor);
        std::string program = CAMBRIAN_PROGRAM;
        std::vector<std::string> copies = arguments;
        std::vector<char*> words{program.data()};
        for (std::string& word : copies) words.push_back(word.data());
        words.push_back(nullptr);
        ::execv(CAMBRIAN_PROGRAM, words.data());
        ::_exit(127);
    }

    pid_t pid_;
};

}  // namespace cambrian::launch::test
