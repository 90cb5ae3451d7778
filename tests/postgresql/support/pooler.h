#pragma once

#include <libpq-fe.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "doclock/document.h"
#include "doclock/json/uuid.h"
#include "process/local_port.h"

namespace doclock::postgresql_test {

/// A pgbouncer before the schema of a test, with two sessions of the server.
class Pooler {
 public:
  static bool IsInstalled() { return !std::string(DOCLOCK_PGBOUNCER).ends_with("NOTFOUND"); }
  /// @param port the server's
  Pooler(const std::string& mode, const std::string& schema, int port,
         const std::string& settings = "") {
    std::filesystem::create_directory(folder_);
    std::ofstream(settings_) << "[databases]\npostgres = host=127.0.0.1 port=" << port
                             << " user=postgres connect_query='SET search_path TO " << schema
                             << "'\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                             << "\nunix_socket_dir =\nauth_type = any\npool_mode = " << mode
                             << "\ndefault_pool_size = " << (mode == "session" ? 10 : 2)
                             << "\nserver_reset_query_always = 0\n"
                             << settings;
    process_ = ::fork();
    if (process_ == 0) {
      // It refuses to run as root.
      const char* const user = ::geteuid() == 0 ? "-upostgres" : "-q";
      ::execl(DOCLOCK_PGBOUNCER, DOCLOCK_PGBOUNCER, "-q", user, settings_.c_str(), nullptr);
      ::_exit(127);
    }
    while (PQping(url().c_str()) != PQPING_OK) {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) throw std::runtime_error("no pgbouncer");
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Pooler(const Pooler&) = delete;
  Pooler& operator=(const Pooler&) = delete;
  ~Pooler() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }
  [[nodiscard]] std::string url() const {
    return "postgresql://postgres@127.0.0.1:" + std::to_string(port_) + "/postgres";
  }

 private:
  const int port_ = test::LocalPort().number();  // free a moment ago
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("doclock_" + ToText(NewUuid()));
  const std::string settings_ = folder_ / "pgbouncer.ini";
  pid_t process_ = 0;
};

}  // namespace doclock::postgresql_test
