#pragma once

/// @file
/// RecordStore: a database without locks, of which StoreOver makes a Store.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/store/store.h"
#include "doclock/time.h"

namespace doclock {

/// Thrown by the database below a store: another client was quicker, in a way that only the
/// database noticed (by a deadlock, for instance), or the connection was lost before anything could
/// be stored: nothing is. The store begins again, after short pauses, until the call's budget is
/// over. Then callers see it, as the StoreException that it is.
class DOCLOCK_EXPORT RacedException : public StoreException {
 public:
  /// @param what the exception's text if it happens each time
  explicit RacedException(const std::string& what = "doclock: other clients were always quicker")
      : StoreException(Errc::kUnavailable, what) {}
  ~RacedException() override;
};

/// Everything that is stored of one document.
struct Record {
  nlohmann::json lock;  ///< Its lock, in this library's own form: keep the object as it is, for
                        ///< instance as the text of dump().
  Body body;            ///< Its body.
};

/// Where a record is. It refers to what is the caller's.
struct RecordKey {
  const std::string& collection;  ///< The collection's name.
  const Key& key;                 ///< The document's key.
};

/// The time of a RecordStore. The defaults are this machine's clocks: a store on a server fills in
/// both.
struct RecordTime {
  /// By which leases end. The clock is the same for all processes that share the records, and never
  /// goes back.
  TimePoint now = BootClock::now();
  /// The time of day, by which the store tells what is due (Filter::Due). No lease depends on it.
  std::chrono::system_clock::time_point wall = std::chrono::system_clock::now();
};

/// The properties of a RecordStore. Constant over its life, except clock_margin.
struct RecordTraits {
  bool shared = true;  ///< Do other processes use the records too?
  /// Does Watch hear what Tell tells, also in another process? Then waiters stand in a queue. (They
  /// do so in a store that is not shared in any case.)
  bool tells = false;
  /// How many batches are worthwhile at once; if it is more than one, one of them is for renewals
  /// alone. More than one are if transactions exclude each other by keys. Searches, purges,
  /// transactions of several documents and what settles doubt come beside them.
  int lanes = 1;
  /// How much Now() may jump during one lease, as StoreTraits::clock_margin.
  std::chrono::nanoseconds clock_margin = std::chrono::milliseconds(1);
};

/// A database that does not know locks: it keeps records by collection and key, and changes several
/// of them in one atomic step. StoreOver makes a Store of it. Its functions throw Error; Begin and
/// a transaction may throw RacedException for work that begins again. After any other exception the
/// outcome is in doubt. Thread-safe.
class DOCLOCK_EXPORT RecordStore {
 public:
  /// What a transaction may do.
  enum class Access : std::uint8_t { kRead, kWrite };

  /// One atomic step. One that only reads shows everything that was committed before it began, as
  /// it was at one moment. In one that writes, Load shows what is committed once no other writing
  /// transaction, of any process, can change it any more, nor add a record where this one finds
  /// none; so it stays until the end. (It is simplest if none runs beside it at all. With locks of
  /// keys, a snapshot that was taken before them shows too little. Without locks, Commit throws
  /// RacedException if anything that Load or Settings showed has changed, a missing record too, or
  /// after LockCollection anything in the collection.) Loads and scans need not see its own
  /// changes. RacedException from any function but Now means that the transaction is run again,
  /// until the call's budget is over. If it is destroyed without Commit, nothing has changed. Used
  /// by one thread.
  class DOCLOCK_EXPORT Transaction {
   public:
    Transaction() = default;
    Transaction(const Transaction&) = delete;
    Transaction& operator=(const Transaction&) = delete;
    virtual ~Transaction();

    /// Returns the records of these keys, each in its place; nothing where there is none. One that
    /// cannot be read has a lock that is null. The keys differ, and those of all calls are in their
    /// order, by the names of the collections first: clients that wait for each other do not do so
    /// in a circle. (Searches load again, in another order: throw RacedException if the database
    /// finds a deadlock.) One key is waited for until the budget is over. With several, do not wait
    /// longer than a moment, and throw RacedException: then each operation of the batch is tried
    /// alone, and none fails because of the key of another one.
    virtual std::vector<std::optional<Record>> Load(std::span<const RecordKey> keys) = 0;
    /// Waits for writing transactions that have loaded from this collection, and keeps others from
    /// loading until this one ends; from then on Scan and Settings show what is committed. Called
    /// before the first Load from it where a unique index looks at other documents, and before
    /// PutSettings. The default does nothing: right if writing transactions follow one another.
    virtual void LockCollection(const std::string& collection);
    /// Shows each record of a collection that meets Filter::conditions() once to `visit`, in any
    /// order, until that returns false. It may show others too, which are left out then; the rest
    /// of the filter is not for it. A record that cannot be read is shown with a lock that is null.
    /// `visit` must not use the transaction. The scan must lock nothing.
    virtual void Scan(const std::string& collection, const Filter& filter,
                      const std::function<bool(const Key&, Record&&)>& visit) = 0;
    /// Returns the time. Called after a Load, or before a Scan, also as the first function of all,
    /// or the only one. The default is for stores of one machine.
    virtual RecordTime Now();
    /// Adds or replaces a record. Each is put or erased once.
    virtual void Put(const std::string& collection, const Key& key, const Record& record) = 0;
    /// Removes an existing record.
    virtual void Erase(const std::string& collection, const Key& key) = 0;
    /// Returns the settings that PutSettings stored last; null at first. Called after Load, or
    /// LockCollection.
    virtual nlohmann::json Settings(const std::string& collection) = 0;
    /// Stores settings of the collection as a whole (its unique indexes).
    virtual void PutSettings(const std::string& collection, const nlohmann::json& settings) = 0;
    /// Makes all changes durable. There may be none, in a commit of documents that are only
    /// expected: then it tells whether what Load showed still holds. @throws StoreException if
    /// nothing has changed (RacedException: begin again) @throws InDoubtException if the changes
    /// may or may not be stored
    virtual void Commit() = 0;
  };

  RecordStore() = default;
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;
  virtual ~RecordStore();

  /// Returns its properties.
  [[nodiscard]] virtual RecordTraits traits() const noexcept;

  /// Begins a transaction. The budget covers everything up to the end of Commit.
  /// @throws StoreException (kUnavailable if it cannot begin in time)
  virtual std::unique_ptr<Transaction> Begin(Access access, std::chrono::milliseconds budget) = 0;

  /// Creates a collection unless it exists. Called once for each that is opened.
  virtual void Create(const std::string& collection) = 0;

  /// Tells the listeners of this collection, in other processes, of what a committed transaction
  /// did. Each hint is ASCII of up to 200 characters. It may name a lock id, so tell it to those
  /// only who may read the records. (Listeners of this store hear it before; to hear it twice costs
  /// a request.) Called by the thread that committed, after the transaction's end and before the
  /// caller's result: it must return soon. A hint that is lost costs its waiter a poll, so what
  /// this throws is ignored. The default does nothing.
  virtual void Tell(const std::string& collection, std::span<const std::string> hints);
  /// Calls `listener` with what Tell tells from now on, and with an empty text after hints may have
  /// been lost. On any thread, on several at once too, but with no mutex that Watch or the
  /// destructor of a subscription takes. That destructor waits for a call under way; none comes
  /// after it. The store lives until then. The default hears nothing, and returns null.
  virtual std::unique_ptr<Subscription> Watch(
      const std::string& collection, std::function<void(const std::string& hint)> listener);

  /// Identifies one run of the clock; a reboot of the machine begins another, and none begins while
  /// the store is open: it is asked once. Times of different runs are never compared. A lease of
  /// another run counts from this run's beginning, which is zero. The default goes with BootClock.
  [[nodiscard]] virtual std::string ClockRun() const;
};

/// Makes a Store whose locks and documents are records. It has every rule of locks. A batch of
/// operations is one transaction. Waiters of this process are woken at once; those of other
/// processes by RecordStore::Tell, or they poll. @throws std::invalid_argument for a null pointer.
DOCLOCK_EXPORT std::shared_ptr<Store> StoreOver(std::shared_ptr<RecordStore> records);

/// Returns a key as text that shows its type, for file names and columns: "s:order-7", "i:42",
/// "u:7b2c...", "o:507f...". It has up to kMaxKeyBytes + 2 bytes. Those of a string key may be any
/// characters, a zero byte and a slash too.
DOCLOCK_EXPORT std::string KeyToText(const Key& key);
/// Returns the key of such a text. @throws std::invalid_argument if it is no such text.
DOCLOCK_EXPORT Key KeyFromText(const std::string& text);

}  // namespace doclock
