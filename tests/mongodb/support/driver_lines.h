#pragma once

#include <mongoc/mongoc.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace doclock::mongo_test {

/// What libmongoc logs in this process, but for complaints about servers that cannot be reached:
/// those are the operator's matter, and tests end servers. The rest also goes to standard error,
/// where CTest takes it for a failure.
class DriverLines {
 public:
  /// Begins to listen; once in a process.
  static void Listen() {
    static std::once_flag once;
    std::call_once(once, [] { mongoc_log_set_handler(&DriverLines::OnLine, nullptr); });
  }
  static std::vector<std::string> Take() {
    const std::lock_guard guard(mutex_);
    return std::exchange(lines_, {});
  }

 private:
  static void OnLine(mongoc_log_level_t level, const char* domain, const char* message, void*) {
    constexpr std::array<std::string_view, 5> kAboutConnections{
        "Failed connection to", "Failed to buffer", "Failed authentication to",
        "Couldn't send \"endSessions\"", "SSL Certification verification failed"};
    if (level > MONGOC_LOG_LEVEL_INFO) return;
    const std::string_view text = message;
    if (std::ranges::any_of(kAboutConnections,
                            [&](std::string_view start) { return text.starts_with(start); })) {
      return;
    }
    {
      const std::lock_guard guard(mutex_);
      lines_.emplace_back(text);
    }
    mongoc_log_default_handler(level, domain, message, nullptr);
  }

  static inline std::mutex mutex_;
  static inline std::vector<std::string> lines_;
};

}  // namespace doclock::mongo_test
