#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "content.h"
#include "lines.h"
#include "step.h"

namespace doclock::conformance {

/// The rules in their simplest form: a document is a record, and time is a number of ticks.
class Model {
 public:
  /// One line per step, like Player::Play: what a store ought to say. Operations of one call have
  /// no order (Store::Execute): if one of their orders gives `found`, the store chose that one.
  Lines Play(const Turn& turn, const Lines& found = {});
  /// One line per document: the expected state.
  [[nodiscard]] Lines LookAtAll(int documents) const;

 private:
  struct Share {
    int holder = kNobody;
    int until = 0;
  };
  struct Document {
    std::int64_t version = 0;
    int holder = kNobody;  ///< kShared: see shares
    int until = 0;         ///< of an exclusive lock
    std::vector<Share> shares;
    int closed_until = 0;  ///< by min_hold
    bool malformed = false;
    Json body = Json::object();
  };
  /// A step and the attempt that it refers to.
  struct Part {
    Step step;
    int who;      ///< what the step's `who` meant when it began
    int attempt;  ///< the step's own, if it is one
  };

  Part Number(const Step& step);
  Lines PlayIn(const std::vector<std::size_t>& order, const std::vector<Part>& parts);
  /// A commit: a store may name any of those that are refused.
  Lines PlayCommit(const Step& commit, const Lines& found);
  [[nodiscard]] Seen LookForCommit(int key) const;
  std::string Do(const Step& step);
  [[nodiscard]] std::string Look(int key) const;
  [[nodiscard]] Listed ListedOf(const Document& document) const;
  std::string DoWith(const Step& step, Document& document);

  /// Creates a missing document if the step does. Returns why the lock cannot be taken, or nothing.
  std::string FindOrCreate(const Step& step, Document*& document);
  std::string Acquire(const Step& step, Document* document);
  std::string AcquireShare(const Step& step, Document* document);
  std::string AcquireNext(const Step& step, const Search& search);
  [[nodiscard]] int EndOfWaitForShare(const Step& step, const Document& document) const;
  std::string Renew(const Step& step, Document& document) const;
  std::string RenewShare(const Step& step, int holder, Document& document) const;
  std::string RenewShares(const Step& step, Document* document) const;
  std::string ReleaseShare(const Step& step, Document& document) const;
  std::string Write(const Step& step, Document& document);
  std::string Insert(const Step& step, const Document* document);
  std::string Save(const Step& step, Document& document);
  [[nodiscard]] std::string Read(const Document& document) const;
  [[nodiscard]] std::string Query(const Search& search) const;
  std::string MakeUnique();
  std::string Plant(const Step& step, const Document* document);
  std::string Expire(Document& document) const;
  std::string Break(Document& document) const;
  std::string Steal(Document& document) const;
  std::string Purge();

  [[nodiscard]] bool Live(const Share& share) const { return now_ < share.until; }
  [[nodiscard]] bool Live(const Document& document) const { return now_ < EndOf(document); }
  /// The share that ends last.
  [[nodiscard]] static int EndOf(const Document& document);
  [[nodiscard]] int LiveShares(const Document& document) const;
  [[nodiscard]] int FirstEndOf(const Document& document) const;
  /// Of an attempt; null: it has none that is live.
  [[nodiscard]] Share* FindShare(Document& document, int holder) const;
  /// Of all shares that are live.
  void ReleaseShares(Document& document) const;
  [[nodiscard]] std::string BusyUntil(int end) const { return BusyText(end - now_); }
  void Grant(Document& document, int holder, int ttl) const;
  void CloseFor(const Step& step, Document& document) const;
  static void Clear(Document& document);

  /// The keys of those that a search finds, in its order.
  [[nodiscard]] std::vector<int> Find(const Search& search) const;
  /// The body after a write of this step; none: a unique index refuses it.
  [[nodiscard]] std::optional<Json> NewBody(const Step& step, const Json& old) const;

  std::map<int, Document> documents_;
  bool unique_ = false;  ///< is there the unique index?
  Attempts attempts_;
  int attempt_ = 0;  ///< see Part, of the step under way
  int who_ = 0;
  int now_ = 0;
};

}  // namespace doclock::conformance
