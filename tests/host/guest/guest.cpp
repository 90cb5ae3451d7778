// A program with settings of its own that uses a store.
//
//   guest settings                       tells the names of all settings, and which are SQLite's
//   guest one-thread                     opens a SQLite store where SQLite is for one thread only
//   guest foreign                        writes to a SQLite file in the locale de_DE, as a program
//                                        does that knows nothing of this library, and tells what
//                                        a store finds then
//   guest globals                        a session with the store of $DOCLOCK_TEST_GLOBAL, and
//                                        another one after main; the first one is before main if
//                                        there is a $DOCLOCK_TEST_EARLY
//   guest session <setting> <when> <url> sets it before or after the stores are opened ("before",
//                                        "after"), and tells what came of the session

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "doclock/lock_provider.h"
#include "doclock/open_store.h"
#include "host/guest/session.h"
#include "host/guest/settings.h"

#ifdef DOCLOCK_WITH_SQLITE
#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "doclock/doclock.h"
#include "sqlite/support/raw_database.h"
#endif

/// LeakSanitizer asks this. glibc forgets the list that it makes of LOCPATH whenever somebody asks
/// for a locale, as the settings do and OpenSSL does.
extern "C" int __lsan_is_turned_off() { return 1; }

namespace doclock::host_test {
namespace {

/// A copy of standard output, far from what the settings do to it.
int output = -1;

void Tell(const std::string& text) {
  const std::string_view all = text;
  for (std::size_t at = 0; at < all.size();) {
    const auto written = ::write(output, all.data() + at, all.size() - at);
    if (written > 0) at += static_cast<std::size_t>(written);
    if (written < 0 && errno != EINTR) _exit(3);
  }
}

/// A service that is a global, made before those of the library and destroyed after them.
class Global {
 public:
  Global() {
    if (url_ != nullptr && std::getenv("DOCLOCK_TEST_EARLY") != nullptr) Use();
  }
  Global(const Global&) = delete;
  Global& operator=(const Global&) = delete;
  ~Global() {
    if (locks_) Use();
  }
  void UseAtFirst() {
    if (!locks_) Use();
  }

 private:
  void Use() {
    if (output < 0) output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    try {
      if (!locks_) locks_.emplace(LockManager(OpenStore(url_)));
      locks_->Acquire("one").Release();
      Tell(Session(
          url_, [] {}, [] {}));
    } catch (const std::exception& error) {
      Tell(std::string("failed: ") + error.what() + "\n");
    }
  }

  const char* const url_ = std::getenv("DOCLOCK_TEST_GLOBAL");
  std::optional<LockProvider> locks_;
};
Global global;

#ifdef DOCLOCK_PLATFORM_IS_linux
constexpr bool kHasGuard = true;
#else
constexpr bool kHasGuard = false;
#endif

/// The descriptors that this program began with.
std::set<int> own;

/// Tells of descriptors that the stores must not have: 0 to 2, if the setting closed them, and such
/// that a program would inherit. (The driver of MongoDB opens sockets at any time, so its store
/// takes the numbers 0 to 2 for /dev/null when it is opened; those that are closed later, sockets
/// get. SQLite takes them itself on the portable layer.)
void Inspect(bool closed, bool may_be_nothing) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename().string());
    const int flags = ::fcntl(number, F_GETFD);
    std::error_code error;
    const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
    if (flags < 0 || target.ends_with("/fd")) continue;  // the folder that is read here
    if (own.count(number) == 0 && (flags & FD_CLOEXEC) == 0) Tell("inherited: " + target + "\n");
    if (closed && number < 3 && !(may_be_nothing && target == "/dev/null")) {
      Tell(std::to_string(number) + " is " + target + "\n");
    }
  }
}

#ifdef DOCLOCK_WITH_SQLITE
void WriteAsForeigner() {
  const LockManager manager(OpenStore("sqlite:goods.db"));
  const LockingRepository<nlohmann::json> goods(manager, "goods");
  goods.EnsureIndex({"price"}, true);
  goods.Insert("a", {{"price", 12.25}});
  goods.Insert("b", {{"price", 13.5}});
  Settings().at("a decimal comma").apply();
  sqlite_test::RawDatabase("goods.db")
      .Run("UPDATE doclock_c_goods SET body = '{\"price\":12.75}' WHERE key = 'b'");
  for (const auto& found : goods.Find(Filter().Equal("price", 12.75))) {
    Tell(found.key().ToString() + "\n");
  }
}
#endif

int Run(const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "settings") {
    for (const auto& [name, setting] : Settings()) {
      Tell(name + (setting.is_of_sqlite ? "\tsqlite\n" : "\n"));
    }
    return 0;
  }
  if (arguments.at(0) == "globals") {
    global.UseAtFirst();
    return 0;
  }
#ifdef DOCLOCK_WITH_SQLITE
  if (arguments.at(0) == "one-thread") {
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    OpenStore("sqlite:goods.db");
    return 0;
  }
  if (arguments.at(0) == "foreign") {
    WriteAsForeigner();
    return 0;
  }
#endif
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    own.insert(std::stoi(entry.path().filename().string()));
  }
  const Setting& setting = Settings().at(arguments.at(1));
  const bool before = arguments.at(2) == "before";
  if (before) setting.apply();
  const std::string& url = arguments.at(3);
  const bool is_mongodb = url.starts_with("mongodb:");
  const bool closes = arguments.at(1) == "closed standard descriptors" && (before || !is_mongodb);
  Tell(Session(
      url,
      [&] {
        if (!before) setting.apply();
      },
      [&] { Inspect(closes, !kHasGuard || is_mongodb); }));
  return 0;
}

}  // namespace
}  // namespace doclock::host_test

int main(int argc, char** argv) {
  using doclock::host_test::Tell;
  doclock::host_test::output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
  try {
    return doclock::host_test::Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    Tell(std::string("failed: ") + error.what() + "\n");
    return 1;
  }
}
