#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "doclock/body.h"
#include "doclock/clock.h"
#include "doclock/export.h"
#include "doclock/key.h"
#include "doclock/store/store.h"

namespace doclock {

/// Everything that is stored of one document.
struct Record {
  nlohmann::json lock;  ///< Its lock, in this library's own form: keep the object as it is, for
                        ///< instance as the text of dump().
  Body body;            ///< Its body.
};

/// A database that does not know locks: it keeps records by collection and key, and changes several
/// of them in one atomic step. StoreOver makes a Store of it. Its functions throw Error; after any
/// other exception the outcome is in doubt. Thread-safe.
class DOCLOCK_EXPORT RecordStore {
 public:
  /// What a transaction may do.
  enum class Access : std::uint8_t { kRead, kWrite };

  /// One atomic step. It sees everything that was committed before it began, and no other writing
  /// transaction, of any process, runs beside it. Loads and scans need not see its own changes. If
  /// it is destroyed without Commit, nothing has changed. Used by one thread.
  class DOCLOCK_EXPORT Transaction {
   public:
    Transaction() = default;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    virtual ~Transaction();

    /// Returns the record of a key, if there is one. @throws StoreException (kMalformed if the
    /// stored record cannot be read)
    virtual std::optional<Record> Load(const std::string& collection, const Key& key) = 0;
    /// Shows every record of a collection to `visit`, in any order, until it returns false. A
    /// record that cannot be read is shown with a lock that is null. `visit` does not use the
    /// transaction.
    virtual void Scan(const std::string& collection,
                      const std::function<bool(const Key&, Record&&)>& visit) = 0;
    /// Adds or replaces a record. Each is put or erased once.
    virtual void Put(const std::string& collection, const Key& key, const Record& record) = 0;
    /// Removes an existing record.
    virtual void Erase(const std::string& collection, const Key& key) = 0;
    /// Returns the settings that PutSettings stored last; null at first.
    virtual nlohmann::json Settings(const std::string& collection) = 0;
    /// Stores settings of the collection as a whole (its unique indexes).
    virtual void PutSettings(const std::string& collection, const nlohmann::json& settings) = 0;
    /// Makes all changes durable. Not called if there are none. @throws StoreException if nothing
    /// has changed @throws InDoubtException if the changes may or may not be stored
    virtual void Commit() = 0;
  };

  RecordStore() = default;
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  virtual ~RecordStore();

  /// Begins a transaction. The budget covers everything up to the end of Commit.
  /// @throws StoreException (kUnavailable if it cannot begin in time)
  virtual std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) = 0;

  /// Creates a collection unless it exists. Called once for each that is opened.
  virtual void Create(const std::string& collection) = 0;

  /// Returns the time by which leases end. The clock is the same for all processes that share the
  /// records, and never goes back. Called once for each transaction that needs the time, after
  /// Begin. The default is BootClock, for stores of one machine.
  [[nodiscard]] virtual TimePoint Now() const noexcept;

  /// Returns the time of day, by which the store tells what is due (Filter::Due). The default is
  /// this machine's. Must be thread-safe.
  [[nodiscard]] virtual std::chrono::system_clock::time_point WallTime() const noexcept;

  /// Identifies one run of the clock; a reboot of the machine begins another. Times of different
  /// runs are never compared. A lease of another run starts again when a write first meets it. The
  /// default goes with BootClock.
  [[nodiscard]] virtual std::string ClockRun() const;

  /// Returns how much Now() may jump during one lease, as StoreTraits::clock_margin. The default is
  /// 1 ms.
  [[nodiscard]] virtual std::chrono::nanoseconds ClockMargin() const noexcept;

  /// Do other processes use the records too? The default is yes.
  [[nodiscard]] virtual bool IsShared() const noexcept;
};

/// Makes a Store whose locks and documents are records. It has every rule of locks. A batch of
/// operations is one transaction, and a search reads every record: it is for small stores. Waiters
/// of this process are woken at once; those of other processes poll. @throws std::invalid_argument
/// for a null pointer.
DOCLOCK_EXPORT std::shared_ptr<Store> StoreOver(std::shared_ptr<RecordStore> records);

/// Returns a key as text that shows its type, for file names and columns: "s:order-7", "i:42",
/// "u:7b2c...", "o:507f...". It has up to kMaxKeyBytes + 2 bytes. Those of a string key may be any
/// characters, a zero byte and a slash too.
DOCLOCK_EXPORT std::string KeyToText(const Key& key);
/// Returns the key of such a text. @throws std::invalid_argument if it is no such text.
DOCLOCK_EXPORT Key KeyFromText(const std::string& text);

}  // namespace doclock
