#include "cambrian/distributed/worker/rank_log.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <system_error>
#include <utility>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/evolve/runs/run_file.hpp"

namespace cambrian::distributed {

namespace {

/// Lines to a descriptor that it owns. A disk that is full loses them: they are no results.
class DescriptorSink final : public spdlog::sinks::base_sink<std::mutex> {
  public:
    explicit DescriptorSink(int file) : file_(file) {}
    ~DescriptorSink() override { ::close(file_); }
    DescriptorSink(const DescriptorSink&) = delete;
    DescriptorSink& operator=(const DescriptorSink&) = delete;

  private:
    void sink_it_(const spdlog::details::log_msg& message) override {
        spdlog::memory_buf_t text;
        formatter_->format(message, text);
        [[maybe_unused]] const ssize_t written = ::write(file_, text.data(), text.size());
    }
    void flush_() override {}

    int file_;
};

/// Opens the file of a rank. Throws InputError where it cannot be one.
int open_log(const std::filesystem::path& path) {
    const std::filesystem::path folder = path.parent_path();
    std::error_code error;
    if (std::filesystem::is_symlink(folder, error)) {
        throw InputError(folder.string() + " is a symbolic link");
    }
    return open_own_file(path, O_WRONLY | O_CREAT | O_APPEND);
}

}  // namespace

struct RankLog::Logger {
    spdlog::logger log;
};

RankLog::RankLog(std::filesystem::path directory, int rank)
    : directory_(std::move(directory)), rank_(rank) {}

RankLog::~RankLog() {
    for (const std::string& text : waiting_) {
        fmt::print(stderr, "rank {}: {}\n", rank_, text);
    }
}

void RankLog::begin() {
    if (begun_) {
        return;  // It would make a directory anew that was moved away since.
    }
    std::error_code refused;
    std::filesystem::create_directories(directory_ / "logs", refused);
    begun_ = true;
    for (const std::string& text : std::exchange(waiting_, {})) {
        write(text);
    }
}

void RankLog::go_on() {
    begun_ = true;
    goes_on_ = true;
}

void RankLog::line(std::string_view text) {
    if (begun_) {
        write(text);
    } else {
        waiting_.emplace_back(text);
    }
}

void RankLog::write(std::string_view text) {
    if (!logger_) {
        const std::string name = fmt::format("rank-{}", rank_);
        const std::filesystem::path path = directory_ / "logs" / (name + ".log");
        try {
            auto sink = std::make_shared<DescriptorSink>(open_log(path));
            logger_ = std::make_unique<Logger>(Logger{spdlog::logger(name, std::move(sink))});
        } catch (const InputError& error) {
            if (goes_on_) {
                return;
            }
            auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
            logger_ = std::make_unique<Logger>(Logger{spdlog::logger(name, std::move(sink))});
            logger_->log.warn("{} cannot be written ({})", path.string(), error.what());
        }
        logger_->log.flush_on(spdlog::level::info);
    }
    logger_->log.info("{}", text);
}

}  // namespace cambrian::distributed
