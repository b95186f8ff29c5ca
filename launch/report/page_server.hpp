#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace cambrian::launch {

/// Whether an address or a host of a request is this host itself.
[[nodiscard]] bool is_this_host(std::string_view host);
/// The host of the header Host, without its port and the brackets of IPv6.
[[nodiscard]] std::string_view host_of(std::string_view header);

/// Serves one page: "/" is it, "/version" a number that changes with it. All other requests are
/// refused, and, on an address of this host alone, those that name another host: a page of somebody
/// else that has its name point here reads nothing (DNS rebinding). Whoever is slow or sends much
/// is left: a connection has one request.
class PageServer {
  public:
    /// Listens until it is destroyed. Throws ConfigError where address or port cannot be had.
    /// @param port 0: a free one.
    PageServer(const std::string& address, int port);
    ~PageServer();
    PageServer(const PageServer&) = delete;
    PageServer& operator=(const PageServer&) = delete;

    [[nodiscard]] int port() const;
    /// Before the first one requests are answered by "not yet".
    void show(std::string page, std::uint64_t version);
    /// Whether anybody has asked since the last call.
    [[nodiscard]] bool was_asked();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cambrian::launch
