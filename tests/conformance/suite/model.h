#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "lines.h"
#include "step.h"

namespace doclock::conformance {

/// The rules in their simplest form: a document is a record, and time is a number of ticks.
class Model {
 public:
  /// One line per step, like Player::Play: what a store ought to say.
  std::vector<std::string> Play(const std::vector<Step>& steps);

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
    int intent = kNobody;  ///< the writer who waits, from 1
    int intent_until = 0;
    int closed_until = 0;  ///< by min_hold
    int value = 0;
  };

  std::string Do(const Step& step);
  [[nodiscard]] std::string Look(int key) const;
  std::string DoWith(const Step& step, Document& document);

  std::string Acquire(const Step& step, Document* document);
  std::string AcquireShare(const Step& step, Document* document);
  std::string AcquireNext(const Step& step);
  [[nodiscard]] int EndOfWaitForShare(const Step& step, const Document& document) const;
  std::string Renew(const Step& step, Document& document) const;
  std::string RenewShare(const Step& step, Document& document) const;
  std::string ReleaseShare(const Step& step, Document& document) const;
  std::string Write(const Step& step, Document& document);
  std::string Insert(const Step& step, const Document* document);
  std::string Save(const Step& step, Document& document);
  std::string Expire(Document& document) const;
  static std::string Break(Document& document);
  std::string Steal(Document& document) const;
  std::string Purge();

  [[nodiscard]] bool Live(const Share& share) const { return now_ < share.until; }
  [[nodiscard]] bool Live(const Document& document) const { return now_ < EndOf(document); }
  /// The share that ends last.
  [[nodiscard]] static int EndOf(const Document& document);
  [[nodiscard]] int LiveShares(const Document& document) const;
  [[nodiscard]] int FirstEndOf(const Document& document) const;
  [[nodiscard]] bool HasIntent(const Document& document) const {
    return document.intent != kNobody && now_ < document.intent_until;
  }
  /// Of the attempt that the step speaks of; null: it has none that is live.
  [[nodiscard]] Share* FindShare(Document& document) const;
  [[nodiscard]] std::string BusyUntil(int end) const { return BusyText(end - now_); }
  void Grant(Document& document, int holder, int ttl) const;
  void CloseFor(const Step& step, Document& document) const;
  void LeaveIntent(const Step& step, Document& document) const;
  /// An intent stays: it is a lease of its own.
  static void Clear(Document& document);

  std::map<int, Document> documents_;
  Attempts attempts_;
  int attempt_ = 0;  ///< of this step, if it is one
  int who_ = 0;      ///< what the step's `who` meant when it began
  int now_ = 0;
};

}  // namespace doclock::conformance
