#include "sqlite/db/lying_commits.h"

#include <sqlite3.h>

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <vector>

namespace doclock::sqlite_test {
namespace {

std::atomic<int> lies{0};
std::mutex connections_mutex;
std::vector<sqlite3*> connections;

int Remember(sqlite3* database, char**, const sqlite3_api_routines*) {
  const std::lock_guard guard(connections_mutex);
  connections.push_back(database);
  return SQLITE_OK;
}

/// SQLite takes extensions for functions without parameters, and calls them with three.
void (*Extension())() { return reinterpret_cast<void (*)()>(&Remember); }

/// Called when a commit is done; what it gives is what the commit's statement says.
int OnCommit(void*, sqlite3*, const char*, int) {
  int left = lies;
  while (left > 0) {
    if (lies.compare_exchange_weak(left, left - 1)) return SQLITE_IOERR;
  }
  return SQLITE_OK;
}

}  // namespace

LyingCommits::LyingCommits() {
  if (sqlite3_auto_extension(Extension()) != SQLITE_OK) throw std::runtime_error("no extension");
}

LyingCommits::~LyingCommits() {
  sqlite3_cancel_auto_extension(Extension());
  const std::lock_guard guard(connections_mutex);
  connections.clear();
  lies = 0;
}

void LyingCommits::Next(int count) {
  const std::lock_guard guard(connections_mutex);
  for (sqlite3* database : connections) sqlite3_wal_hook(database, OnCommit, nullptr);
  lies = count;
}

}  // namespace doclock::sqlite_test
