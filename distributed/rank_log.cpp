#include "cambrian/distributed/rank_log.hpp"

#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string>
#include <utility>

namespace cambrian::distributed {

struct RankLog::Logger {
    spdlog::logger log;
};

RankLog::RankLog(std::filesystem::path directory, int rank)
    : directory_(std::move(directory)), rank_(rank) {}

RankLog::~RankLog() = default;

void RankLog::line(std::string_view text) {
    if (!logger_) {
        const std::string name = fmt::format("rank-{}", rank_);
        const std::filesystem::path path = directory_ / "logs" / (name + ".log");
        try {
            auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
            logger_ = std::make_unique<Logger>(Logger{spdlog::logger(name, std::move(sink))});
        } catch (const spdlog::spdlog_ex& error) {
            auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
            logger_ = std::make_unique<Logger>(Logger{spdlog::logger(name, std::move(sink))});
            logger_->log.warn("{} cannot be written ({})", path.string(), error.what());
        }
        logger_->log.flush_on(spdlog::level::info);
    }
    logger_->log.info("{}", text);
}

}  // namespace cambrian::distributed
