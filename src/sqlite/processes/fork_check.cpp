#include "sqlite/processes/fork_check.h"

#include <pthread.h>

#include <atomic>

#include "doclock/errors.h"

namespace doclock::sqlite {
namespace {

std::atomic<int> in_use{0};
std::atomic<bool> inherited{false};

void AfterForkInChild() {
  if (in_use.load() > 0) inherited.store(true);
}

}  // namespace

SqliteInUse::SqliteInUse(const std::filesystem::path& file) {
  static const int registered = ::pthread_atfork(nullptr, nullptr, &AfterForkInChild);
  static_cast<void>(registered);
  if (inherited.load()) {
    throw StoreException(Errc::kRefused,
                         "doclock: " + file.string() +
                             " cannot be opened here: this process was forked from one that had a "
                             "SQLite store open; open stores after the fork, or use exec");
  }
  in_use.fetch_add(1);
}

SqliteInUse::~SqliteInUse() { in_use.fetch_sub(1); }

}  // namespace doclock::sqlite
