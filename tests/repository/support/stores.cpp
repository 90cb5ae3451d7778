#include <unistd.h>

#include <atomic>
#include <filesystem>

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
/// A directory that goes when the program does.
class TemporaryDirectory {
 public:
  TemporaryDirectory()
      : path_(std::filesystem::temp_directory_path() /
              ("doclock-repository-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path NewFile() {
    return path_ / (std::to_string(++count_) + ".db");
  }

 private:
  std::filesystem::path path_;
  std::atomic<int> count_ = 0;
};

std::shared_ptr<Store> OpenSqlite(std::shared_ptr<const Clock> clock) {
  static TemporaryDirectory directory;
  return OpenSqliteStore(directory.NewFile(),
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
