#include <atomic>

#include "process/temp_folder.h"
#include "repository/support/harness.h"
#include "repository/support/mongodb_store.h"

#if DOCLOCK_WITH_SQLITE
#include "doclock/sqlite_store.h"
#endif

namespace doclock {
namespace {

std::shared_ptr<Store> OpenMemory(std::shared_ptr<const Clock> clock) {
  return OpenMemoryStore({.clock = std::move(clock)});
}

#if DOCLOCK_WITH_SQLITE
std::shared_ptr<Store> OpenSqlite(std::shared_ptr<const Clock> clock) {
  static const test::TempFolder folder;
  static std::atomic<int> count = 0;
  return OpenSqliteStore(folder / (std::to_string(++count) + ".db"),
                         {.sync = SqliteSync::kOff, .clock = std::move(clock)});
}
#endif

}  // namespace

std::vector<StoreKind> AllStores() {
  std::vector<StoreKind> stores = {{"Memory", OpenMemory}};
#if DOCLOCK_WITH_SQLITE
  stores.push_back({"Sqlite", OpenSqlite});
#endif
#ifdef DOCLOCK_TEST_STORES_ON_MONGODB
  stores.push_back({"Mongodb", OpenMongodb, 2s});
#endif
  return stores;
}

}  // namespace doclock
