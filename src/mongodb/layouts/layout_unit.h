#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "locking/database.h"
#include "mongodb/layouts/layout.h"
#include "mongodb/operations/operations.h"
#include "mongodb/protocol/stored_lock.h"

namespace doclock::mongodb {

/// The layout of a collection that LayoutStore has opened.
const Layout& LayoutOf(const Collection& collection);

/// A unit over documents of another library: a look, and a write that is guarded by what it showed.
class LayoutUnit final : public locking::Unit {
 public:
  LayoutUnit(Server& server, Deadline deadline) : operations_(server, Until(deadline)) {}

  TimePoint Now() override { return kLookedAt; }
  void Load(std::span<locking::Document> documents) override;
  void Scan(Collection& collection, const Filter& filter,
            const std::function<bool(QueryRow&&)>& visit) override;
  std::string ScanLocks(Collection& collection, const LockQuery& query, const std::string& after,
                        const std::function<bool(locking::Candidate&&)>& visit) override;
  void Commit(std::span<locking::Document> documents) override;

 private:
  struct Loaded : locking::Entry {
    Doc seen;
    std::string bad_field;
  };
  Loaded& Show(locking::Document& document, const bson_t& doc, std::int64_t now);
  void LoadForAttempt(locking::Document& document);
  /// Where a document has no version, it is the holder's own count.
  void TellVersion(const locking::Document& document, const Reply& reply);
  /// Gives the documents of one command their outcomes. Of several of which some matched nothing,
  /// the server does not tell which.
  void Settle(Verb verb, std::vector<locking::Document*> documents, const Reply& reply);
  /// A document that is still there was not deleted. If others have deleted some of those that are
  /// not, each of these is in doubt.
  void JudgeDeleted(std::span<locking::Document* const> documents, std::int64_t deleted);

  Operations operations_;
  std::deque<Loaded> loaded_;
};

}  // namespace doclock::mongodb
