// SPDX-License-Identifier: MIT
#pragma once

#include "sys/files.hpp"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <mutex>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace sparkrun::test {

// A server that sends the very bytes it is told to, right or wrong: on 127.0.0.1 or on a unix
// socket, one connection after the other, one request on each.
class ScriptedServer {
 public:
  // What to send for a request (head and body, as received). `stall`: say nothing more, keep the
  // connection.
  using Script = std::function<std::string(const std::string& request)>;
  inline static const std::string stall = "stall";

  explicit ScriptedServer(Script script, const std::string& unix_path = "")
      : script_(std::move(script)), stop_(eventfd(0, EFD_CLOEXEC)) {
    listener_ = unix_path.empty() ? listen_on_loopback() : listen_on_path(unix_path);
    thread_ = std::jthread{[this] { serve(); }};
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;
  ~ScriptedServer() {
    constexpr uint64_t one = 1;
    static_cast<void>(!write(stop_.get(), &one, sizeof one));
  }

  [[nodiscard]] std::string url(const std::string& path = "/") const {
    return fmt::format("http://127.0.0.1:{}{}", port_, path);
  }
  [[nodiscard]] std::vector<std::string> requests() const {
    const std::lock_guard lock{mutex_};
    return requests_;
  }

 private:
  sys::FileDescriptor listen_on(int family, const void* address, socklen_t length) {
    sys::FileDescriptor socket{::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (bind(socket.get(), static_cast<const sockaddr*>(address), length) != 0 ||
        listen(socket.get(), SOMAXCONN) != 0) {
      throw std::runtime_error{std::strerror(errno)};
    }
    return socket;
  }

  sys::FileDescriptor listen_on_loopback() {
    sockaddr_in address{.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    sys::FileDescriptor socket = listen_on(AF_INET, &address, sizeof address);
    socklen_t length = sizeof address;
    void* const raw = &address;
    getsockname(socket.get(), static_cast<sockaddr*>(raw), &length);
    port_ = ntohs(address.sin_port);
    return socket;
  }

  sys::FileDescriptor listen_on_path(const std::string& path) {
    sockaddr_un address{.sun_family = AF_UNIX};
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    return listen_on(AF_UNIX, &address, sizeof address);
  }

  // Whether there is something to read; false: we are to stop.
  bool wait_for(int fd) const {
    pollfd watched[] = {{.fd = fd, .events = POLLIN}, {.fd = stop_.get(), .events = POLLIN}};
    return poll(watched, 2, -1) > 0 && watched[1].revents == 0;
  }

  void serve() {
    while (wait_for(listener_.get())) {
      const sys::FileDescriptor connection{
          accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      const std::string request = receive(connection.get());
      {
        const std::lock_guard lock{mutex_};
        requests_.push_back(request);
      }
      const std::string answer = script_(request);
      if (answer != stall)
        send(connection.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
      else
        wait_for(connection.get());
    }
  }

  [[nodiscard]] std::string receive(int fd) const {
    std::string request;
    while (!is_whole(request) && wait_for(fd)) {
      char buffer[4096];
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got <= 0) break;
      request.append(buffer, static_cast<size_t>(got));
    }
    return request;
  }

  static bool is_whole(const std::string& request) {
    if (request.starts_with('\x16'))
      return true;  // a TLS client hello: the script says nonsense to it
    const size_t head = request.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    const size_t length = request.find("Content-Length: ");
    return length == std::string::npos ||
           request.size() >= head + 4 + std::stoul(request.substr(length + 16));
  }

  Script script_;
  sys::FileDescriptor stop_;
  sys::FileDescriptor listener_;
  int port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::jthread thread_;  // last: it uses all the others
};

inline std::string http_answer(int status, const std::string& body,
                               const std::string& headers = "") {
  return fmt::format("HTTP/1.1 {} Status\r\nContent-Length: {}\r\nConnection: close\r\n{}\r\n{}",
                     status, body.size(), headers, body);
}

}  // namespace sparkrun::test
