#include "cambrian/evolve/runs/http_lines.hpp"

#include <httplib.h>

#include <fmt/format.h>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "cambrian/engine/core/error.hpp"

namespace cambrian::distributed {
namespace {

constexpr std::size_t max_waiting = 10'000;
/// For one exchange from its beginning to its end, and for each step of it.
constexpr std::chrono::microseconds patience{100'000};

/// Does something when a time has passed, and again each time it passes, until it is destroyed.
class Deadline {
  public:
    Deadline(std::chrono::microseconds time, std::function<void()> passed)
        : thread_([this, time, passed = std::move(passed)](const std::stop_token& ended) {
              std::unique_lock lock(mutex_);
              while (!changed_.wait_for(lock, ended, time, [&] { return ended.stop_requested(); }))
                  passed();
          }) {}

  private:
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::jthread thread_;  ///< Last: ends before what it waits with.
};

bool is_loopback(std::string_view host) {
    if (host == "localhost" || host == "::1") return true;
    return host.starts_with("127.") &&
           host.find_first_not_of("0123456789.") == std::string_view::npos;
}

/// The host without the brackets of IPv6, and what follows it.
std::pair<std::string_view, std::string_view> split_host(std::string_view text) {
    if (text.starts_with('[')) {
        const std::size_t end = text.find(']');
        if (end == std::string_view::npos) return {};
        return {text.substr(1, end - 1), text.substr(end + 1)};
    }
    const std::size_t end = std::min(text.find(':'), text.size());
    return {text.substr(0, end), text.substr(end)};
}

}  // namespace

LoopbackAddress read_loopback_address(const std::string& text, const std::string& key) {
    constexpr std::string_view scheme = "http://";
    LoopbackAddress address;
    if (text.starts_with(scheme)) {
        const auto [host, rest] = split_host(std::string_view(text).substr(scheme.size()));
        const std::size_t slash = std::min(rest.find('/'), rest.size());
        const std::string_view port = rest.substr(0, slash);
        address.host = host;
        address.path = slash < rest.size() ? rest.substr(slash) : "/";
        if (port.size() > 1 && port.front() == ':') {
            const auto [end, error] =
                std::from_chars(port.data() + 1, port.data() + port.size(), address.port);
            if (error != std::errc{} || end != port.data() + port.size()) address.port = 0;
        }
    }
    if (is_loopback(address.host) && address.port >= 1 && address.port <= 65535) return address;
    throw ConfigError(
        fmt::format("{} is \"{}\" (it must be an address of this host) write console, file, or "
                    "http://127.0.0.1:PORT/PATH",
                    key, text));
}

/// The thread, and what waits for it.
class HttpLines::Sender {
  public:
    explicit Sender(LoopbackAddress address)
        : address_(std::move(address)), thread_([this] { run(); }) {}
    ~Sender() { static_cast<void>(finish()); }
    Sender(const Sender&) = delete;
    Sender& operator=(const Sender&) = delete;

    void send(std::string line) {
        const std::lock_guard lock(mutex_);
        if (waiting_.size() >= max_waiting) {
            ++counts_.lost;
            return;
        }
        waiting_.push_back(std::move(line));
        changed_.notify_one();
    }

    Counts finish() {
        {
            const std::lock_guard lock(mutex_);
            ending_ = true;
            changed_.notify_one();
        }
        if (thread_.joinable()) thread_.join();
        return counts_;
    }

  private:
    void run() {
        httplib::Client client(address_.host, address_.port);
        client.set_connection_timeout(patience);
        client.set_read_timeout(patience);
        client.set_write_timeout(patience);
        client.set_keep_alive(true);
        std::unique_lock lock(mutex_);
        for (;;) {
            changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            const std::vector<std::string> lines = std::exchange(waiting_, {});
            lock.unlock();
            const bool delivered = post(client, lines);
            lock.lock();
            (delivered ? counts_.delivered : counts_.lost) +=
                static_cast<std::int64_t>(lines.size());
        }
    }

    [[nodiscard]] bool post(httplib::Client& client, const std::vector<std::string>& lines) const {
        try {
            std::string body;
            for (const std::string& line : lines) body += line + '\n';
            // The times of the client are those of single reads: an answer may come byte by byte.
            std::atomic<bool> late = false;
            const Deadline deadline(patience, [&] {
                late = true;
                client.stop();
            });
            const auto answer = client.Post(address_.path, body, "application/x-ndjson");
            return answer && !late && answer->status >= 200 && answer->status < 300;
        } catch (const std::exception&) {
            return false;  // Counted as lost: a training does not end because nobody listens.
        }
    }

    const LoopbackAddress address_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> waiting_;
    Counts counts_;
    bool ending_ = false;
    std::thread thread_;
};

HttpLines::HttpLines(LoopbackAddress address)
    : sender_(std::make_unique<Sender>(std::move(address))) {}

HttpLines::~HttpLines() = default;

void HttpLines::send(std::string line) {
    sender_->send(std::move(line));
}

HttpLines::Counts HttpLines::finish() {
    return sender_->finish();
}

}  // namespace cambrian::distributed
