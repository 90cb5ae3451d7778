#pragma once

#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "../tests/process/temp_folder.h"
#include "doclock/stores/sqlite.h"
#include "documents.h"

namespace doclock::bench {

using test::TempFolder;

/// The least a lock and a release can cost in SQLite: a bare, prepared, single-row UPDATE by key
/// in a transaction of its own.
class BareUpdates {
 public:
  BareUpdates(const std::filesystem::path& file, SqliteSync sync, int documents)
      : documents_(documents) {
    Check(sqlite3_open(file.c_str(), &db_));
    Run("PRAGMA journal_mode=WAL");
    Run(sync == SqliteSync::kFull     ? "PRAGMA synchronous=FULL"
        : sync == SqliteSync::kNormal ? "PRAGMA synchronous=NORMAL"
                                      : "PRAGMA synchronous=OFF");
    Run("CREATE TABLE IF NOT EXISTS bare (key TEXT UNIQUE, body TEXT)");
    Run("BEGIN");
    sqlite3_stmt* insert = nullptr;
    Check(
        sqlite3_prepare_v2(db_, "INSERT OR REPLACE INTO bare VALUES (?, ?)", -1, &insert, nullptr));
    for (int i = 0; i < documents; ++i) Step(insert, 1, KeyOf(i), 2, SampleText(i).text());
    sqlite3_finalize(insert);
    Run("COMMIT");
    Check(sqlite3_prepare_v2(db_, "UPDATE bare SET body = ? WHERE key = ?", -1, &update_, nullptr));
  }
  BareUpdates(const BareUpdates&) = delete;
  BareUpdates& operator=(const BareUpdates&) = delete;
  ~BareUpdates() {
    sqlite3_finalize(update_);
    sqlite3_close(db_);
  }

  static std::string KeyOf(int i) { return "order-" + std::to_string(i); }

  void Update(int i, const std::string& body) { Step(update_, 2, KeyOf(i % documents_), 1, body); }

 private:
  static void Check(int code) {
    if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) std::abort();
  }
  void Run(const char* sql) { Check(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr)); }
  static void Step(sqlite3_stmt* statement, int key_at, const std::string& key, int body_at,
                   const std::string& body) {
    sqlite3_bind_text(statement, key_at, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    sqlite3_bind_text(statement, body_at, body.data(), static_cast<int>(body.size()),
                      SQLITE_STATIC);
    Check(sqlite3_step(statement));
    Check(sqlite3_reset(statement));
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* update_ = nullptr;
  const int documents_;
};

/// Puts documents of 1 KB into a collection, under BareUpdates' keys; their number is a multiple of
/// 1,000.
inline void FillStore(Store& store, Collection& collection, int documents) {
  constexpr int kAtOnce = 1000;
  for (int from = 0; from < documents; from += kAtOnce) {
    std::vector<Key> keys;
    std::vector<SaveOp> inserts;
    keys.reserve(kAtOnce);
    for (int i = from; i < from + kAtOnce; ++i) {
      keys.emplace_back(BareUpdates::KeyOf(i));
      SaveOp insert(collection, keys.back());
      insert.request.save = SaveKind::kInsert;
      insert.request.write_id = NewUuid();
      insert.request.body = SampleText(i);
      inserts.push_back(std::move(insert));
    }
    std::vector<StoreOp*> ops;
    for (auto& insert : inserts) ops.push_back(&insert);
    store.Execute(ops, std::chrono::seconds(10));
  }
}

/// Lock and release through the store alone.
inline void StoreCycle(Store& store, Collection& collection, const Key& key, const Body& body) {
  AcquireOp acquire(collection, key);
  acquire.request.grant.lock_id = NewUuid();
  acquire.request.grant.ttl = std::chrono::seconds(30);
  acquire.request.insert = body;
  StoreOp* one[] = {&acquire};
  store.Execute(one, std::chrono::seconds(10));
  if (acquire.status != OpStatus::kDone) std::abort();
  WriteOp release(collection, {key, acquire.hash});
  release.request.lock_id = acquire.request.grant.lock_id;
  release.request.expected = acquire.result.version;
  release.request.body = body;
  release.request.renewed = false;
  one[0] = &release;
  store.Execute(one, std::chrono::seconds(10));
  if (release.status != OpStatus::kDone) std::abort();
}

}  // namespace doclock::bench
