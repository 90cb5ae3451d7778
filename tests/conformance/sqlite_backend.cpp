#ifdef DOCLOCK_WITH_SQLITE

#include "conformance/sqlite_backend.h"

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>

#include "doclock/sqlite_store.h"
#include "sqlite/raw_database.h"

namespace doclock::conformance {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone with its last owner.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (fs::temp_directory_path() / "doclock-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const fs::path& path() const noexcept { return path_; }

 private:
  fs::path path_;
};

}  // namespace

Backend MakeSqlite() {
  auto folder = std::make_shared<TemporaryFolder>();
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  backend.open_another = [file = folder->path() / "test.db", clock = backend.clock] {
    SqliteStoreOptions options;
    options.sync = SqliteSync::kOff;  // durability has tests of its own
    options.clock = clock;
    return OpenSqliteStore(file, options);
  };
  backend.spoil = [file = folder->path() / "test.db"](const std::string& collection,
                                                      const Key& key) {
    sqlite_test::RawDatabase(file).Run("UPDATE \"doclock_c_" + collection +
                                       "\" SET lock_version='first' WHERE key='" + key.ToString() +
                                       "'");
  };
  backend.store = backend.open_another();
  backend.remains = std::move(folder);
  return backend;
}

}  // namespace doclock::conformance

#endif
