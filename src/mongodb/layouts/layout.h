#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "doclock/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/protocol/write_command.h"
#include "rules/lock_state.h"

namespace doclock::mongodb {

/// One statement of a command.
struct Statement {
  Verb verb;
  Doc doc;
};

/// How another library keeps its locks in documents: how they are read, by which filter a write
/// proves that it met what was read, and what it writes. Nothing is written that the other library
/// does not write itself, in its types. Stateless.
class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = delete;
  Layout& operator=(const Layout&) = delete;
  virtual ~Layout() = default;

  /// Its name in options and URLs.
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// The other library's name.
  [[nodiscard]] virtual const char* library() const noexcept = 0;
  /// The field that names a lock, a text.
  [[nodiscard]] virtual const char* key_field() const noexcept { return "_id"; }
  /// The lock's fields in a document that has a body too; null: a document is a lock, and has none.
  /// One with a body is named by a UUID. It is neither made nor deleted, and holds no fence.
  [[nodiscard]] virtual const LockFieldNames* beside_body() const noexcept { return nullptr; }
  /// May a lock be shared?
  [[nodiscard]] virtual bool has_shares() const noexcept { return false; }
  /// How long the other library's waiters pause between two attempts, at most, decides this. By
  /// default one that asks once a second gets its turn.
  [[nodiscard]] virtual const Turns& turns() const noexcept {
    static constexpr Turns kTurns{std::chrono::milliseconds(2000), std::chrono::milliseconds(1200)};
    return kTurns;
  }

  /// What a document says of its lock, with times as in StoredLock. `version` is the fence.
  /// @param now the server's clock ($$NOW), in ms, from the same command as the document
  /// @param bad_field gets the name of the first field that the other library would not have
  /// written; then nothing else counts
  [[nodiscard]] virtual rules::LockState Read(const bson_t& doc, std::int64_t now,
                                              std::string& bad_field) const = 0;
  /// The fields but for the key of a document that nobody holds. For AddLook.
  [[nodiscard]] virtual Doc Vacant() const { return {}; }
  /// Adds the update of an attempt's look, a findAndModify of a document that it makes if it is
  /// missing. A vacant one holds something afterwards that no other one holds.
  virtual void AddLook(Doc& command) const {
    command.Add("update", Doc::Of("$setOnInsert", Vacant()));
  }
  /// Changes the document that `seen` shows from `was` to `now`, and matches it in no other state.
  [[nodiscard]] virtual Statement Change(const Key& key, const bson_t& seen,
                                         const rules::LockState& was,
                                         const rules::LockState& now) const = 0;
  /// May a live lock be renewed still? As Renewal and Change decide it.
  [[nodiscard]] virtual bool MayRenew(const rules::LockState&) const { return true; }
  /// Renews a lease in one statement, without a look, if it is live.
  [[nodiscard]] virtual Doc Renewal(const RenewOp& op) const = 0;
  /// Releases the lock, likewise, whatever its lease.
  [[nodiscard]] virtual Statement Release(const WriteOp& op) const = 0;
  /// The index that the other library makes; empty: it makes none. If `_id` is not the key, it
  /// keeps keys unique.
  [[nodiscard]] virtual Doc Index() const = 0;
};

const Layout& DistributedLock();  ///< distributed_lock.cpp has its format.
const Layout& MongoLock();        ///< mongo_lock.cpp has its format.

/// The layout of this name; null: there is none.
const Layout* FindLayout(std::string_view name);

/// The filter of a lock's document.
inline Doc ByKey(const Layout& layout, const Key& key) {
  return Doc::Of(layout.key_field(), Equals(key));
}

/// The key by which a document is found: named locks have texts, the UUID of a document too.
Key KeyIn(const Layout& layout, const Key& key);

}  // namespace doclock::mongodb
