// Lock columns that another program wrote into a SQLite file: every operation ends in a result that
// says so, and none takes such a lock for free.
//
// A line of the input sets a column: its table (d and l for documents and locks),
// its name, its type (i, r, t, b, n) and its value: `d lock_id b 0102`.

#include <sqlite3.h>

#include <array>
#include <map>

#include "doclock/errors.h"
#include "doclock/testing/faulty_store.h"
#include "fuzz/support/fuzz.h"
#include "process/temp_folder.h"
#include "sqlite/support/client.h"

namespace doclock::fuzz {
namespace {

using sqlite_test::Client;
using sqlite_test::kBudget;

/// The file as another program writes it.
class Stranger {
 public:
  explicit Stranger(const std::filesystem::path& file) {
    const bool open = sqlite3_open(file.c_str(), &database_) == SQLITE_OK;
    Require(open, "the database can be opened");
    sqlite3_busy_timeout(database_, 10'000);
    Run("PRAGMA synchronous=OFF");
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() { sqlite3_close(database_); }

  void Run(const char* sql) { sqlite3_exec(database_, sql, nullptr, nullptr, nullptr); }

  /// Sets a column of all rows of a table, unless a constraint forbids it.
  void Set(const std::string& table, const std::string& column, char type, std::string_view text) {
    sqlite3_stmt* statement = nullptr;
    const std::string sql = "UPDATE " + table + " SET " + column + "=?1";
    if (sqlite3_prepare_v2(database_, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) return;
    Bind(statement, type, text);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
  }

 private:
  static void Bind(sqlite3_stmt* statement, char type, std::string_view text) {
    const std::string value(text);
    const auto size = static_cast<int>(value.size());
    switch (type) {
      case 'i':
        sqlite3_bind_int64(statement, 1, std::strtoll(value.c_str(), nullptr, 10));
        break;
      case 'r':
        sqlite3_bind_double(statement, 1, std::strtod(value.c_str(), nullptr));
        break;
      case 't':
        sqlite3_bind_text(statement, 1, value.data(), size, SQLITE_TRANSIENT);
        break;
      case 'b': {
        const std::string bytes = FromHex(value);
        sqlite3_bind_blob(statement, 1, bytes.data(), static_cast<int>(bytes.size()),
                          SQLITE_TRANSIENT);
        break;
      }
      default:
        sqlite3_bind_null(statement, 1);
    }
  }

  static std::string FromHex(const std::string& text) {
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
      bytes += static_cast<char>(std::strtol(text.substr(i, 2).c_str(), nullptr, 16));
    }
    return bytes;
  }

  sqlite3* database_ = nullptr;
};

struct Column {
  const char* table;
  const char* name;
};

constexpr std::array kColumns = {
    Column{"l", "lock_version"}, Column{"l", "lock_id"},       Column{"l", "lock_time"},
    Column{"l", "lock_ttl"},     Column{"l", "lock_since"},    Column{"l", "lock_closed"},
    Column{"l", "lock_fence"},   Column{"l", "lock_owner"},    Column{"l", "lock_group"},
    Column{"l", "lock_born"},    Column{"l", "lock_released"}, Column{"l", "lock_shares"},
    Column{"l", "lock_queue"},   Column{"l", "lock_slot"},     Column{"l", "lock_era"},
    Column{"l", "id"},           Column{"d", "body"},          Column{"d", "key"}};

/// Beyond it a version is malformed. Nobody counts up to it; where a stranger has written a version
/// near it, our own writes pass it.
constexpr std::int64_t kHighestVersion = std::int64_t{1} << 62;
constexpr std::int64_t kWritesOfOneInput = 100;

class Bench {
 public:
  Bench() : client_(folder_ / "f.db", {.sync = SqliteSync::kOff}), stranger_(folder_ / "f.db") {}

  void Prepare(std::string_view kind) {
    for (const auto& [letter, table] : tables_) {
      stranger_.Run(("DELETE FROM " + table).c_str());
    }
    if (kind == "shared") {
      held_ = client_.Share("1", 3).request.grant.lock_id;
    } else {
      const AcquireOp op = client_.Create("1");
      held_ = op.request.grant.lock_id;
      Require(op.status == OpStatus::kDone, "a document of a new row is free");
      if (kind == "renewed") client_.Renew("1", held_);
      if (kind == "queued") client_.Wait("1", NewUuid());
      if (kind == "free") client_.Release("1", op);
    }
  }

  void Spoil(std::string_view line) {
    const std::string table = TakeWord(line), name = TakeWord(line), type = TakeWord(line);
    for (const Column& column : kColumns) {
      if (table == column.table && name == column.name && type.size() == 1) {
        stranger_.Set(tables_.at(table), name, type.front(), line);
      }
    }
  }

  void Use() {
    const ReadOp read = client_.Read("1");
    if (read.result.version >= kHighestVersion - kWritesOfOneInput) return;
    const bool ruined = IsMalformed(read);
    const AcquireOp taken = client_.Acquire("1");
    Require(!ruined || taken.status != OpStatus::kDone, "a malformed lock is never granted");
    // One that is nearly over may be over by now.
    const bool live =
        read.status == OpStatus::kDone && read.result.remaining > std::chrono::seconds(20);
    Require(!live || taken.status != OpStatus::kDone, "a live lock is not granted");
    if (taken.status == OpStatus::kDone) CheckGrant(taken);
    Settled(client_.Share("1", 2));
    Settled(client_.Renew("1", held_));
    Settled(client_.RenewShare("1", held_));
    Settled(client_.ReleaseShare("1", held_));
    Settled(client_.Write("1", WriteKind::kCheckpoint, held_, {.body = Body::FromText("{}")}));
    Settled(client_.Release("1", held_));
    Settled(client_.Insert("1"));
    const Uuid waiter = NewUuid();
    Settled(client_.Wait("1", waiter));
    Settled(client_.Leave("1", waiter));
    Search();
    Administer();
  }

 private:
  static bool IsMalformed(const StoreOp& op) {
    return op.status == OpStatus::kFailed && op.detail && op.detail->code == Errc::kMalformed;
  }
  static void Settled(const StoreOp& op) {
    Require(op.status != OpStatus::kPending, "an operation ends");
    Require(op.status != OpStatus::kInDoubt, "nothing is in doubt: the file is sound");
    const bool failed = op.status == OpStatus::kFailed;
    Require(!failed || (op.detail && op.detail->code != Errc::kUnavailable),
            "another try would not help: " + (op.detail ? op.detail->message : ""));
  }

  void CheckGrant(const AcquireOp& taken) {
    const ReadOp read = client_.Read("1");
    Require(read.status == OpStatus::kDone && read.result.locked &&
                read.result.lock_id == taken.request.grant.lock_id &&
                read.result.version == taken.result.version,
            "what was granted is there");
    Require(client_.Acquire("1").status == OpStatus::kBusy, "a granted lock keeps others out");
    Settled(client_.Release("1", taken));
  }

  void Search() {
    Key key;
    AcquireOp next(client_.collection(), key);
    next.request.grant.lock_id = NewUuid();
    next.request.grant.ttl = std::chrono::seconds(30);
    client_.store().AcquireNext(Filter(), next, key, kBudget);
    Settled(next);
    client_.store().Query(
        client_.collection(), Filter().Free().OrderBy("a"), [](QueryRow&&) { return true; },
        kBudget);
  }

  void Administer() {
    const auto tolerate = [](const auto& call) {
      try {
        call();
      } catch (const Error& error) {
        Require(error.errc() != Errc::kUnavailable, "another try would not help");
      }
    };
    Store& store = client_.store();
    Collection& things = client_.collection();
    tolerate([&] {
      LockQuery query;
      query.unheld = true;
      for (const LockRow& row : store.ListLocks(things, query, "", kBudget).rows) {
        Require(row.left.count() >= 0 && row.age.count() >= 0, "no time is negative");
      }
    });
    tolerate([&] { store.Purge(things, 100, kBudget); });
    tolerate([&] { testing::ExpireLock(store, "things", "1"); });
    tolerate([&] { testing::BreakLock(store, "things", "1"); });
  }

  test::TempFolder folder_;
  Client client_;
  Stranger stranger_;
  const std::map<std::string, std::string> tables_ = {{"d", "doclock_c_things"},
                                                      {"l", "doclock_l_things"}};
  Uuid held_{};
};

void Try(std::string_view text) {
  static Bench bench;
  constexpr std::size_t kLines = 16;
  const std::vector<std::string> lines = LinesOf(text, kLines);
  bench.Prepare(lines.empty() ? "" : lines.front());
  for (const std::string& line : lines) bench.Spoil(line);
  bench.Use();
}

}  // namespace
}  // namespace doclock::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace doclock::fuzz;
  if (size <= kLongestInput) Try(TextOf(data, size));
  return 0;
}
