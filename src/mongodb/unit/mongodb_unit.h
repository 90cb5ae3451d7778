#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "locking/database.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/unit/operations.h"

namespace doclock::mongodb {

/// A unit without a transaction: it reads, and the statement that stores a document says what it
/// rests on. Of doclock's own documents it stores no renewals and no shares (LockChange). Documents
/// of one collection that are decided by one verb go in one command, each by itself.
class MongodbUnit final : public locking::Unit {
 public:
  MongodbUnit(Server& server, Deadline deadline);

  /// The moment of the look, from which all times of a loaded lock are counted.
  TimePoint Now() override { return kLookedAt; }
  void Load(std::span<locking::Document> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  std::string ScanOver(Collection& collection, const std::string& after,
                       const std::function<bool(locking::Candidate&&)>& visit) override;
  void SeeOneMoment() override;
  void Commit(std::span<locking::Document> documents) override;
  [[nodiscard]] bool IsSpoilt() const noexcept override { return spoilt_; }

 private:
  struct Loaded : locking::Entry {
    StoredLock stored;
  };
  /// Keeps a document that was found. @param reply the answer that shows it
  void Keep(locking::Document& document, Operations::Shown&& shown, bool whole, const Reply& reply);
  /// The look of an attempt at another library's lock: see Layout. It changes nothing if the
  /// document is there.
  void LoadForAttempt(locking::Document& document);
  /// Documents of one collection.
  void LoadSome(std::span<locking::Document> documents);
  /// What stores the decision.
  static Statement StatementFor(const locking::Document& document);
  /// What one command stores.
  struct Writes;
  /// Sends them, and settles each. @param is_only is nothing else sent? Then an error that has kept
  /// all of them out is thrown.
  void Send(const Writes& writes, std::chrono::milliseconds limit, bool is_only);
  /// Whether the document is as it was loaded.
  static bool IsUnmoved(const locking::Document& document, const Operations::Shown& shown);
  /// Gives documents of a command that has ended before its end their outcomes, by one look: what
  /// shows nothing of it may be stored again.
  void JudgeStopped(std::span<locking::Document* const> documents);
  void JudgeDeletes(std::span<locking::Document* const> documents, std::int64_t done);

  Server& server_;
  const Deadline deadline_;
  std::optional<Moment> moment_;
  Operations operations_;
  std::deque<Loaded> loaded_;
  bool spoilt_ = false;
};

}  // namespace doclock::mongodb
