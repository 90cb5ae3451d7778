#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "doclock/store/store.h"
#include "words.h"

namespace doclock::conformance::script {

/// The names of lock ids and write ids.
using Names = std::map<Uuid, std::string>;

/// Shows documents as reads and lists of locks show them, and what changed. Checks at each look
/// what every store promises: a broken promise is shown as `BUT ...`.
class Looker {
 public:
  /// Returns the text for the end of a lease that has so much left.
  using Until = std::function<std::string(const Uuid& holder, Ms left)>;

  Looker(Store& store, Collection& collection, const Names& names, bool shows_queues, Slack slack,
         Until until)
      : store_(store),
        collection_(collection),
        names_(names),
        shows_queues_(shows_queues),
        slack_(slack),
        until_(std::move(until)) {}

  /// Looks at this document from now on. It is the one of the step, so that its change needs no
  /// key.
  void Know(const std::string& key) {
    seen_.try_emplace(key);
    last_ = key;
  }
  /// The step is of no document in particular.
  void KnowNone() { last_.clear(); }
  /// Returns what changed in all known documents since the last call.
  std::string Changes(const std::string& expected);
  [[nodiscard]] ReadOp Read(const Key& key) const;
  [[nodiscard]] std::string NameOf(const Uuid& id) const;
  /// Returns all rows of a list of locks.
  [[nodiscard]] std::vector<LockRow> Rows(const LockQuery& query) const;

 private:
  /// Version, body, holders, group, min_hold, queue, and who ended the last lock; then broken
  /// promises. A document that is not there has one part.
  using Parts = std::vector<std::string>;
  [[nodiscard]] Parts Picture(const std::string& key) const;
  /// Keeps in `now` the old text of what did not change.
  [[nodiscard]] std::string Difference(const Parts& before, Parts& now,
                                       const std::string& expected) const;
  [[nodiscard]] std::string Holders(const ReadOp& read, const std::vector<LockRow>& rows) const;

  Store& store_;
  Collection& collection_;
  const Names& names_;
  const bool shows_queues_;
  const Slack slack_;
  Until until_;
  std::map<std::string, Parts> seen_;
  std::string last_;
};

}  // namespace doclock::conformance::script
