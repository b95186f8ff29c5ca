#pragma once

#include <httplib.h>

#include <mutex>
#include <string>
#include <thread>

namespace cambrian::test {

/// Somebody who listens on a port of this host, keeps what is posted to /lines, and answers with a
/// status.
class LineListener {
  public:
    explicit LineListener(int status) {
        server_.Post("/lines",
                     [this, status](const httplib::Request& request, httplib::Response& response) {
                         const std::lock_guard lock(mutex_);
                         received_ += request.body;
                         response.status = status;
                     });
        port_ = server_.bind_to_any_port("127.0.0.1");
        thread_ = std::thread([this] { server_.listen_after_bind(); });
        while (!server_.is_running()) std::this_thread::yield();
    }
    ~LineListener() {
        server_.stop();
        thread_.join();
    }
    LineListener(const LineListener&) = delete;
    LineListener& operator=(const LineListener&) = delete;

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] std::string received() {
        const std::lock_guard lock(mutex_);
        return received_;
    }

  private:
    httplib::Server server_;
    std::mutex mutex_;
    std::string received_;
    int port_ = 0;
    std::thread thread_;
};

}  // namespace cambrian::test
