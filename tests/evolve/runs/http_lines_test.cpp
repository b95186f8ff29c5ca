#include "cambrian/evolve/runs/http_lines.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cambrian/engine/core/error.hpp"
#include "cambrian/tests/support/line_listener.hpp"

namespace cambrian::distributed {
namespace {

using test::LineListener;

/// Somebody who takes every request and answers byte by byte, without an end.
class Dripper {
  public:
    explicit Dripper(std::string begin) : begin_(std::move(begin)) {
        socket_ = ::socket(AF_INET, SOCK_STREAM, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof(address);
        auto* any = reinterpret_cast<sockaddr*>(&address);
        EXPECT_EQ(::bind(socket_, any, size), 0);
        EXPECT_EQ(::listen(socket_, 16), 0);
        EXPECT_EQ(::getsockname(socket_, any, &size), 0);
        port_ = ntohs(address.sin_port);
        thread_ = std::jthread([this](const std::stop_token& ended) { serve(ended); });
    }
    ~Dripper() {
        thread_.request_stop();
        ::shutdown(socket_, SHUT_RDWR);
        thread_.join();
        ::close(socket_);
    }
    Dripper(const Dripper&) = delete;
    Dripper& operator=(const Dripper&) = delete;

    [[nodiscard]] int port() const { return port_; }
    [[nodiscard]] int bytes() const { return bytes_; }

  private:
    void serve(const std::stop_token& ended) {
        while (!ended.stop_requested()) {
            const int peer = ::accept(socket_, nullptr, nullptr);
            if (peer < 0) return;
            bool open = ::send(peer, begin_.data(), begin_.size(), MSG_NOSIGNAL) > 0;
            while (open && !ended.stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
                open = ::send(peer, "a", 1, MSG_NOSIGNAL) == 1;
                bytes_ += open ? 1 : 0;
            }
            ::close(peer);
        }
    }

    std::string begin_;
    int socket_ = -1;
    int port_ = 0;
    std::atomic<int> bytes_{0};
    std::jthread thread_;
};

TEST(HttpLines, AnAnswerThatDripsIsGivenUpAsAWhole) {
    // In its first line, in a header, and in a body with a length or without one.
    for (const char* begin : {"HTTP", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX: ",
                              "HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\n"}) {
        Dripper listener(begin);
        const auto start = std::chrono::steady_clock::now();
        HttpLines lines({"127.0.0.1", listener.port(), "/lines"});
        lines.send("{}");
        while (listener.bytes() < 3) std::this_thread::yield();  // It is being answered.
        for (int i = 0; i < 100; ++i) lines.send("{}");
        const HttpLines::Counts counts = lines.finish();
        const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
        EXPECT_EQ(counts.delivered, 0) << begin;
        EXPECT_EQ(counts.lost, 101) << begin;
        // Two exchanges of a tenth of a second: without an end to them this would never return.
        EXPECT_LT(waited.count(), 5.0) << begin;
    }
}

TEST(HttpLines, ArriveInOrder) {
    LineListener listener(200);
    std::string sent;
    HttpLines lines({"127.0.0.1", listener.port(), "/lines"});
    for (int i = 0; i < 1000; ++i) {
        const std::string line = R"({"step": )" + std::to_string(i) + "}";
        sent += line + '\n';
        lines.send(line);
    }
    const HttpLines::Counts counts = lines.finish();
    EXPECT_EQ(counts.delivered, 1000);
    EXPECT_EQ(counts.lost, 0);
    EXPECT_EQ(listener.received(), sent);
}

TEST(HttpLines, ARefusalLosesThem) {
    LineListener listener(500);
    HttpLines lines({"127.0.0.1", listener.port(), "/lines"});
    lines.send("{}");
    const HttpLines::Counts counts = lines.finish();
    EXPECT_EQ(counts.delivered, 0);
    EXPECT_EQ(counts.lost, 1);
}

TEST(HttpLines, NobodyListeningLosesAllWithoutHoldingUpTheSender) {
    int port = 0;
    { port = LineListener(200).port(); }
    HttpLines lines({"127.0.0.1", port, "/lines"});
    for (int i = 0; i < 30'000; ++i) lines.send("{}");
    const HttpLines::Counts counts = lines.finish();
    EXPECT_EQ(counts.delivered, 0);
    EXPECT_EQ(counts.lost, 30'000);
}

TEST(HttpLines, GoToThisHostOnly) {
    const LoopbackAddress address = read_loopback_address("http://127.0.0.1:9000/a/b", "to");
    EXPECT_EQ(address.host, "127.0.0.1");
    EXPECT_EQ(address.port, 9000);
    EXPECT_EQ(address.path, "/a/b");
    EXPECT_EQ(read_loopback_address("http://localhost:1", "to").path, "/");
    EXPECT_EQ(read_loopback_address("http://[::1]:80/", "to").host, "::1");
    for (const char* text :
         {"", "file ", "http://", "http://127.0.0.1", "http://127.0.0.1:", "http://127.0.0.1:0/",
          "http://127.0.0.1:70000/", "http://127.0.0.1:9x/", "https://127.0.0.1:9000/",
          "http://example.org:80/", "http://127.0.0.1.example.org:80/", "http://10.0.0.1:80/",
          "http://[::1:80/", "http://user@127.0.0.1:80/"})
        EXPECT_THROW(static_cast<void>(read_loopback_address(text, "training.observe.to")),
                     ConfigError)
            << text;
}

}  // namespace
}  // namespace cambrian::distributed
