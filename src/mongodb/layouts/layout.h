#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "doclock/store/store.h"
#include "mongodb/bson/bson.h"
#include "mongodb/statements/statements.h"
#include "mongodb/statements/stored_lock.h"
#include "rules/rules.h"

namespace doclock::mongodb {

/// How another library keeps its locks in documents: how they are read, by which filter a write
/// proves that it met what was read, and what it writes. Nothing is written that the other library
/// does not write itself, in its types. Stateless. src/locking decides, over a look and a write
/// that is guarded by what the look showed. What a layout cannot promise is kRefused before
/// anything is sent.
///
/// **The fence.** An attempt's first command makes a vacant document if there is none, and its
/// answer has the server's operation time. A grant's token is one more than the stored one, or that
/// time if it is later. So it never exceeds the time of its own write, and a look after the
/// document was deleted has a later one. That the look leaves a document, with an id of its own,
/// makes the guard notice if it was granted and deleted meanwhile.
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
  /// The fields except the key of a document without a holder. For AddLook.
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
  /// Renews a lease in one statement, without reading it first, if it is live.
  [[nodiscard]] virtual Doc Renewal(const RenewOp& op) const = 0;
  /// Releases the lock, likewise, whatever its lease.
  [[nodiscard]] virtual Statement Release(const WriteOp& op) const = 0;
  /// The index that the other library makes; empty: it makes none. If `_id` is not the key, it
  /// keeps keys unique.
  [[nodiscard]] virtual Doc Index() const = 0;
};

/// Collections of other libraries, by name.
using Layouts = std::map<std::string, std::shared_ptr<const Layout>>;

std::unique_ptr<const Layout> DistributedLock();  ///< distributed_lock.cpp has its format.
std::unique_ptr<const Layout> MongoLock();        ///< mongo_lock.cpp has its format.

/// The layout of this name; null: there is none.
std::shared_ptr<const Layout> FindLayout(std::string_view name);

/// The layouts of MongodbStoreOptions::layouts. @throws std::invalid_argument for a name that is
/// none
Layouts LayoutsOf(const std::map<std::string, std::string>& named);

/// Moves the options doclockLayout=COLLECTION:LAYOUT, which the driver does not know, out of a URI
/// and into `named`. @throws std::invalid_argument for one that is not of this form; the text
/// repeats no part of the URI
std::string WithoutLayouts(const std::string& uri, std::map<std::string, std::string>& named);

/// A collection of another library.
class LayoutCollection final : public Collection {
 public:
  LayoutCollection(const std::string& name, std::chrono::milliseconds default_ttl,
                   std::shared_ptr<const Layout> layout)
      : Collection(name, {}, default_ttl), layout_(std::move(layout)) {}
  [[nodiscard]] const Turns* turns() const noexcept override { return &layout_->turns(); }
  [[nodiscard]] bool has_bodies() const noexcept override {
    return layout_->beside_body() != nullptr;
  }
  [[nodiscard]] const Layout& layout() const noexcept { return *layout_; }
  /// Without the index that their locks need to exclude each other nothing is granted.
  bool lacks_index = false;

 private:
  const std::shared_ptr<const Layout> layout_;
};

/// Whether the statement of a layout does all that an operation of this kind asks for, without a
/// look.
[[nodiscard]] constexpr bool NeedsNoLook(rules::Plain kind) noexcept {
  using rules::Plain;
  return kind == Plain::kRenew || kind == Plain::kRenewShare || kind == Plain::kRelease ||
         kind == Plain::kEndShare;
}

/// Returns the layout of a collection of another library; null: the collection is doclock's own.
inline const Layout* LayoutOf(const Collection& collection) noexcept {
  if (collection.turns() == nullptr) return nullptr;
  return &static_cast<const LayoutCollection&>(collection).layout();
}

/// The text that refuses what the layout of the collection cannot promise.
std::string RefusalText(const Collection& collection, const char* feature);
/// @throws StoreException kRefused with this text
[[noreturn]] void RefuseFeature(const Collection& collection, const char* feature);

/// The lock of a document of any collection, and what guards a change of it (StoredLock::seen): the
/// lock's fields, or all that a document of another library shows.
/// @param now the server's clock ($$NOW), in ms, from the same command as the document
StoredLock ReadLock(const bson_t& doc, const Collection& collection, std::int64_t now);

/// Returns the body of a document that is shown whole, of any collection.
Body ReadBodyOf(const bson_t& doc, const Collection& collection);

/// The key by which a document is found: named locks have texts, the UUID of a document too.
Key KeyIn(const Layout& layout, const Key& key);

/// The filter of a lock's document.
inline Doc ByKey(const Layout& layout, const Key& key) {
  return Doc::Of(layout.key_field(), Equals(KeyIn(layout, key)));
}

}  // namespace doclock::mongodb
