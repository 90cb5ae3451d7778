#ifdef DOCLOCK_WITH_SQLITE

#include "conformance/sqlite_backend.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>

#include "doclock/stores/sqlite.h"
#include "process/temp_folder.h"
#include "sqlite/support/raw_database.h"

namespace doclock::conformance {
namespace {

std::string Blob(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string sql = "x'";
  for (const char c : bytes) {
    sql += kDigits[static_cast<unsigned char>(c) >> 4];
    sql += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return sql + "'";
}

/// A key as any program would write it: a text, a number or a blob. The plus takes the affinity of
/// CAST away, by which the number 1 would equal the text "01" too.
std::string SqlOf(const Key& key) {
  struct Literal {
    std::string operator()(const std::string& text) const {
      return "+CAST(" + Blob(text) + " AS TEXT)";
    }
    std::string operator()(std::int64_t number) const {
      // SQL has no literal for the least one.
      return "+CAST('" + std::to_string(number) + "' AS INTEGER)";
    }
    std::string operator()(const Uuid& id) const {
      return Blob({reinterpret_cast<const char*>(id.data), sizeof id.data});
    }
    std::string operator()(const ObjectId& id) const {
      return Blob({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
    }
  };
  return std::visit(Literal(), key.value());
}

}  // namespace

Backend MakeSqlite() {
  auto folder = std::make_shared<test::TempFolder>();
  Backend backend;
  backend.clock = std::make_shared<ManualClock>();
  const auto open = [file = *folder / "test.db", clock = backend.clock](bool create) {
    SqliteStoreOptions options;
    options.sync = SqliteSync::kOff;  // durability has tests of its own
    options.clock = clock;
    options.create = create;
    return OpenSqliteStore(file, options);
  };
  backend.open_another = [open] { return open(true); };
  backend.open_existing = [open] { return open(false); };
  const std::filesystem::path file = *folder / "test.db";
  const auto spoil = [file](const std::string& set, const std::string& collection, const Key& key) {
    const std::string locks = "\"doclock_l_" + collection + "\"";
    const std::string id =
        "SELECT id FROM \"doclock_c_" + collection + "\" WHERE key=" + SqlOf(key);
    // A planted document has none yet.
    sqlite_test::RawDatabase(file).Run("INSERT OR IGNORE INTO " + locks + "(id) " + id +
                                       "; UPDATE " + locks + " SET " + set + " WHERE id=(" + id +
                                       ")");
  };
  backend.spoil = [spoil](const std::string& collection, const Key& key) {
    spoil("lock_version='first'", collection, key);
  };
  backend.spoil_share = [spoil](const std::string& collection, const Key& key) {
    spoil("lock_shares='x' || lock_shares", collection, key);
  };
  backend.plant = [file](const std::string& collection, const Key& key, const Body& body) {
    sqlite_test::RawDatabase(file).Run("INSERT INTO \"doclock_c_" + collection +
                                       "\"(key, body) VALUES(" + SqlOf(key) + ", CAST(" +
                                       Blob(body.text()) + " AS TEXT))");
  };
  backend.store = backend.open_another();
  backend.remains = std::move(folder);
  return backend;
}

}  // namespace doclock::conformance

#endif
