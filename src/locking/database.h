#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "doclock/document.h"
#include "doclock/errors.h"
#include "doclock/export.h"
#include "doclock/filter.h"
#include "doclock/store/operations.h"
#include "doclock/store/record_store.h"
#include "doclock/store/store.h"
#include "doclock/time.h"
#include "locking/document.h"
#include "rules/lock_state.h"
#include "rules/rules.h"

/// @file
/// The port below the rules: what the program in src/locking needs of a database. It loads
/// documents, decides by src/rules, and commits what it decided, in one atomic step.

namespace doclock::locking {

/// The error's text if a row stayed locked.
inline constexpr const char* kKeptText = "doclock: another client's transaction keeps the document";

/// A document that a scan of locks shows.
struct Candidate {
  Key key;
  rules::LockState lock;
  bool has_body = false;  ///< Does it hold anything besides its lock?
  /// Its lock is not what this library writes; of `lock` the group counts.
  bool malformed = false;
  std::string why_malformed = {};  ///< See LockRow.
};

/// The text of kMalformed. @param bad_part which part of the lock is malformed; null: not known
[[nodiscard]] inline std::string MalformedText(const char* bad_part) {
  std::string text = "the lock of the document is not what this library writes";
  if (bad_part != nullptr) text += std::string(" (") + bad_part + ")";
  return text;
}

/// What a unit is for.
enum class Access : std::uint8_t {
  kRead,
  kWrite,     ///< Each document is stored or refused by itself.
  kBriefly,   ///< As kWrite, but it waits for no other client longer than a moment.
  kRenew,     ///< As kBriefly, of renewals: they come again, and others are due meanwhile.
  kWriteAll,  ///< All documents are stored, or none. Only with StoreTraits::transactions.
};

/// The program runs the unit again, several documents then each in a unit of its own.
using Raced = RacedException;

/// Another client's transaction locked the unit's only row, or a table, for longer than the unit
/// waits. Nothing is stored.
class DOCLOCK_EXPORT Kept : public StoreException {
 public:
  Kept() : StoreException(Errc::kUnavailable, kKeptText) {}
  ~Kept() override;
};

/// One atomic step on any number of documents. It sees everything that was committed before it
/// began. What Load showed of a document stays so until Commit: the database keeps other writers
/// away, or Commit notices them (Raced). If a unit is destroyed without Commit, nothing has
/// changed. Used by one thread. Its functions throw Error; after InDoubtException the changes may
/// be stored, after any other Error none of them is.
class DOCLOCK_EXPORT Unit {
 public:
  Unit() = default;
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  virtual ~Unit();

  /// The time by which leases end. Asked after Load, and the same for the whole unit.
  virtual TimePoint Now() = 0;
  /// The time of day by the database's clock, for Filter::Due. Nothing: Scan takes Due as it is,
  /// and the database compares.
  virtual std::optional<std::chrono::system_clock::time_point> WallTime() { return std::nullopt; }
  /// What the entries of this store's waiters carry (rules::QueueEntry::instance).
  [[nodiscard]] virtual std::int64_t instance() const noexcept { return 0; }
  /// The least version that a new document may have (LockState::floor).
  [[nodiscard]] virtual std::int64_t floor() const noexcept { return 0; }
  /// Refuses a body that the database cannot hold. @throws DocumentException naming the member
  virtual void CheckBody(const Body&) const {}
  /// Fills in what is loaded of the documents. What an earlier call loaded is given up by a further
  /// one, and by a scan: it may change from then on. So nothing is decided yet when they are
  /// called. With kWriteAll it waits for documents that other clients keep, in this order, which is
  /// the same for all clients. @throws Raced if it would wait, and too many units do
  virtual void Load(std::span<Document> documents) = 0;
  /// Asked before Load: it shall show all documents as they were at one moment. For databases that
  /// do so anyway, this does nothing. @throws Error if the database cannot
  virtual void SeeOneMoment() {}
  /// Shows the documents of a collection that meet the filter, in its order, until `visit` returns
  /// false or the filter's limit is reached. `visit` does not use the unit. Elsewhere the documents
  /// may have changed when they are loaded. In a unit that writes, a body may lack members that the
  /// filter does not name.
  virtual void Scan(Collection& collection, const Filter& filter,
                    const std::function<bool(QueryRow&&)>& visit) = 0;
  /// Shows the documents, in any order, that may have a lock, or all if `query` asks for those that
  /// have none too, until `visit` returns false, or about a page is shown. Returns what to pass as
  /// `after` to see more; empty: there are no more, or it does not show them in pages.
  virtual std::string ScanLocks(Collection& collection, const LockQuery& query,
                                const std::string& after,
                                const std::function<bool(Candidate&&)>& visit) = 0;
  /// Shows the locks whose leases are over. It may show others too.
  virtual std::string ScanOver(Collection& collection, const std::string& after,
                               const std::function<bool(Candidate&&)>& visit) {
    return ScanLocks(collection, {}, after, visit);
  }
  /// Stores the decisions, and gives each document its outcome: one that a unique index refuses is
  /// kConflict, and leaves the others alone. Then tells those whom they concern. Not called if
  /// nothing is decided, but with kWriteAll. With that all documents are stored in this order; if
  /// one is refused, nothing is stored, and only that one has an outcome. One that is not decided
  /// is only expected: what Load showed of it holds at the commit too.
  virtual void Commit(std::span<Document> documents) = 0;
  /// With kWriteAll: the handle that StoreTraits::native names, for work in the same transaction.
  /// It is called behind Load.
  [[nodiscard]] virtual void* Native() { return nullptr; }
  /// After an Error, before which Commit stored nothing: may one operation of several have caused
  /// it? Then each of them is tried in a unit of its own.
  [[nodiscard]] virtual bool IsSpoilt() const noexcept { return false; }
};

/// May a forked child use what its parent has opened?
enum class InChild : std::uint8_t {
  kUsable,
  kRefused,  ///< No: connections and threads are the parent's.
};

/// A database, as src/locking needs it. Thread-safe. Its functions throw Error.
class DOCLOCK_EXPORT Database {
 public:
  explicit Database(InChild in_child = InChild::kUsable) noexcept;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  virtual ~Database();

  /// Is this a child that may not use it? LockingStore calls nothing then but traits(). The child
  /// does not destroy what is the parent's either.
  [[nodiscard]] bool IsForked() const noexcept;
  /// Called in the handler of an Error that leaves the store: throws it as a caller is to see it.
  /// Returns if that is how it is.
  virtual void ThrowForCaller() const {}
  /// Its properties. `queues` says whether waiters of other processes are notified of their turn.
  [[nodiscard]] virtual StoreTraits traits() const noexcept = 0;
  /// Opens a collection, and creates it on first use. Called once for each name.
  virtual std::shared_ptr<Collection> Open(const std::string& name, const LockFieldNames& fields,
                                           std::chrono::milliseconds default_ttl) = 0;
  /// @throws Error if the unit cannot begin by the deadline, which covers its Commit too.
  virtual std::unique_ptr<Unit> Begin(Access access, Deadline deadline) = 0;
  /// Whether RunPlain can carry out operations of this kind. For databases where a unit costs more
  /// round trips.
  [[nodiscard]] virtual bool CanRun(rules::Plain) const noexcept { return false; }
  /// Carries out operations of such kinds without a unit, each as the rules would, and stores them.
  /// Leaves those pending, with nothing changed, whose documents have to be loaded. Only renewals
  /// name a document twice. @param alone is there no other operation in the call, of any kind?
  /// @throws Error if nothing was stored
  virtual void RunPlain(std::span<const rules::PlainOp>, bool /*alone*/, Deadline) {}
  /// See Store.
  virtual std::unique_ptr<Subscription> Watch(Collection& collection, HintListener listener) = 0;
  /// See Store.
  virtual void EnsureIndex(Collection& collection, const IndexSpec& index) = 0;
  /// See Store. Nothing: it cannot list them.
  [[nodiscard]] virtual std::optional<std::vector<std::string>> ListCollections(Deadline) {
    return std::nullopt;
  }
  /// See Store.
  [[nodiscard]] virtual std::vector<Finding> Examine(Collection*, Deadline) { return {}; }

 private:
  const InChild in_child_;
  const std::uint32_t generation_;
};

}  // namespace doclock::locking
